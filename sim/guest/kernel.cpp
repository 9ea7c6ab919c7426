// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/kernel.hpp"

#include <utility>

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;
using sched::account;
using sched::cpu_index;

namespace {
// Streams of the tasks' own draws.
constexpr std::uint64_t stream_base = 0x300000000ULL;
constexpr std::uint64_t noise_base = 0x400000000ULL;
}  // namespace

kernel::kernel(engine::engine& e, machine::machine& m, vm& v, const kernel_options& o)
    : engine_(e),
      vm_(v),
      options_(o),
      kind_(find_lock_kind(o.lock)),
      shared_(m, v.vcpus(), v.back.pending_loops) {}

task& kernel::make(std::string name, sim_time begin, sched::cpu_range cpus, body what,
                   bool already_added) {
  const auto number = static_cast<std::uint32_t>(tasks_.size());
  tasks_.push_back(std::make_unique<task>(vm_, number));
  task& t = *tasks_.back();
  t.allowed = cpus;
  t.random = engine::random_stream(options_.seed, stream_base + number);
  t.noise = engine::random_stream(options_.seed, noise_base + number);
  alarms_.push_back(vm_.clock.add([this, &t](sim_time now) { vm_.guest.wake(t, t.cpu, now); }));
  engine::thread& fiber =
      engine_.spawn(std::move(name), begin,
                    [this, &t, begin, already_added, what = std::move(what)](engine::thread& self) {
                      if (!already_added) vm_.guest.add(t, cpu_index{t.allowed.first}, self.now());
                      live(t, begin, what);
                    });
  t.exec.attach(fiber);
  return t;
}

void kernel::live(task& t, sim_time born, const body& what) {
  t.exec.settle();
  what(t);
  const sim_time end = t.exec.now();
  ended_.add(t.exec.accounts());
  lifetimes_ += end - born;
  vm_.guest.block(t, end);
}

task& kernel::start(std::string name, sim_time begin, body what, sched::cpu_range cpus) {
  return make(std::move(name), begin, cpus, std::move(what), false);
}

task& kernel::fork(task& parent, std::string name, body what, sched::cpu_range cpus) {
  const sim_time now = parent.exec.now();
  task& child = make(std::move(name), now, cpus, std::move(what), true);
  vm_.guest.add(child, parent.cpu, now);
  return child;
}

void kernel::sleep(task& t) {
  vm_.guest.block(t, t.exec.fiber().now());
  t.exec.settle();
  t.exec.run(account::kernel, options_.sleep_cost);
}

void kernel::wake(task& t, task& sleeper) {
  t.exec.run(account::kernel, options_.wake_cost);
  const sim_time now = t.exec.now();
  if (sleeper.state != sched::entity_state::blocked) return;
  vm_.guest.wake(sleeper, t.cpu, now);
  if (sleeper.cpu != t.cpu) t.exec.run(account::exit, vm_.back.ipi);
}

void kernel::sleep_for(task& t, duration d) {
  t.exec.run(account::kernel, options_.sleep_cost);
  const sim_time now = t.exec.now();
  vm_.clock.arm(alarms_[t.number()], now + d);
  vm_.guest.block(t, now);
  t.exec.settle();
  vm_.clock.cancel(alarms_[t.number()]);
}

spinlock& kernel::make_lock(const std::string& name, interrupts while_waiting) {
  locks_.push_back(kind_.make(name, shared_, options_.pv));
  locks_.back()->while_waiting = while_waiting;
  return *locks_.back();
}

}  // namespace hvsim::guest
