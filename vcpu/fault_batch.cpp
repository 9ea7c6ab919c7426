// SPDX-License-Identifier: Apache-2.0
#include "vcpu/fault_batch.hpp"

namespace hvsim::vcpu {

bool fault_batch::step(engine::thread& t) {
  const fault_steps::one& s = (*steps_)[next_step_];
  if (s.kind == fault_steps::what::section) return section(t, s);
  const bool take = s.kind == fault_steps::what::take;
  const engine::duration work = work_of(s);
  if (!s.side.lock->shared_turn(cpu_, *s.side.stats, take, work)) [[unlikely]]
    return false;
  t.pass(work * static_cast<std::int64_t>(take));
  return ++next_step_ != steps_->size() || next_fault(t);
}

[[gnu::noinline]] bool fault_batch::section(engine::thread& t, const fault_steps::one& s) {
  if (!s.side.lock->try_exclusive(cpu_, *s.side.stats)) [[unlikely]]
    return false;
  t.pass(work_of(s));
  s.side.lock->unlock_exclusive(cpu_, *s.side.stats);
  return ++next_step_ != steps_->size() || next_fault(t);
}

// Ends a fault. Whether another one follows.
bool fault_batch::next_fault(engine::thread& t) {
  const fault& f = faults_[now_at_];
  const engine::sim_time over = t.now() + f.after;
  const engine::duration spent = over - trapped_;
  exits_.record(spent);
  latency_->record(spent);
  t.print.add(f.print);
  t.print.add(static_cast<std::uint64_t>(over.ps()));
  next_step_ = 0;
  if (++now_at_ == count_) return false;
  const fault& next = faults_[now_at_];
  t.pass(next.gap);
  trapped_ = t.now() - next.since_trap;
  return true;
}

// A lock for which somebody waits needs the fiber.
void fault_batch::step_on_fiber() {
  const fault_steps::one& s = (*steps_)[next_step_];
  engine::thread& t = *cpu_.thread;
  switch (s.kind) {
    case fault_steps::what::take:
      s.side.lock->lock_shared(cpu_, *s.side.stats);
      t.pass(work_of(s));
      break;
    case fault_steps::what::drop:
      s.side.lock->unlock_shared(cpu_, *s.side.stats, t.now() - work_of(s));
      break;
    case fault_steps::what::section:
      s.side.lock->lock_exclusive(cpu_, *s.side.stats);
      t.pass(work_of(s));
      s.side.lock->unlock_exclusive(cpu_, *s.side.stats);
      break;
  }
  if (++next_step_ == steps_->size()) (void)next_fault(t);
}

engine::duration fault_batch::drain() {
  if (count_ == 0) return {};
  engine::thread& t = *cpu_.thread;
  const engine::sim_time ahead = t.now();
  t.turn_back(origin_);
  trapped_ = origin_ - faults_[0].since_trap;
  now_at_ = 0;
  next_step_ = 0;
  for (t.run(*this); now_at_ != count_; t.run(*this)) {
    step_on_fiber();
    if (now_at_ == count_) break;
  }
  t.pass(ahead - last_);
  count_ = 0;
  return t.now() - ahead;
}

}  // namespace hvsim::vcpu
