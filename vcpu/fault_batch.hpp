// SPDX-License-Identifier: Apache-2.0
// Faults of one vCPU that are handled ahead of the time of their locks.
#pragma once

#include <array>
#include <cstdint>

#include "sim/engine/engine.hpp"
#include "sim/engine/histogram.hpp"
#include "sim/machine/machine.hpp"
#include "sim/sync/locks.hpp"

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
    bool work_of_fault = false;  ///< as long as the fault says, besides `work`
    engine::duration work;
    sync::lock_side side;
  };

  void add_shared(sync::lock_side lock, bool work_of_fault, engine::duration work) {
    list_[count_++] = {what::take, work_of_fault, work, lock};
    list_[count_++] = {what::drop, work_of_fault, work, lock};
  }
  void add_section(sync::lock_side lock) { list_[count_++] = {what::section, true, {}, lock}; }

  [[nodiscard]] const one& operator[](std::uint32_t i) const { return list_[i]; }
  [[nodiscard]] std::uint32_t size() const { return count_; }

 private:
  std::array<one, 4> list_{};
  std::uint32_t count_ = 0;
};

/// In a private chunk everything that a fault does between its lock steps concerns nobody else. So
/// the vCPU's fiber does it ahead of its time, fault after fault, and leaves behind what the locks
/// need to know. `drain` then sets the thread's clock back and takes the locks' turns in the order
/// of virtual time, without the fiber.
///
/// While a batch is open the thread's clock leaves out the locks and the work under them; only
/// differences of it mean anything. One per vCPU, used by its fiber.
class fault_batch final : public engine::errand {
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
  /// The last fault is over at `now`; `print` is its part of the fingerprint.
  void close(engine::sim_time now, std::uint64_t print) {
    fault& f = faults_[count_ - 1];
    f.after = now - last_;
    f.print = print;
  }

  /// Takes the turns of all faults. Returns by how much that has moved the clock on.
  engine::duration drain();

  bool step(engine::thread& t) override;

 private:
  /// What the locks' turns need of a fault, apart from the rest so that it stays in the host's cache.
  struct turn {
    engine::duration gap;  ///< from the last step of the fault before
    engine::duration work;
    engine::sim_time over;  ///< when the last step so far was
  };
  struct fault {
    engine::duration since_trap;  ///< until the first step
    engine::duration after;       ///< from the last step to the guest
    std::uint64_t print = 0;
  };
  [[gnu::always_inline]] inline bool advance_step(engine::thread& t, engine::duration working);
  bool section(engine::thread& t, const fault_steps::one& s);
  void step_on_fiber();
  void record();
  // No branch, which the host would have to guess.
  [[nodiscard]] engine::duration work_of(const fault_steps::one& s) const {
    return s.work + turns_[now_at_].work * static_cast<std::int64_t>(s.work_of_fault);
  }

  machine::cpu& cpu_;
  const fault_steps* steps_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t now_at_ = 0;  // fault and step whose turn is next
  std::uint32_t next_step_ = 0;
  engine::sim_time origin_;  // of the batch: the first step
  engine::sim_time last_;    // the last fault's steps, by the thread's clock
  exit_stats& exits_;
  engine::histogram* const& latency_;
  std::array<turn, capacity + 1> turns_{};  // behind the last one there is no gap
  std::array<fault, capacity> faults_{};
};

// A step is done and the thread works for `working`. Whether another step follows. The last step of
// a fault is one in three or four, in an order that the host cannot guess: hence no branch.
inline bool fault_batch::advance_step(engine::thread& t, engine::duration working) {
  const std::uint32_t last = next_step_ + 1 == steps_->size() ? 1 : 0;
  turns_[now_at_].over = t.now();
  now_at_ += last;
  next_step_ = (next_step_ + 1) * (1 - last);
  t.pass(working + turns_[now_at_].gap * static_cast<std::int64_t>(last));
  return now_at_ != count_;
}

inline bool fault_batch::step(engine::thread& t) {
  const fault_steps::one& s = (*steps_)[next_step_];
  if (s.kind == fault_steps::what::section) return section(t, s);
  const bool take = s.kind == fault_steps::what::take;
  const engine::duration work = work_of(s);
  if (!s.side.lock->shared_turn(cpu_, *s.side.stats, take, work)) [[unlikely]]
    return false;
  return advance_step(t, work * static_cast<std::int64_t>(take));
}

}  // namespace hvsim::vcpu
