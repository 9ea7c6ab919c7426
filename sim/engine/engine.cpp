// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.hpp"

#include <fmt/format.h>

#include <utility>

namespace hvsim::engine {

namespace {
constexpr std::size_t stack_bytes = std::size_t{128} << 10;
constexpr std::uint64_t housekeeping_mask = 0xfff;
/// So many switches at one instant are no work that comes to an end.
constexpr std::uint64_t longest_standstill = 1 << 23;
constexpr std::int64_t last_time = std::int64_t{1} << (63 - thread_id_bits);  // 9,007 s

constexpr std::int64_t ps_per_second = 1'000'000'000'000;

/// Id bits of a horizon at which no thread acts: that of no thread at all, or a limit.
constexpr std::size_t nobody = engine::max_threads - 1;
/// Thrown into a suspended fiber to destroy what lies on its stack.
struct unwound {};
/// A thread that nobody can disturb still looks up as often as this.
constexpr duration longest_run = milliseconds(1);
}  // namespace

time_standstill::time_standstill(const thread& t, const std::string& what)
    : std::runtime_error(fmt::format("virtual time stands still at {}.{:012} s: {} {}, and nothing "
                                     "that it does takes time; a cost of 0 needs a duration",
                                     t.now().ps() / ps_per_second, t.now().ps() % ps_per_second,
                                     what, t.name())) {}

void thread::park(part p, const char* what) {
  waits_for_ = what;
  parked_ = true;
  const sim_time before = now_;
  engine_->dispatch_next();
  parts_[place_of(p)] += now_ - before;
  if (engine_->sharing_ != nullptr) engine_->sharing_->resume(*this);
}

void thread::wait_until(part p, sim_time t) {
  const sim_time before = now_;
  now_ = std::max(now_, t);
  if (key() >= engine_->horizon_)
    engine_->sharing_ == nullptr ? engine_->yield(*this) : engine_->yield_sharing(*this);
  parts_[place_of(p)] += now_ - before;
}

engine::engine(chooser* explore)
    : chooser_(explore),
      unusual_(explore != nullptr),
      host_(new thread(*this, max_threads - 1, "host", sim_time{})) {
  slots_.push_back({nullptr, host_.get(), nullptr, nullptr});
}

engine::~engine() {
  for (auto& t : threads_) unwind(*t);
}

thread& engine::spawn(std::string name, sim_time start, std::function<void(thread&)> body,
                      bool daemon) {
  // The last id is the host context's.
  if (threads_.size() + 1 >= max_threads)
    throw too_many_threads(
        fmt::format("more than {} simulated threads (vCPUs of all VMs, tasks of guests, main "
                    "threads) in one run",
                    max_threads - 1));
  const auto id = static_cast<std::uint32_t>(threads_.size());
  threads_.push_back(std::unique_ptr<thread>(
      new thread(*this, id, std::move(name), start, stack_bytes, std::move(body))));
  thread& t = *threads_.back();
  t.daemon_ = daemon;
  if (!daemon) ++live_;
  const boost::context::stack_context& stack = t.stack_.context();
  t.notes_.describe(stack);
  slots_.push_back({boost::context::detail::make_fcontext(stack.sp, stack.size, first_entry), &t,
                    nullptr, nullptr});
  if (ready_.capacity() < threads_.size()) {
    ready_tree grown(threads_.size());
    for (const auto& other : threads_)
      if (other->id() < ready_.capacity()) grown.insert(other->id(), ready_.get(other->id()));
    ready_ = std::move(grown);
  }
  ready_.insert(id, t.key());
  if (running_) horizon_ = 0;
  return t;
}

inline void engine::switch_to(thread& next) {
  thread* const self = current_;
  came_from_ = self;
  current_ = &next;
  if ((++switches_ & housekeeping_mask) == 0) [[unlikely]]
    housekeeping();
  self->notes_.leave(next.notes_, false);
  const transfer_t from = switch_context(slots_[slot_of(next.id_)].context, this);
  self->notes_.arrive(came_from_->notes_);
  slots_[slot_of(came_from_->id_)].context = from.fctx;
}

void engine::arrive(transfer_t from) {
  current_->notes_.arrive(came_from_->notes_);
  slots_[slot_of(came_from_->id_)].context = from.fctx;
}

void engine::first_entry(transfer_t from) {
  engine& e = *static_cast<engine*>(from.data);
  e.arrive(from);
  thread& t = *e.current_;
  t.started_ = true;
  try {
    if (!e.unwinding_) t.body_(t);
  } catch (const unwound&) {
  } catch (...) {
    if (!e.failure_) e.failure_ = std::current_exception();
    e.unusual_ = true;
  }
  e.finish(t);
}

transfer_t engine::throw_unwound(transfer_t from) {
  static_cast<engine*>(from.data)->arrive(from);
  throw unwound{};
}

void engine::run() {
  running_ = true;
  if (live_ == 0) return;
  current_ = host_.get();
  host_->notes_.describe_host();
  switch_to(*next_thread());
  for (auto& t : threads_) unwind(*t);  // daemons; after a failure all
  if (failure_) std::rethrow_exception(failure_);
}

void engine::unwind(thread& t) {
  if (t.done_) return;
  const fcontext_t context = slots_[slot_of(t.id_)].context;
  unwinding_ = true;
  came_from_ = host_.get();
  current_ = &t;
  host_->notes_.describe_host();
  host_->notes_.leave(t.notes_, false);
  if (t.started_) {
    (void)boost::context::detail::ontop_fcontext(context, this, throw_unwound);
  } else {
    (void)switch_context(context, this);
  }
  host_->notes_.arrive(t.notes_);
}

void engine::housekeeping() {
  if (heartbeat_) heartbeat_();
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed) && !failure_) {
    failure_ = std::make_exception_ptr(interrupted("stopped by request"));
  } else if (current_->now_.ps() > last_time && !failure_) {
    failure_ = std::make_exception_ptr(time_overflow("a run passed 9,000 s of virtual time"));
  } else if (current_->now_ != still_at_ || exploring()) {
    still_at_ = current_->now_;
    still_since_ = switches_;
  } else if (switches_ - still_since_ >= longest_standstill && !failure_) {
    failure_ =
        std::make_exception_ptr(time_standstill(*current_, "threads take turns, the last of them"));
  }
  unusual_ = unusual_ || failure_ != nullptr;
}

