// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/vcpu_thread.hpp"

#include <algorithm>

#include "sim/guest/task.hpp"

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;
using sched::account;

vcpu_thread::vcpu_thread(vm& owner, std::uint32_t index) : vm_(owner), index_(index) {
  spin_window = vm_.back.spin_window;
  poll_timer_ = vm_.clock.add([this](sim_time t) { poll_over(t); });
  idle_timer_ = vm_.clock.add([this](sim_time t) { halt_idle(t); });
  interrupt_timer_ = vm_.clock.add([this](sim_time t) { wake(cpu, t); });
}

task* vcpu_thread::running() const {
  // A guest's scheduler has nothing but tasks.
  return static_cast<task*>(vm_.guest.current(guest_cpu()));
}

void vcpu_thread::change(stretch next, sim_time t) {
  const duration d = t - since_;
  switch (now_in_) {
    case stretch::guest:
      times_.guest += d;
      break;
    case stretch::polling:
      times_.polling += d;
      break;
    case stretch::asleep:
      times_.asleep += d;
      break;
    case stretch::stolen:
      times_.stolen += d;
      break;
  }
  now_in_ = next;
  since_ = t;
}

vcpu_times vcpu_thread::times(sim_time t) const {
  vcpu_times r = times_;
  const duration d = t - since_;
  switch (now_in_) {
    case stretch::guest:
      r.guest += d;
      break;
    case stretch::polling:
      r.polling += d;
      break;
    case stretch::asleep:
      r.asleep += d;
      break;
    case stretch::stolen:
      r.stolen += d;
      break;
  }
  return r;
}

duration vcpu_thread::stolen(sim_time t) const {
  return now_in_ == stretch::stolen ? times_.stolen + (t - since_) : times_.stolen;
}

void vcpu_thread::enter(sim_time t, sim_time from) {
  entered_ = from;
  powered_ = true;
  preempted_ = false;
  lost_ = false;
  ready_ = false;
  vm_.clock.cancel(idle_timer_);
  change(stretch::guest, t);
  if (task* p = running()) p->power_on(t, from);
  vm_.guest.set_power(guest_cpu(), true, t);
}

void vcpu_thread::leave(sim_time t, account why) {
  powered_ = false;
  vm_.guest.set_power(guest_cpu(), false, t);
  if (task* p = running()) p->power_off(t, why);
}

void vcpu_thread::ready(sim_time t) {
  ready_ = true;
  was_asleep_ = true;
  change(stretch::stolen, t);
  if (task* p = running()) p->power_off_because(t, account::steal);
}

void vcpu_thread::start(sim_time t, sim_time from) {
  on_ = true;
  traps_wfe_ = vm_.host.runnable(cpu) > 1;
  spin_window = vm_.back.spin_window;
  enter(t, std::exchange(was_asleep_, false) ? from + vm_.back.wake : from);
}

void vcpu_thread::stop(sim_time t, sched::off_cpu reason) {
  on_ = false;
  if (reason == sched::off_cpu::blocked) {
    change(stretch::asleep, t);
    return;
  }
  preempted_ = true;
  lost_ = reason == sched::off_cpu::preempted;
  ready_ = true;
  change(stretch::stolen, t);
  leave(t, account::steal);
}

bool vcpu_thread::gives_way(sim_time) {
  if (sleep_ != sleep_state::polling) return false;
  vm_.clock.cancel(poll_timer_);
  sleep_ = sleep_state::asleep;
  return true;
}

void vcpu_thread::idle(sim_time t) {
  vm_.clock.arm(idle_timer_, std::max(t, entered_) + vm_.back.halt);
}

void vcpu_thread::halt_idle(sim_time t) {
  if (powered_ && vm_.guest.runnable(guest_cpu()) == 0) halt(t);
}

void vcpu_thread::halt(sim_time t, sim_time interrupt) {
  if (interrupt != sched::end_of_time) vm_.clock.arm(interrupt_timer_, interrupt);
  leave(t, account::halted);
  halted_at_ = t;
  if (poll_ != duration{} && vm_.host.runnable(cpu) == 1) {
    ++halt_attempted_poll;
    sleep_ = sleep_state::polling;
    change(stretch::polling, t);
    vm_.clock.arm(poll_timer_, t + poll_);
    return;
  }
  sleep_ = sleep_state::asleep;
  vm_.host.block(*this, t);
}

