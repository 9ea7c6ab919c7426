// SPDX-License-Identifier: Apache-2.0
// A process or kernel thread of the guest.
#pragma once

#include <cstdint>

#include "sim/engine/random.hpp"
#include "sim/guest/vcpu_thread.hpp"
#include "sim/sched/execution.hpp"

namespace hvsim::guest {

/// CPU time as the guest's getrusage shows it: time that the host stole while the task was on a
/// guest CPU counts, unless the guest has a steal clock.
struct cpu_times {
  engine::duration user;
  engine::duration system;
};

/// One fiber under both schedulers. It gets on while the guest's scheduler has chosen it and the
/// host runs the vCPU of its CPU. Made by `kernel`.
class task final : public sched::entity {
 public:
  task(vm& machine, std::uint32_t number) : vm_(machine), number_(number) {}

  /// CPU time of this task, and what becomes of it.
  sched::execution exec;
  /// Above 0 the guest's scheduler leaves the task where it is.
  std::uint32_t preempt_count = 0;
  engine::random_stream random;  ///< for what the task does
  engine::random_stream noise;   ///< for costs that are never twice the same

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] vcpu_thread& vcpu() { return vm_.vcpu(cpu.value()); }
  [[nodiscard]] vm& machine() { return vm_; }
  /// Of a task that has settled. `steal_clock`: without stolen time.
  [[nodiscard]] cpu_times times(bool steal_clock) const;

  void ready(engine::sim_time t) override;
  void start(engine::sim_time t, engine::sim_time from) override;
  void stop(engine::sim_time t, sched::off_cpu reason) override;
  [[nodiscard]] bool preemptible() const override { return preempt_count == 0; }

  // Called by its vCPU.
  /// The vCPU runs again; the first instruction is at `from`.
  void power_on(engine::sim_time t, engine::sim_time from);
  /// The vCPU does not run; `why` is steal or halted.
  void power_off(engine::sim_time t, sched::account why);
  /// Still not, for another reason.
  void power_off_because(engine::sim_time t, sched::account why);
  /// In kernel mode, as an exit sees it: takes or has a spinlock.
  [[nodiscard]] bool in_kernel() const { return preempt_count != 0; }

 private:
  void end_steal(engine::sim_time t);

  vm& vm_;
  std::uint32_t number_;
  bool stolen_ = false;
  engine::sim_time stolen_since_;
  std::int64_t stolen_user_share_ = 0;  // of 1024
  engine::duration stolen_user_;
  engine::duration stolen_system_;
};

}  // namespace hvsim::guest
