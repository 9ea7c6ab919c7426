// SPDX-License-Identifier: Apache-2.0
// What a scheduler schedules: a vCPU thread or other task of the host, a task of the guest.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>

#include "sim/engine/units.hpp"

namespace hvsim::sched {

struct cpu_tag;
/// Index of a CPU of one scheduler, from 0: a physical CPU of the host, a vCPU of a guest.
using cpu_index = engine::strong<cpu_tag, std::uint32_t>;

/// Consecutive CPUs.
struct cpu_range {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  [[nodiscard]] bool contains(cpu_index c) const {
    return c.value() >= first && c.value() - first < count;
  }
};

/// Why an entity loses its CPU.
enum class off_cpu : std::uint8_t {
  preempted,  ///< it could go on
  yielded,    ///< it could go on, and offered its CPU
  blocked     ///< it waits for something, or has ended
};

enum class entity_state : std::uint8_t { blocked, runnable, running };

/// The weight of nice 0 (sched_prio_to_weight).
inline constexpr std::uint32_t default_weight = 1024;

/// What policies keep about an entity. Times are picoseconds of the scheduler's clock.
struct policy_state {
  std::int64_t vruntime = 0;  ///< in 1/64 ps at the default weight
  std::int64_t deadline = 0;  ///< EEVDF, same unit
  std::int64_t lag = 0;       ///< EEVDF, same unit: kept while blocked
  engine::duration ran;       ///< in all
  engine::duration ran_when_picked;
  std::uint64_t arrival = 0;  ///< ties go to who came first
  engine::duration credit;    ///< credit scheduler: CPU time that it may still use
  std::int8_t priority = 0;   ///< credit scheduler
  bool accounted = false;     ///< credit scheduler: gets its share of credit
};

/// A run that ends by an error may leave entities in trees, and either goes first: neither touches
/// the other then.
using tree_hook =
    boost::intrusive::set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

/// One schedulable thing. Owned by whoever made it; a scheduler keeps pointers from `add` until
/// `remove`. The callbacks come from the scheduler, in the order of virtual time, on the fiber of
/// whoever caused them; they may not call the same scheduler.
class entity {
 public:
  entity() = default;
  entity(const entity&) = delete;
  entity& operator=(const entity&) = delete;
  virtual ~entity() = default;

  /// Was blocked or new, and waits for a CPU from `t` on.
  virtual void ready(engine::sim_time t) = 0;
  /// Has its CPU from `t` on; gets on from `from` on, after a context switch.
  virtual void start(engine::sim_time t, engine::sim_time from) = 0;
  /// Has no CPU from `t` on.
  virtual void stop(engine::sim_time t, off_cpu reason) = 0;
  /// Another entity became runnable on the CPU that this one has: whether it blocks at once.
  virtual bool gives_way(engine::sim_time) { return false; }
  /// False while it may not be preempted (a kernel that holds a spinlock).
  [[nodiscard]] virtual bool preemptible() const { return true; }

  // Set by the owner before `scheduler::add`.
  std::uint32_t weight = default_weight;
  cpu_range allowed{0, ~0U};  ///< CPUs that it may have

  // Kept by the scheduler.
  cpu_index cpu;  ///< the CPU that it has, waits for, or had last
  entity_state state = entity_state::blocked;
  bool queued = false;  ///< in its CPU's tree: runnable and not running
  engine::sim_time last_ran;
  policy_state policy;
  tree_hook hook;
};

}  // namespace hvsim::sched
