// SPDX-License-Identifier: Apache-2.0
// A simulated thread that needs a CPU to get on, while schedulers give it one and take it away.
#pragma once

#include <utility>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/wide.hpp"
#include "sim/sched/accounts.hpp"
#include "sim/sched/timers.hpp"
#include "sim/sched/warmth.hpp"

namespace hvsim::sched {

/// Consumes CPU time on behalf of one fiber.
///
/// The fiber calls `run`, which only notes the work, and `settle` before it looks at anything that
/// another thread may change: `settle` returns when the noted work is done, however often the CPU
/// was taken away meanwhile. The fiber must reach virtual time in no other way.
///
/// On a cold CPU noted work takes longer, which goes to the account of that work. Spinning warms a
/// CPU and is not slower.
///
/// `on` and `off` are called by whoever schedules, with times that do not go back. A fiber that
/// executes code has its CPU; if it loses it by its own act, it stops at its next `settle`.
class execution {
 public:
  /// Work is noted from the fiber's own time on. Starts off the CPU, in account `blocked`.
  void attach(engine::thread& fiber);
  [[nodiscard]] engine::thread& fiber() const { return *fiber_; }

  // Called by the fiber.
  /// Notes work.
  void run(account a, engine::duration d) {
    pending_ += d;
    if (a == account::user) user_ += d;
    note(a, d);
    accounts_.book(a, d);
  }
  /// Does the noted work. Afterwards `fiber().now()` is the time, and every thread with an earlier
  /// time has moved.
  void settle();
  /// Settles, then spends CPU time as `a` until poked, at most `limit`. Returns the CPU time spent.
  engine::duration spin(account a, engine::duration limit);
  /// Settles; `now` is then exact.
  engine::sim_time now() {
    settle();
    return fiber_->now();
  }
  /// The work noted and not done yet.
  [[nodiscard]] engine::duration pending() const { return pending_; }

  // Called by schedulers and by writers of watched words.
  /// Has a CPU again, decided at `t`; gets on from `from` on, `t` to `from` being the switch.
  /// `cpu`: how warm that CPU is, for always the same kind of CPU null or not; nullptr: warm.
  void on(engine::sim_time t, engine::sim_time from, warmth* cpu = nullptr);
  /// Has none from `t` on, and books its time as `why`.
  void off(engine::sim_time t, account why);
  /// Off the CPU for another reason from `t` on.
  void off_because(engine::sim_time t, account why);
  /// Ends `spin` when `look` more CPU time is spent; nothing if the fiber does not spin.
  void poke(engine::sim_time t, engine::duration look);
  /// Makes the work longer by what an interrupt takes.
  void interrupt(account a, engine::duration d);

  [[nodiscard]] bool running() const { return running_; }
  /// CPU time that the present wait has spent by `t`, of `settle` or `spin`.
  [[nodiscard]] engine::duration spent(engine::sim_time t) const {
    return running_ && t > from_ ? spent_ + (t - from_) : spent_;
  }
  /// Parts of the work that the fiber does now, or has noted, in account `user`: of 1024.
  [[nodiscard]] std::int64_t user_share() const {
    const engine::duration all = waiting_ ? work_ : pending_;
    if (all == engine::duration{}) return 0;
    return static_cast<std::int64_t>(static_cast<engine::wide>(user_.ps()) * 1024 /
                                     static_cast<engine::wide>(all.ps()));
  }
  /// Complete when the fiber has settled last; else what is off the CPU now is missing.
  [[nodiscard]] const ledger& accounts() const { return accounts_; }
  /// Time off the CPU for `why` until `t`, with what is going on now.
  [[nodiscard]] engine::duration time_off(account why, engine::sim_time t) const;

 private:
  struct piece {
    account a;
    engine::duration work;
  };
  void wait(engine::duration work);
  void move_end(engine::sim_time end);
  /// Pieces of work are kept only where a cold CPU may make them longer.
  void note(account a, engine::duration d) {
    if (cpu_ == nullptr || spinning_) return;
    if (pieces_.empty() || pieces_.back().a != a) pieces_.push_back({a, {}});
    pieces_.back().work += d;
  }
  [[nodiscard]] engine::sim_time end_of_work() const;
  void stretch_over(engine::sim_time t);
  void book_slowness(engine::duration done, engine::duration longer);

  engine::thread* fiber_ = nullptr;
  ledger accounts_;
  engine::duration pending_;
  engine::duration user_;         // part of what is pending or being done
  engine::duration work_;         // of the wait, in all
  engine::duration remaining_;    // of the wait, at the begin of this stretch or off the CPU
  engine::duration spent_;        // of the wait, until the last `off`
  engine::duration interrupted_;  // part of what the wait spends
  engine::sim_time end_;          // of the wait, while on the CPU
  engine::sim_time from_;         // begin of this stretch on the CPU
  engine::sim_time off_since_;
  warmth* cpu_ = nullptr;      // of the CPU that it has or had
  std::vector<piece> pieces_;  // of the noted work and of the wait's, in order
  std::size_t piece_ = 0;      // the first that is not done
  account off_why_ = account::blocked;
  bool running_ = false;
  bool waiting_ = false;
  bool spinning_ = false;
};

}  // namespace hvsim::sched