thread* engine::choose(std::uint32_t current) {
  runnable_.clear();
  for (const auto& t : threads_)
    if (!t->done_ && !t->parked_) runnable_.push_back(t->id_);
  if (runnable_.empty()) return nullptr;
  return threads_[runnable_[chooser_->pick(runnable_, current)]].get();
}

inline void engine::warm_up(const slot& s) const {
  constexpr int line = 64;
  constexpr int thread_lines = 2;
  constexpr int stack_lines = 7;
  const char* const t = reinterpret_cast<const char*>(s.who);
  for (int i = 0; i < thread_lines; ++i) __builtin_prefetch(t + i * line, 1);
  const char* const stack = static_cast<const char*>(s.context);
  for (int i = 0; i < stack_lines; ++i) __builtin_prefetch(stack + i * line, 1);
}

void thread::run(errand& e) {
  do {
    if (key() >= engine_->horizon_) {
      engine_->run_errand(*this, e);
      return;
    }
  } while (e.step(*this));
}

// Errands of the kinds that have no loop of their own.
std::size_t engine::turns_of_any(engine& e, std::size_t id) {
  e.horizon_ = e.ready_.remove(id);
  for (;;) {
    slot& s = e.slots_[slot_of(id)];
    if (s.loop != turns_of_any) return id;
    if (!s.steps->step(*s.who)) {
      s.steps = nullptr;
      s.loop = nullptr;
      return id;
    }
    const event_key key = s.who->key();
    if (key < e.horizon_) continue;
    e.ready_.insert(id, key);
    id = e.ready_.top() & (max_threads - 1);
    e.horizon_ = e.ready_.remove(id);
  }
}

// Lets `id`, which is next, and those after it take their turns, until one needs its fiber. Leaves
// the horizon of the thread that it returns.
inline std::size_t engine::take_turns(std::size_t id) {
  for (;;) {
    const errand::turns loop = slots_[slot_of(id)].loop;
    if (loop == nullptr) break;
    id = loop(*this, id);
  }
  horizon_ = ready_.remove(id);
  return id;
}

void engine::run_errand(thread& self, errand& e) {
  if (unusual_) [[unlikely]] {
    do self.sync();
    while (e.step(self));
    return;
  }
  slot& s = slots_[slot_of(self.id_)];
  s.steps = &e;
  s.loop = e.loop() == nullptr ? turns_of_any : e.loop();
  yield(self);
}

