// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/spinlock.hpp"

#include <stdexcept>

#include "sim/guest/locks/qspinlock.hpp"
#include "sim/guest/locks/test_and_set.hpp"
#include "sim/guest/locks/ticket.hpp"

namespace hvsim::guest {

using engine::duration;
using engine::sim_time;
using sched::account;

namespace {

/// Time that a task has lost to waiting for locks so far.
duration waited(const task& t, sim_time now) {
  const sched::ledger& a = t.exec.accounts();
  return a.in(account::spin) + t.exec.time_off(account::halted, now);
}

template <class Algorithm>
class lock_of final : public spinlock {
 public:
  template <class... Arguments>
  lock_of(const std::string& name, lock_context& shared, Arguments&&... arguments)
      : spinlock(name, shared), lock_(std::forward<Arguments>(arguments)...) {}

 protected:
  void acquire(task_port& p) override { lock_.lock(p); }
  void release(task_port& p) override { lock_.unlock(p); }

 private:
  Algorithm lock_;
};

using made = std::unique_ptr<spinlock>;

template <class Algorithm>
made make_simple(const std::string& name, lock_context& shared, const locks::pv_options&) {
  return std::make_unique<lock_of<Algorithm>>(name, shared);
}

made make_queued(const std::string& name, lock_context& shared, const locks::pv_options&) {
  return std::make_unique<lock_of<locks::qspinlock>>(
      name, shared, shared.nodes, locks::qspinlock_options{shared.pending_loops});
}

made make_pv_ticket(const std::string& name, lock_context& shared, const locks::pv_options& pv) {
  return std::make_unique<lock_of<locks::pv_ticket>>(name, shared, shared.tickets, ++shared.made,
                                                     pv.spin_threshold);
}

made make_pv(const std::string& name, lock_context& shared, const locks::pv_options& pv) {
  return std::make_unique<lock_of<locks::pv_qspinlock>>(name, shared, shared.nodes, shared.hash,
                                                        ++shared.made, pv);
}

}  // namespace

void spinlock::lock(task& t) {
  ++t.preempt_count;
  t.exec.settle();
  const sim_time before = t.exec.fiber().now();
  const duration waited_before = waited(t, before);
  task_port port(t, shared_.machine, shared_.events, while_waiting);
  acquire(port);
  since_ = t.exec.fiber().now();
  stats_.acquired();
  if (waited(t, since_) != waited_before) stats_.waited(since_ - before);
}

void spinlock::unlock(task& t) {
  task_port port(t, shared_.machine, shared_.events);
  t.exec.settle();
  stats_.held(t.exec.fiber().now() - since_);
  release(port);
  if (--t.preempt_count == 0 && t.machine().guest.must_reschedule(t.cpu))
    t.machine().guest.preempt_enabled(t.cpu, t.exec.now());
}

void spinlock::run_under(task& t, duration d) {
  lock(t);
  t.exec.run(account::kernel, d);
  unlock(t);
}

std::vector<lock_kind> register_builtin_guest_locks() {
  return {
      {"test-and-set", "unfair; x86 guests without paravirtual locks",
       make_simple<locks::test_and_set>},
      {"ticket", "first come, first served over one word; Linux before 4.2",
       make_simple<locks::ticket>},
      {"pv-ticket", "the same, waiters sleep and the next one is kicked; Linux 3.12 to 4.1",
       make_pv_ticket},
      {"qspinlock", "pending bit and MCS queue; waiters spin", make_queued},
      {"pv-qspinlock", "queued, waiters sleep and are kicked; stealing as guest.pv says", make_pv},
  };
}

lock_kind find_lock_kind(const std::string& name) {
  for (lock_kind& k : register_builtin_guest_locks())
    if (k.name == name) return k;
  throw std::invalid_argument("no guest lock " + name);
}

}  // namespace hvsim::guest
