// SPDX-License-Identifier: Apache-2.0
// A vCPU as a thread of the host's scheduler and as a CPU of the guest's.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sim/guest/backend.hpp"
#include "sim/sched/accounts.hpp"
#include "sim/sched/scheduler.hpp"

namespace hvsim::guest {

class task;
class vm;

/// Whether a vCPU sleeps.
enum class sleep_state : std::uint8_t {
  awake,    ///< runs, or waits for a CPU of the host
  polling,  ///< halted, its thread polls on its CPU
  asleep    ///< halted, its thread is blocked
};

/// Where the life of a vCPU goes; the four times add up to it.
struct vcpu_times {
  engine::duration guest;    ///< its guest executes, or it enters and leaves
  engine::duration polling;  ///< halted, on a CPU
  engine::duration asleep;   ///< halted, off the CPU
  engine::duration stolen;   ///< could run, the host ran others
};

/// Entity of the host's scheduler; supplies the guest's scheduler with power. No fiber of its own:
/// the guest's tasks call it from theirs, with `t` their time.
class vcpu_thread final : public sched::entity {
 public:
  vcpu_thread(vm& owner, std::uint32_t index);

  /// The guest's task on this CPU, or the guest's idle loop, halts at `t`. An interrupt of its own
  /// timer ends that at `interrupt`, if nothing else has.
  void halt(engine::sim_time t, engine::sim_time interrupt = sched::end_of_time);
  /// An interrupt or a kick for this vCPU, sent from host CPU `from`.
  void wake(sched::cpu_index from, engine::sim_time t);
  /// Ends a wait in pv_wait, or the next one if the back end keeps kicks. Whether it slept.
  bool kick(sched::cpu_index from, engine::sim_time t);
  /// Takes a kept kick.
  bool take_kick() { return std::exchange(kicked_, false); }
  void forget_kick() { kicked_ = false; }
  /// The guest has nothing to run here.
  void idle(engine::sim_time t);

  // As entity of the host.
  void ready(engine::sim_time t) override;
  void start(engine::sim_time t, engine::sim_time from) override;
  void stop(engine::sim_time t, sched::off_cpu reason) override;
  bool gives_way(engine::sim_time t) override;

  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] sched::cpu_index guest_cpu() const { return sched::cpu_index{index_}; }
  [[nodiscard]] bool on_cpu() const { return on_; }
  [[nodiscard]] sleep_state sleeping() const { return sleep_; }
  /// What kvm's `preempted` says: was switched out and could go on. That includes a thread that
  /// gave its CPU away in a directed yield (kvm_sched_out looks at `on_rq` alone).
  [[nodiscard]] bool preempted() const { return preempted_; }
  /// What the guest is told (kvm_steal_time.preempted): lost its CPU against its will. After an
  /// exit of its own the byte is not written (`at_instruction_boundary`, arch/x86/kvm/x86.c
  /// of 6.1).
  [[nodiscard]] bool seen_preempted() const { return lost_; }
  /// What kvm's `ready` says: preempted, or woken and not yet running.
  [[nodiscard]] bool ready_to_run() const { return ready_; }
  /// WFE traps: the host CPU had other work when the vCPU was loaded.
  [[nodiscard]] bool traps_wfe() const { return traps_wfe_; }
  /// First instruction after the last entry.
  [[nodiscard]] engine::sim_time entered() const { return entered_; }
  [[nodiscard]] engine::duration stolen(engine::sim_time t) const;
  /// Until `t`.
  [[nodiscard]] vcpu_times times(engine::sim_time t) const;

  // kvm_vcpu_on_spin.
  bool in_spin_loop = false;
  bool dy_eligible = false;
  engine::duration spin_window;  ///< the next exit from a spin loop

  // Counters, under KVM's names.
  std::uint64_t halt_attempted_poll = 0;
  std::uint64_t halt_successful_poll = 0;
  std::uint64_t halt_wakeup = 0;
  std::uint64_t wfe_exits = 0;  ///< wfe_exit_stat, or PLE exits

 private:
  enum class stretch : std::uint8_t { guest, polling, asleep, stolen };
  void enter(engine::sim_time t, engine::sim_time from);
  void leave(engine::sim_time t, sched::account why);
  void poll_over(engine::sim_time t);
  void halt_idle(engine::sim_time t);
  void adjust_polling(engine::duration halted);
  void change(stretch next, engine::sim_time t);
  [[nodiscard]] task* running() const;

  vm& vm_;
  std::uint32_t index_;
  bool on_ = false;
  bool preempted_ = false;
  bool lost_ = false;
  bool ready_ = false;
  bool traps_wfe_ = false;
  bool kicked_ = false;
  bool powered_ = false;
  bool was_asleep_ = false;
  sleep_state sleep_ = sleep_state::awake;
  engine::sim_time entered_;
  engine::sim_time halted_at_;
  engine::duration poll_;
  sched::timer_id poll_timer_{};
  sched::timer_id idle_timer_{};
  sched::timer_id interrupt_timer_{};
  stretch now_in_ = stretch::asleep;
  engine::sim_time since_;
  vcpu_times times_;
};

/// The vCPUs of one guest, and what they share.
class vm {
 public:
  /// `guest`: the scheduler of the guest, one CPU a vCPU. Both schedulers outlive the VM.
  vm(sched::timers& clock, sched::scheduler& host, sched::scheduler& guest, const backend& b,
     engine::duration guest_tick);

  /// The vCPU threads start, vCPU `v` on host CPUs `allowed[v]`.
  void start(const std::vector<sched::cpu_range>& allowed, engine::sim_time t);

  /// kvm_vcpu_on_spin: `me` spins at `t` and offers its CPU to a vCPU that was preempted.
  /// `in_kernel_only`: passes over those that were preempted in user mode.
  void on_spin(vcpu_thread& me, bool in_kernel_only, engine::sim_time t);

  [[nodiscard]] vcpu_thread& vcpu(std::uint32_t v) { return *vcpus_[v]; }
  [[nodiscard]] const vcpu_thread& vcpu(std::uint32_t v) const { return *vcpus_[v]; }
  [[nodiscard]] std::uint32_t vcpus() const { return static_cast<std::uint32_t>(vcpus_.size()); }

  sched::timers& clock;
  sched::scheduler& host;
  sched::scheduler& guest;
  const backend back;
  const engine::duration tick;  ///< of the guest's timer
  std::uint64_t directed_yield_attempted = 0;
  std::uint64_t directed_yield_successful = 0;

 private:
  std::vector<std::unique_ptr<vcpu_thread>> vcpus_;
  std::uint32_t last_boosted_ = 0;
};

}  // namespace hvsim::guest