void vcpu_thread::poll_over(sim_time t) {
  sleep_ = sleep_state::asleep;
  vm_.host.block(*this, t);
}

void vcpu_thread::adjust_polling(duration halted) {
  // kvm_vcpu_halt of virt/kvm/kvm_main.c, with halt_poll_ns_grow 2 and _shrink 0.
  const duration most = vm_.back.halt_poll_max;
  if (most == duration{} || halted <= poll_) return;
  if (poll_ != duration{} && halted > most) {
    poll_ = duration{};
  } else if (poll_ < most && halted < most) {
    poll_ = std::min(most, poll_ == duration{} ? vm_.back.halt_poll_start : poll_ * 2);
  }
}

void vcpu_thread::wake(sched::cpu_index from, sim_time t) {
  if (sleep_ == sleep_state::awake) return;
  const sleep_state before = std::exchange(sleep_, sleep_state::awake);
  vm_.clock.cancel(interrupt_timer_);
  adjust_polling(t - halted_at_);
  if (before == sleep_state::polling) {
    ++halt_successful_poll;
    vm_.clock.cancel(poll_timer_);
    enter(t, t + vm_.back.poll_wake);
    return;
  }
  ++halt_wakeup;
  vm_.host.wake(*this, from, t);
}

bool vcpu_thread::kick(sched::cpu_index from, sim_time t) {
  if (sleep_ == sleep_state::awake) {
    kicked_ = true;
    return false;
  }
  wake(from, t);
  return true;
}

vm::vm(sched::timers& timers, sched::scheduler& host_scheduler, sched::scheduler& guest_scheduler,
       const backend& b, duration guest_tick)
    : clock(timers), host(host_scheduler), guest(guest_scheduler), back(b), tick(guest_tick) {
  for (std::uint32_t v = 0; v < guest.cpus(); ++v)
    vcpus_.push_back(std::make_unique<vcpu_thread>(*this, v));
  guest.on_kick = [this](sched::cpu_index c, sim_time t) {
    vcpu_thread& v = vcpu(c.value());
    v.wake(v.cpu, t);
  };
  guest.on_idle = [this](sched::cpu_index c, sim_time t) { vcpu(c.value()).idle(t); };
  if (back.steal_clock)
    guest.stolen = [this](sched::cpu_index c, sim_time t) { return vcpu(c.value()).stolen(t); };
  if (back.tells_preempted)
    guest.is_preempted = [this](sched::cpu_index c) { return vcpu(c.value()).seen_preempted(); };
}

void vm::start(const std::vector<sched::cpu_range>& allowed, sim_time t) {
  for (std::uint32_t v = 0; v < vcpus(); ++v) {
    guest.set_power(sched::cpu_index{v}, false, t);
    vcpus_[v]->allowed = allowed[v];
    host.add(*vcpus_[v], sched::cpu_index{allowed[v].first}, t);
  }
}

void vm::on_spin(vcpu_thread& me, bool in_kernel_only, sim_time t) {
  me.in_spin_loop = true;
  int tries = 3;
  bool done = false;
  const std::uint32_t last = last_boosted_;
  const std::uint32_t n = vcpus();
  for (std::uint32_t i = 1; i <= n && !done; ++i) {
    const std::uint32_t index = (last + i) % n;
    vcpu_thread& v = *vcpus_[index];
    const bool waits = back.yields_to_woken ? v.ready_to_run() : v.preempted();
    if (!waits || &v == &me || v.sleeping() != sleep_state::awake) continue;
    const auto* p = static_cast<const task*>(guest.current(v.guest_cpu()));
    if (v.preempted() && in_kernel_only && (p == nullptr || !p->in_kernel())) continue;
    const bool eligible = !v.in_spin_loop || v.dy_eligible;
    if (v.in_spin_loop) v.dy_eligible = !v.dy_eligible;
    if (!eligible) continue;
    ++directed_yield_attempted;
    switch (host.yield_to(me, v, t)) {
      case sched::yield_end::yielded:
        ++directed_yield_successful;
        last_boosted_ = index;
        done = true;
        break;
      case sched::yield_end::alone:
        done = --tries == 0;
        break;
      case sched::yield_end::refused:
        break;
    }
  }
}

}  // namespace hvsim::guest