void engine::yield(thread& self) {
  if (unusual_) [[unlikely]] {
    yield_unusual(self);
    return;
  }
  ready_.insert(self.id_, self.key());
  // Whoever the horizon names is next; that it need not be looked up here keeps the update of the
  // tree off the path on which the next fiber waits.
  std::size_t id = horizon_ & (max_threads - 1);
  if (horizon_ == 0 || id == nobody) [[unlikely]]
    id = ready_.top() & (max_threads - 1);
  id = take_turns(id);
  if (id == self.id_) [[unlikely]] {
    run_on(self);
    return;
  }
  // Whoever is next after the next one will most likely run soon.
  warm_up(slots_[slot_of(horizon_ & (max_threads - 1))]);
  switch_to(*slots_[slot_of(id)].who);
}

// Nobody is earlier.
void engine::run_on(thread& self) {
  const event_key next = ready_.top();
  const event_key limit = self.key() + (static_cast<event_key>(longest_run.ps()) << thread_id_bits);
  horizon_ = next;
  if (next <= limit) return;
  horizon_ = limit | nobody;
  housekeeping();
  if (unusual_) yield_unusual(self);
}

void engine::yield_unusual(thread& self) {
  if (failure_) switch_to(*host_);
  if (sharing_ != nullptr) {
    sharing_->settle(self);
    return;
  }
  thread* next = choose(self.id_);
  if (next != &self) switch_to(*next);
}

// As yield, in order of time, but the horizon stays unknown.
void engine::yield_sharing(thread& self) {
  if (failure_) switch_to(*host_);
  ready_.insert(self.id_, self.key());
  const std::size_t id = ready_.top() & (max_threads - 1);
  (void)ready_.remove(id);
  if (id != self.id_) {
    switch_to(*slots_[slot_of(id)].who);
  } else if ((++lone_yields_ & housekeeping_mask) == 0) {
    housekeeping();
  }
}

thread* engine::next_thread() {
  if (chooser_ != nullptr) {
    horizon_ = 0;
    return choose(chooser::no_thread);
  }
  if (ready_.top() == never) return nullptr;
  const std::size_t id = take_turns(ready_.top() & (max_threads - 1));
  horizon_ = 0;  // so that its first sync looks whether anybody else is left
  return slots_[slot_of(id)].who;
}

void engine::dispatch_next() {
  if (failure_) [[unlikely]]
    switch_to(*host_);
  thread* next = next_thread();
  if (next == nullptr) report_deadlock();
  switch_to(*next);
}

void engine::finish(thread& self) {
  self.done_ = true;
  if (!self.daemon_) --live_;
  thread* next = host_.get();
  if (!failure_ && !unwinding_ && live_ != 0) {
    next = next_thread();
    if (next == nullptr) {
      try {
        report_deadlock();
      } catch (...) {
        failure_ = std::current_exception();
        unusual_ = true;
      }
      next = host_.get();
    }
  }
  came_from_ = &self;
  current_ = next;
  self.notes_.leave(next->notes_, true);
  (void)switch_context(slots_[slot_of(next->id_)].context, this);
  __builtin_unreachable();  // nobody comes back here
}

void engine::wake(thread& sleeper, sim_time t) {
  sleeper.parked_ = false;
  sleeper.now_ = std::max(sleeper.now_, t);
  ready_.insert(sleeper.id_, sleeper.key());
  if (sharing_ != nullptr) sharing_->woken(sleeper);
  if (chooser_ == nullptr) horizon_ = std::min(horizon_, sleeper.key());
}

void engine::wake_owner(thread& sleeper, sim_time t) {
  if (sharing_ != nullptr) {  // it may have no CPU
    wake(sleeper, t);
    return;
  }
  sleeper.parked_ = false;
  sleeper.now_ = std::max(sleeper.now_, t);
  ready_.insert(sleeper.id_, sleeper.id_);  // before everything that has a time
  horizon_ = 0;
}

void engine::move_wait(thread& waiter, sim_time t) {
  waiter.now_ = t;
  (void)ready_.replace(waiter.id_, waiter.key());
  if ((horizon_ & (max_threads - 1)) == waiter.id_) horizon_ = 0;
  if (chooser_ == nullptr) horizon_ = std::min(horizon_, waiter.key());
}

void engine::report_deadlock() const {
  std::string message = "deadlock: no simulated thread can run;";
  for (const auto& t : threads_)
    if (!t->done_ && !t->daemon_)
      message +=
          fmt::format(" {} waits for {} since {} ps;", t->name_, t->waits_for_, t->now_.ps());
  throw deadlock_error(message);
}

}  // namespace hvsim::engine
