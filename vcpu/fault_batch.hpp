// SPDX-License-Identifier: Apache-2.0
// Faults of one vCPU that are handled ahead of the time of their locks.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/engine/engine.hpp"
#include "sim/engine/histogram.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/locks.hpp"
#include "sim/sync/srcu.hpp"

namespace hvsim::vcpu {

/// Time between exits and entries for one exit reason.
struct exit_stats {
  std::uint64_t samples = 0;
  engine::duration total{}, min{}, max{};
  void record(engine::duration d) {
    if (samples == 0 || d < min) min = d;
    if (d > max) max = d;
    total += d;
    ++samples;
  }
};

/// What a fault in a private chunk does to locks, in order: the same for all vCPUs of a VM.
class fault_steps {
 public:
  enum class what : std::uint8_t {
    take,    ///< the lock, shared; then the thread works
    drop,    ///< the lock, shared, after that work
    section  ///< takes the lock exclusively, works, drops it
  };
  struct one {
    what kind = what::take;
    std::uint8_t last = 0;  ///< 1 for the last step of a fault
    std::uint8_t wait = 0;  ///< which of the fault's waits is its own
    const one* next = nullptr;
    engine::duration work;
    std::int64_t work_of_fault = 0;  ///< all ones: as long as the fault says, besides `work`
    sync::lock_side side;
  };
  static constexpr std::size_t most_shared = 2;

  /// The steps lie in a section of `slots`, which begins and ends with the handler.
  explicit fault_steps(sync::srcu& slots) : slots_(slots) {}
  fault_steps(const fault_steps&) = delete;
  fault_steps& operator=(const fault_steps&) = delete;

  void add_shared(sync::lock_side lock, bool work_of_fault, engine::duration work) {
    takes_[shared_] = &list_[count_];
    add(what::take, lock, work_of_fault, work, shared_++);
    add(what::drop, lock, work_of_fault, work, most_shared);
  }
  void add_section(sync::lock_side lock) { add(what::section, lock, true, {}, most_shared); }

  [[nodiscard]] const one& first() const { return list_[0]; }
  /// Those that take a lock shared.
  [[nodiscard]] std::span<const one* const> takes() const { return {takes_.data(), shared_}; }
  [[nodiscard]] sync::srcu& slots() const { return slots_; }

 private:
  void add(what kind, sync::lock_side lock, bool work_of_fault, engine::duration work,
           std::size_t wait) {
    if (count_ != 0) {
      list_[count_ - 1].last = 0;
      list_[count_ - 1].next = &list_[count_];
    }
    one& s = list_[count_++];
    s.kind = kind;
    s.last = 1;
    s.wait = static_cast<std::uint8_t>(wait);
    s.next = list_.data();
    s.work = work;
    s.work_of_fault = -std::int64_t{work_of_fault};
    s.side = lock;
  }

  sync::srcu& slots_;
  std::array<one, 4> list_{};
  std::array<const one*, most_shared> takes_{};
  std::size_t count_ = 0;
  std::size_t shared_ = 0;
};

/// In a private chunk everything that a fault does between its lock steps concerns nobody else. So
/// the vCPU's fiber does it ahead of its time, fault after fault, and leaves behind what the locks
/// need to know. `drain` then sets the thread's clock back and takes the locks' turns in the order
/// of virtual time, without the fiber.
///
/// While a batch is open the thread's clock leaves out the locks and the work under them; only
/// differences of it mean anything. One per vCPU, used by its fiber.
class alignas(64) fault_batch final : public engine::errand {
 public:
  /// Faults that a batch holds.
  static constexpr std::uint32_t capacity = 32;

  fault_batch(machine::cpu& c, exit_stats& exits, engine::histogram* const& latency)
      : errand(engine::engine::turns_of<fault_batch>), cpu_(c), exits_(exits), latency_(latency) {}

  [[nodiscard]] bool empty() const { return count_ == 0; }

