// SPDX-License-Identifier: Apache-2.0
// Threads that share CPUs: what an engine and the code on it tell whoever schedules them.
#pragma once

#include "sim/engine/parts.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::engine {

class thread;

/// Told when a thread that shares CPUs loses its CPU and gets one again. Called on the fiber of
/// whoever caused it, in the order of virtual time; may not call the scheduler.
class cpu_listener {
 public:
  virtual ~cpu_listener() = default;
  virtual void cpu_lost(thread& t, sim_time now) = 0;
  virtual void cpu_got(thread& t, sim_time now) = 0;
};

/// Decides when threads get on that have no CPU each. An engine without one (the usual case) lets
/// every thread get on at once.
///
/// A thread notes private time with `advance` as ever. Its next sync hands what was noted to
/// `settle`, which returns when that work is done, however often the CPU was taken away meanwhile;
/// the difference is booked as `part::steal`. A thread that parks keeps its CPU, as a spinner does,
/// unless it called `sleep` before. Threads that the scheduler does not know (daemons) have a CPU
/// of their own.
class cpu_sharing {
 public:
  virtual ~cpu_sharing() = default;

  // Called by the engine.
  /// Does the work that `t` has noted since it settled last.
  virtual void settle(thread& t) = 0;
  /// `t` was parked and has been woken: waits until it has a CPU.
  virtual void resume(thread& t) = 0;
  /// The running thread wakes `sleeper`.
  virtual void woken(thread& sleeper) = 0;

  // Called on the fiber of `t`, which has settled just now.
  /// Work whose length others change with `engine::move_wait`: waits until `end`, booked as `p`, or
  /// until the CPU is lost. In that case `pausing` is told first and must not move the wait again.
  virtual void wait_on_cpu(thread& t, part p, sim_time end, cpu_listener& pausing) = 0;
  /// The park that follows gives up the CPU.
  virtual void sleep(thread& t) = 0;
  /// preempt_disable and preempt_enable, which nest; the outermost enable does what was put off.
  virtual void disable_preemption(thread& t) = 0;
  virtual void enable_preemption(thread& t) = 0;
  /// need_resched: a preemption of `t` was put off.
  [[nodiscard]] virtual bool must_reschedule(const thread& t) const = 0;

  // Called on any fiber.
  /// `l` hears about `t`; at once, if `t` has no CPU. False if it did already.
  virtual bool listen(thread& t, cpu_listener& l) = 0;
  /// No longer; `l` hears that `t` got a CPU if it has none.
  virtual void stop_listening(thread& t, cpu_listener& l) = 0;
};

}  // namespace hvsim::engine
