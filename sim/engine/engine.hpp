// SPDX-License-Identifier: Apache-2.0
// The engine: simulated threads as fibers, ordered by virtual time.
//
// Lazy local time: a thread adds to its own clock with `advance` and goes on running until it is
// about to touch something that another thread may touch. It then calls `sync`, which returns at
// once if no other thread has an earlier event, and otherwise lets the earliest thread run first.
// Work between two syncs must be private; who may skip a sync, and why, is decided by sim/access.
//
// In explore mode the same calls let a `chooser` decide who moves at every sync, so that code is
// explored under orders that virtual time would never produce.
//
// One engine belongs to one host thread. Several engines may run on several host threads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/engine/cpu_sharing.hpp"
#include "sim/engine/fiber.hpp"
#include "sim/engine/fingerprint.hpp"
#include "sim/engine/observer.hpp"
#include "sim/engine/parts.hpp"
#include "sim/engine/ready_tree.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::engine {

class engine;
class thread;

/// Every thread is parked and none can be woken. The message names each thread and what it waits
/// for.
class deadlock_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A run needs more simulated threads than event keys have numbers for.
class too_many_threads : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller's stop flag was seen.
class interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Virtual time passed the end of what an event key can hold (about 9,000 s).
class time_overflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Threads act and act and no time passes: what they wait for lies ahead of a clock that does not
/// move. The message names the time and a thread.
class time_standstill : public std::runtime_error {
 public:
  /// `what`: what goes on without taking time.
  time_standstill(const thread& t, const std::string& what);
};

/// Decides who moves in explore mode. Called on the engine's host thread.
class chooser {
 public:
  virtual ~chooser() = default;
  /// Returns an index into `runnable` (thread ids, ascending, never empty). `current` is the thread
  /// that called sync, or `no_thread` when it parked or ended.
  virtual std::size_t pick(std::span<const std::uint32_t> runnable, std::uint32_t current) = 0;
  static constexpr std::uint32_t no_thread = ~0U;
};

/// A thread's next shared steps, with only private time between them, that need no stack of their
/// own: the engine carries them out at the thread's turns without switching to its fiber. What
/// happens, and in which order, is the same as if the fiber had called `sync` before each step.
class errand {
 public:
  /// Lets the thread of number `id`, which is next, and those after it take their turns, as long as
  /// their errands are of one kind. Returns whose turn it is then; that thread may still be among
  /// those that wait.
  using turns = std::size_t (*)(engine&, std::size_t id);

  errand(const errand&) = delete;
  errand& operator=(const errand&) = delete;

  /// Carries out the next step, at the time of `t` and with nobody earlier, and advances the clock
  /// to the one after it. False: the fiber goes on now. Must not sync, park or throw; called on any
  /// fiber of the engine.
  virtual bool step(thread& t) = 0;
  /// Null for a kind without a loop of its own.
  [[nodiscard]] turns loop() const { return loop_; }

 protected:
  /// `loop`: engine::turns_of<E> of a kind whose steps are worth inlining.
  explicit errand(turns loop = nullptr) : loop_(loop) {}
  ~errand() = default;

 private:
  turns loop_;
};

/// A simulated thread. Only its own fiber calls the non-const members, except `engine::wake`.
class alignas(64) thread {
 public:
  thread(const thread&) = delete;
  thread& operator=(const thread&) = delete;

  [[nodiscard]] sim_time now() const { return now_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] engine& owner() const { return *engine_; }
  [[nodiscard]] duration time_in(part p) const { return parts_[place_of(p)]; }
  /// Time in every part, by number.
  [[nodiscard]] std::array<duration, part_count> parts() const {
    std::array<duration, part_count> all{};
    for (std::size_t p = 0; p < part_count; ++p) all[p] = time_in(static_cast<part>(p));
    return all;
  }

  /// Spends private time.
  void advance(part p, duration d) {
    now_ += d;
    parts_[place_of(p)] += d;
  }

  /// Books time that `pass` or `pass_until` spends. `place`: place_of its part.
  void book_at(std::size_t place, duration d) { parts_[place] += d; }

  /// Time that was booked as `from` was spent for `to`.
  void rebook(part from, part to, duration d) {
    parts_[place_of(from)] -= d;
    parts_[place_of(to)] += d;
  }

  /// Spends time until `t`; nothing when `t` is past.
  void advance_to(part p, sim_time t) {
    if (t > now_) advance(p, t - now_);
  }

  /// Returns when no other thread can act before this one's time. Call before any read or write
  /// of state that another thread may touch.
  inline void sync();

  /// Syncs, and carries out the steps of `e` until one returns false. The thread then has the turn,
  /// as after `sync`.
  void run(errand& e);

  /// Spends time that is booked already.
  void pass(duration d) { now_ += d; }
  void pass_until(sim_time t) { now_ = t; }
  /// Sets the clock back over private time, which `pass` must spend again.
  void turn_back(sim_time t) { now_ = t; }

  /// Gives up the processor until another thread calls `engine::wake`; the time that passes is
  /// booked as `p`. `what` names the resource in a deadlock report (a string literal).
  void park(part p, const char* what);

