// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/task_port.hpp"

#include <algorithm>

#include "sim/guest/watcher.hpp"

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;
using locks::condition;
using locks::shared_line;
using locks::side_check;
using locks::spin_end;
using locks::spin_result;
using locks::word;
using sched::account;

namespace {

constexpr std::uint32_t exit_spread_permille = 100;

/// Moves a line to a core; it serves one core at a time. Returns when it is there.
sim_time move_line(machine::machine& m, shared_line& l, engine::core_id to, sim_time now) {
  const sim_time there = std::max(now, l.place.free_at) + m.transfer_time(l.place.owner, to);
  l.place.free_at = there;
  l.place.owner = to;
  return there;
}

engine::core_id core_of(const task& t, vm& machine) {
  return engine::core_id{machine.vcpu(t.cpu.value()).cpu.value()};
}

}  // namespace

void task_port::access(word& w) {
  task_.exec.settle();
  const sim_time now = task_.exec.fiber().now();
  task_.exec.run(account::lock_line,
                 move_line(machine_, *w.line, core_of(task_, task_.machine()), now) - now);
}

void task_port::set(word& w, std::uint32_t value) {
  if (w.value == value) return;
  w.value = value;
  const sim_time now = task_.exec.fiber().now();
  for (locks::watcher* x : w.line->watchers) {
    if (x->looks_at == &w && x->until.holds(value)) {
      x->who->exec.poke(
          now, move_line(machine_, *w.line, core_of(*x->who, x->who->machine()), now) - now);
    } else if (x->side.where == &w && x->side.until.holds(value)) {
      // Seen in the next iteration that looks there.
      const duration round = x->iteration * static_cast<std::int64_t>(x->side.period);
      const duration spent = x->before + x->who->exec.spent(now);
      const duration left{round.ps() - spent.ps() % round.ps()};
      x->who->exec.poke(now, left);
    }
  }
}

std::uint32_t task_port::load(word& w) {
  access(w);
  return w.value;
}

void task_port::store(word& w, std::uint32_t bits, std::uint32_t mask) {
  access(w);
  set(w, (w.value & ~mask) | bits);
}

std::uint32_t task_port::compare_exchange(word& w, std::uint32_t expected, std::uint32_t desired,
                                          std::uint32_t mask) {
  access(w);
  const std::uint32_t old = w.value;
  if ((old & mask) == expected) set(w, (old & ~mask) | desired);
  return old;
}

std::uint32_t task_port::exchange(word& w, std::uint32_t bits, std::uint32_t mask) {
  access(w);
  const std::uint32_t old = w.value;
  set(w, (old & ~mask) | bits);
  return old;
}

std::uint32_t task_port::fetch_or(word& w, std::uint32_t bits) {
  access(w);
  const std::uint32_t old = w.value;
  set(w, old | bits);
  return old;
}

std::uint32_t task_port::fetch_and(word& w, std::uint32_t bits) {
  access(w);
  const std::uint32_t old = w.value;
  set(w, old & bits);
  return old;
}

std::uint32_t task_port::fetch_add(word& w, std::uint32_t n) {
  access(w);
  const std::uint32_t old = w.value;
  set(w, old + n);
  return old;
}

spin_result task_port::spin_until(word& w, condition c, std::uint64_t iterations, side_check side) {
  access(w);
  const backend& back = task_.machine().back;
  const bool bounded = iterations != locks::no_limit;
  const duration most = bounded ? back.spin_iteration * static_cast<std::int64_t>(iterations)
                                : sched::end_of_time - sim_time{};
  locks::watcher me{&task_, &w, c, side, back.spin_iteration, {}};
  if (c.holds(w.value)) return {spin_end::satisfied, w.value};
  if (side.where != nullptr) {
    access(*side.where);
    if (side.until.holds(side.where->value)) return {spin_end::side, w.value};
  }
  const duration round = back.spin_iteration * static_cast<std::int64_t>(side.period);
  locks::watch watching(me);
  for (;;) {
    task_.exec.settle();
    if (c.holds(w.value)) return {spin_end::satisfied, w.value};
    if (me.before >= most) return {spin_end::limit, w.value};
    duration next = most - me.before;
    if (side.where != nullptr && side.until.holds(side.where->value)) {
      const duration over{me.before.ps() % round.ps()};
      if (over == duration{} && me.before != duration{}) return {spin_end::side, w.value};
      next = std::min(next, round - over);
    }
    vcpu_thread& v = task_.vcpu();
    const duration window = std::max(v.spin_window, back.spin_iteration);
    const bool leaves = leaves_guest(v, window);
    if (leaves) next = std::min(next, window);
    const duration spent = task_.exec.spin(account::spin, next);
    me.before += spent;
    if (!c.holds(w.value) && leaves && spent >= window) leave_spin(window);
  }
}

bool task_port::leaves_guest(const vcpu_thread& v, duration window) const {
  const backend& back = task_.machine().back;
  if (back.spin != spin_exit::wfe) return back.spin == spin_exit::pause_loop;
  // A WFE that the event stream ends before its trap is due never traps.
  return v.traps_wfe() && (back.event_stream == duration{} || window <= back.event_stream);
}

void task_port::leave_spin(duration window) {
  vm& m = task_.machine();
  vcpu_thread& v = task_.vcpu();
  ++v.wfe_exits;
  // Without a spread vCPUs that yield to each other fall into step and can keep a third one from
  // ever finishing its context switch.
  task_.exec.run(account::exit, task_.noise.perturb(m.back.exit, exit_spread_permille));
  if (m.back.spin_window_grows) v.spin_window = window * 2;
  if (!m.back.directed_yield) return;
  const sim_time now = task_.exec.now();
  m.on_spin(v, m.back.yields_to_kernel, now);
  task_.exec.settle();
  v.in_spin_loop = false;
  v.dy_eligible = false;
}

void task_port::halt_while(word& w, condition c) {
  vm& m = task_.machine();
  vcpu_thread& v = task_.vcpu();
  if (!m.back.kick_is_kept) v.forget_kick();
  access(w);
  if (!c.holds(w.value)) return;
  task_.exec.run(account::exit, m.back.halt);
  const sim_time now = task_.exec.now();
  if (v.take_kick()) return;
  const bool ends = m.back.interrupt_ends_wait ||
                    (m.back.open_interrupt_ends_wait && interrupts_ == interrupts::on);
  v.halt(now, ends ? sched::next_multiple(now, m.tick) : sched::end_of_time);
  task_.exec.settle();
}

void task_port::kick(locks::cpu_number target) {
  vm& m = task_.machine();
  vcpu_thread& v = m.vcpu(target);
  task_.exec.run(account::hypercall, m.back.kick);
  const sim_time now = task_.exec.now();
  if (v.kick(task_.vcpu().cpu, now)) count(locks::lock_event::pv_kick_wake);
  if (m.back.kick_yields && v.ready_to_run() && m.host.runnable(task_.vcpu().cpu) > 1)
    m.host.yield_to(task_.vcpu(), v, now);
}

bool task_port::is_preempted(locks::cpu_number target) const {
  vm& m = task_.machine();
  return m.back.tells_preempted && m.vcpu(target).seen_preempted();
}

}  // namespace hvsim::guest