  /// The next fault is at its first step `now`. It trapped at `trapped` by the same clock and works
  /// for `work` under its lock, booked already.
  void add(const fault_steps& steps, engine::sim_time now, engine::sim_time trapped,
           engine::duration work) {
    if (count_ == 0) {
      steps_ = &steps;
      origin_ = last_ = now;
    }
    turns_[count_].gap = now - last_;
    turns_[count_].work = work;
    faults_[count_++].since_trap = now - trapped;
    last_ = now;
  }
  /// The last fault is over at `now`; `print` is its part of the fingerprint. `trap`: what of its
  /// time was not the handler's.
  void close(engine::sim_time now, std::uint64_t print, engine::duration trap) {
    fault& f = faults_[count_ - 1];
    f.after = now - last_;
    f.print = print;
    f.trap = trap;
  }

  /// Takes the turns of all faults. Returns by how much that has moved the clock on.
  engine::duration drain();

  /// The next step: which, and for how long the thread works under its lock.
  struct next_step {
    const fault_steps::one* which;
    sync::fair_lock* lock;
    engine::duration work;
  };
  [[nodiscard]] next_step look() const {
    const fault_steps::one& s = *step_;
    return {&s, s.side.lock, turn_->work_in(s)};
  }
  [[nodiscard]] static bool may_wake(const next_step& n) {
    return n.which->kind == fault_steps::what::section;
  }
  bool step(engine::thread& t, const next_step& n);
  bool step(engine::thread& t) override { return step(t, look()); }

 private:
  /// What the locks' turns need of a fault, apart from the rest so that it stays in the host's
  /// cache.
  struct turn {
    engine::duration gap;  ///< from the last step of the fault before
    engine::duration work;
    engine::sim_time over;  ///< when the last step so far was
    /// For the words of locks, if positive; the last is of steps that count none.
    std::array<engine::duration, fault_steps::most_shared + 1> waits;
    [[nodiscard]] engine::duration work_in(const fault_steps::one& s) const {
      return s.work + engine::duration{work.ps() & s.work_of_fault};
    }
  };
  struct fault {
    engine::duration since_trap;  ///< until the first step
    engine::duration after;       ///< from the last step to the guest
    std::uint64_t print = 0;
    engine::duration trap;
  };
  [[gnu::always_inline]] inline bool advance_step(engine::thread& t, const fault_steps::one& s,
                                                  engine::sim_time now, engine::duration working);
  bool section(engine::thread& t, const next_step& n);
  void step_on_fiber();
  void record();

  // What a turn needs comes first.
  const fault_steps::one* step_ = nullptr;  // whose turn is next,
  turn* turn_ = nullptr;                    // of this fault
  turn* end_ = nullptr;
  engine::core_id core_;
  std::uint32_t count_ = 0;
  const fault_steps* steps_ = nullptr;
  std::array<turn, capacity + 1> turns_{};  // behind the last one there is no gap
  std::array<fault, capacity> faults_{};
  machine::cpu& cpu_;
  engine::sim_time origin_;  // of the batch: the first step
  engine::sim_time last_;    // the last fault's steps, by the thread's clock
  exit_stats& exits_;
  engine::histogram* const& latency_;
};

// Step `s` is done `now` and the thread works for `working`. Whether another step follows. The last
// step of a fault is one in three or four, in an order that the host cannot guess: hence no branch.
inline bool fault_batch::advance_step(engine::thread& t, const fault_steps::one& s,
                                      engine::sim_time now, engine::duration working) {
  turn_->over = now;
  turn_ += s.last;
  step_ = s.next;
  t.pass_until(now + working + engine::duration{turn_->gap.ps() & -std::int64_t{s.last}});
  return turn_ != end_;
}

inline bool fault_batch::step(engine::thread& t, const next_step& n) {
  const fault_steps::one& s = *n.which;
  if (s.kind == fault_steps::what::section) return section(t, n);
  const bool take = s.kind == fault_steps::what::take;
  engine::sim_time now;
  engine::duration queued;
  if (!n.lock->shared_turn(t, core_, take, now, queued)) [[unlikely]]
    return false;
  turn_->waits[s.wait] = queued;
  return advance_step(t, s, now, engine::duration{n.work.ps() & -std::int64_t{take}});
}

}  // namespace hvsim::vcpu
