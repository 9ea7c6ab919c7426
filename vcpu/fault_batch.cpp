// SPDX-License-Identifier: Apache-2.0
#include "vcpu/fault_batch.hpp"

namespace hvsim::vcpu {

[[gnu::noinline]] bool fault_batch::section(engine::thread& t, const next_step& n) {
  sync::lock_stats& stats = *n.which->side.stats;
  if (!n.lock->try_exclusive(cpu_, stats)) [[unlikely]]
    return false;
  t.pass(n.work);
  n.lock->unlock_exclusive(cpu_, stats);
  return advance_step(t, *n.which, t.now(), {});
}

// A lock for which somebody waits needs the fiber.
void fault_batch::step_on_fiber() {
  const next_step n = look();
  engine::thread& t = *cpu_.thread;
  sync::lock_stats& stats = *n.which->side.stats;
  switch (n.which->kind) {
    case fault_steps::what::take:
      n.lock->join_readers(cpu_, stats);
      turn_->waits[n.which->wait] = {};
      (void)advance_step(t, *n.which, t.now(), n.work);
      return;
    case fault_steps::what::drop:
      n.lock->leave_readers(cpu_, stats);
      break;
    case fault_steps::what::section:
      n.lock->lock_exclusive(cpu_, stats);
      t.pass(n.work);
      n.lock->unlock_exclusive(cpu_, stats);
      break;
  }
  (void)advance_step(t, *n.which, t.now(), {});
}

// What each fault took, now that its steps have their times.
void fault_batch::record() {
  for (const fault_steps::one* take : steps_->takes()) {
    sync::lock_stats& stats = *take->side.stats;
    stats.acquired(count_);
    engine::histogram::recorder holds = stats.holds();
    engine::histogram::recorder waits = stats.waits();
    for (std::uint32_t i = 0; i < count_; ++i) {
      const turn& f = turns_[i];
      holds.record(f.work_in(*take));
      if (f.waits[take->wait] > engine::duration{}) waits.record(f.waits[take->wait]);
    }
  }

  engine::thread& t = *cpu_.thread;
  engine::histogram::recorder latencies(*latency_);
  engine::histogram::recorder sections = steps_->slots().lengths();
  engine::sim_time first = origin_;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const fault& f = faults_[i];
    const engine::sim_time over = turns_[i].over + f.after;
    const engine::duration spent = over - (first - f.since_trap);
    exits_.record(spent);
    latencies.record(spent);
    sections.record(spent - f.trap);
    t.print.add(f.print);
    t.print.add(static_cast<std::uint64_t>(over.ps()));
    first = turns_[i].over + turns_[i + 1].gap;
  }
}

engine::duration fault_batch::drain() {
  if (count_ == 0) return {};
  engine::thread& t = *cpu_.thread;
  const engine::sim_time ahead = t.now();
  t.turn_back(origin_);
  core_ = cpu_.core;
  turns_[count_].gap = {};
  step_ = &steps_->first();
  turn_ = turns_.data();
  end_ = turn_ + count_;
  for (t.run(*this); turn_ != end_; t.run(*this)) {
    step_on_fiber();
    if (turn_ == end_) break;
  }
  record();
  t.pass(ahead - last_);
  count_ = 0;
  return t.now() - ahead;
}

}  // namespace hvsim::vcpu