  /// Waits until `t`, unless `engine::wake` moves the end of the wait; the time that passes is
  /// booked as `p`.
  void wait_until(part p, sim_time t);

  /// Hash over this thread's events.
  fingerprint print;

 private:
  friend class engine;
  thread(engine& e, std::uint32_t id, std::string name, sim_time start)
      : now_(start), engine_(&e), id_(id), name_(std::move(name)) {}
  thread(engine& e, std::uint32_t id, std::string name, sim_time start, std::size_t stack,
         std::function<void(thread&)> body)
      : now_(start),
        engine_(&e),
        id_(id),
        stack_(stack, id),
        body_(std::move(body)),
        name_(std::move(name)) {}
  [[nodiscard]] event_key key() const {
    return (static_cast<event_key>(now_.ps()) << thread_id_bits) | id_;
  }

  sim_time now_;
  engine* engine_;
  std::uint32_t id_;
  bool parked_ = false;
  bool done_ = false;
  bool daemon_ = false;
  bool started_ = false;
  std::array<duration, part_count> parts_{};  // see place_of
  const char* waits_for_ = "";
  stack_notes notes_;
  coloured_stack stack_;
  std::function<void(thread&)> body_;
  std::string name_;
};

/// See the head of this file.
class engine {
 public:
  static constexpr std::size_t max_threads = std::size_t{1} << thread_id_bits;

  /// With a chooser the engine is in explore mode. The chooser must outlive the engine.
  explicit engine(chooser* explore = nullptr);
  ~engine();
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;

  /// Adds a thread that starts at `start`. Before or during `run`. A daemon does not keep the run
  /// alive. Throws too_many_threads beyond max_threads.
  thread& spawn(std::string name, sim_time start, std::function<void(thread&)> body,
                bool daemon = false);

  /// Runs until every thread but the daemons has ended. Throws what a body threw, deadlock_error,
  /// interrupted or time_overflow. Call once.
  void run();

  /// Makes a parked thread runnable at `t` or at its own time, whichever is later. Called from the
  /// fiber of the thread that runs now, with `t` not before that thread's time.
  void wake(thread& sleeper, sim_time t);

  /// As `wake`, for a thread whose next stretch of work is protected by a lock that it now owns:
  /// nobody else can see or change what it touches before its next sync, so it may run at once
  /// although its clock is ahead.
  void wake_owner(thread& sleeper, sim_time t);

  /// Moves the end of another thread's `wait_until` to `t`, earlier or later. Called from the fiber
  /// of the thread that runs now, with `t` not before that thread's time.
  void move_wait(thread& waiter, sim_time t);

  /// Of errands of class E, for their constructor. E::look says what the next step is, as an
  /// E::next_step that holds until the thread's turn, E::step(thread, next_step) takes it, and
  /// E::may_wake(next_step) says whether it might wake another thread.
  template <class E>
  static std::size_t turns_of(engine& e, std::size_t id);

  /// Whether `t` is parked.
  [[nodiscard]] static bool parked(const thread& t) { return t.parked_; }
  /// Whether the body of `t` has returned.
  [[nodiscard]] static bool ended(const thread& t) { return t.done_; }

  /// Who is told about shared steps; null, the usual case, for nobody. Must outlive the run.
  void observe(observer* watcher) {
    observer_ = watcher;
    tracked_ = watcher != nullptr || sharing_ != nullptr;
  }
  [[nodiscard]] observer* watcher() const { return observer_; }

  /// Who schedules threads that share CPUs; never called in the usual case. Not together with a
  /// chooser. Before `run`; must outlive it.
  void share_cpus(cpu_sharing& s) {
    sharing_ = &s;
    tracked_ = true;
    unusual_ = true;
    horizon_ = 0;  // and stays so: every sync settles
  }
  /// Null in the usual case.
  [[nodiscard]] cpu_sharing* sharing() const { return sharing_; }
  /// Whether locks have anybody to tell: an observer, or a scheduler of shared CPUs.
  [[nodiscard]] bool tracked() const { return tracked_; }

  /// Earliest time at which any thread but the running one may act; the end of time if none can.
  [[nodiscard]] sim_time horizon() const {
    const event_key known = horizon_ == 0 ? ready_.top() : horizon_;
    return sim_time{static_cast<std::int64_t>(std::min(known, never >> 1) >> thread_id_bits)};
  }

  [[nodiscard]] bool exploring() const { return chooser_ != nullptr; }
  [[nodiscard]] thread& current() const { return *current_; }
  [[nodiscard]] const std::vector<std::unique_ptr<thread>>& threads() const { return threads_; }

  /// Switches between fibers so far.
  [[nodiscard]] std::uint64_t switches() const { return switches_; }

  /// `stop` is read at some switches; when true the run throws `interrupted`.
  void set_stop_flag(const std::atomic<bool>* stop) { stop_ = stop; }

  /// Called on the engine's host thread about every 2^16 switches, and by a thread that has nobody
  /// to switch to once a millisecond of its time.
  void set_heartbeat(std::function<void()> beat) { heartbeat_ = std::move(beat); }

 private:
  friend class thread;
  struct slot {  // what a switch needs, close together
    fcontext_t context = nullptr;
    thread* who = nullptr;
    errand* steps = nullptr;       // what the thread does at its next turns, if not its fiber's
    errand::turns loop = nullptr;  // of steps
  };
  [[nodiscard]] static std::size_t slot_of(std::uint64_t id) { return (id + 1) % max_threads; }
  void yield(thread& self);
  void run_errand(thread& self, errand& e);
  std::size_t take_turns(std::size_t id);
  static std::size_t turns_of_any(engine& e, std::size_t id);
  template <class E, unsigned Depth>
  static std::size_t turns_at_depth(engine& e, std::size_t id);
  void yield_unusual(thread& self);
  void yield_sharing(thread& self);
  void run_on(thread& self);
  void warm_up(const slot& s) const;
  thread* next_thread();
  void dispatch_next();
  [[gnu::always_inline]] inline void switch_to(thread& next);
  void arrive(transfer_t from);
  static void first_entry(transfer_t from);
  static transfer_t throw_unwound(transfer_t from);
  void unwind(thread& t);
  [[noreturn]] void finish(thread& self);
  thread* choose(std::uint32_t current);
  void housekeeping();
  [[noreturn]] void report_deadlock() const;

  // Nobody else acts before; zero while that is not known, which a sync finds out.
  event_key horizon_ = never;
  observer* observer_ = nullptr;
  bool tracked_ = false;
  ready_tree ready_;  // of the threads that wait for their turn: neither parked ones nor current_
  thread* current_ = nullptr;
  thread* came_from_ = nullptr;
  chooser* chooser_;
  bool unusual_;  // exploring, sharing CPUs, or about to end by an exception
  std::uint64_t switches_ = 0;
  std::vector<slot> slots_;  // the host context's, then by id
  std::size_t live_ = 0;
  std::vector<std::unique_ptr<thread>> threads_;
  std::vector<std::uint32_t> runnable_;
  std::unique_ptr<thread> host_;
  std::exception_ptr failure_;
  const std::atomic<bool>* stop_ = nullptr;
  std::function<void()> heartbeat_;
  cpu_sharing* sharing_ = nullptr;
  std::uint64_t lone_yields_ = 0;
  sim_time still_at_;              // of the current thread at the last housekeeping,
  std::uint64_t still_since_ = 0;  // and since which switch
  bool running_ = false;
  bool unwinding_ = false;  // fibers that have not ended are being destroyed
};

// One turn hangs on another as little as possible, so that the host can work on several at a time:
// beside the thread whose turn it is, the next one is out of the tree, too, and what its step will
// be is looked up; the one after that is the smallest key in the tree or the thread's own new one.
template <class E>
std::size_t engine::turns_of(engine& e, std::size_t id) {
  constexpr unsigned usual = 3;  // 17 to 64 threads
  return e.ready_.depth() == usual ? turns_at_depth<E, usual>(e, id)
                                   : turns_at_depth<E, ready_tree::any_depth>(e, id);
}

template <class E, unsigned Depth>
std::size_t engine::turns_at_depth(engine& e, std::size_t id) {
  constexpr std::size_t id_mask = max_threads - 1;
  slot* const slots = e.slots_.data();
  const auto look = [](const slot& s) { return static_cast<E*>(s.steps)->look(); };
  slot* s = slots + slot_of(id);
  const errand::turns mine = s->loop;
  event_key next = e.horizon_ = e.ready_.remove<Depth>(id);
  event_key rest = e.ready_.remove_key<Depth>(next);
  typename E::next_step step = look(*s);
  for (;;) {
    slot* const s_next = slots + slot_of(next & id_mask);
    const bool alike = s_next->loop == mine;
    typename E::next_step step_of_next = step;
    if (alike) [[likely]]
      step_of_next = look(*s_next);
    thread& t = *s->who;
    if (!static_cast<E*>(s->steps)->step(t, step)) [[unlikely]] {
      s->steps = nullptr;
      s->loop = nullptr;
      e.ready_.insert_key(next);
      return id;
    }
    const event_key key = t.key();
    if (E::may_wake(step) && (e.horizon_ != next || e.ready_.top() != rest)) [[unlikely]] {
      e.ready_.insert_key(next);
      e.ready_.insert_key(key);
      return e.ready_.top() & id_mask;
    }
    if (key < next) {
      step = look(*s);
      continue;
    }
    e.ready_.insert<Depth>(id, key);
    id = next & id_mask;
    next = e.horizon_ = ready_tree::smaller(rest, key);
    if (!alike) [[unlikely]]
      return id;
    rest = e.ready_.remove_key<Depth>(next);
    s = s_next;
    step = step_of_next;
  }
}

// Keys differ, so equality means a horizon of 0 (exploring): thread 0 at time 0 yields as well.
inline void thread::sync() {
  if (key() >= engine_->horizon_) [[unlikely]]
    engine_->yield(*this);
}

}  // namespace hvsim::engine
