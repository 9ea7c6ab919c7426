// SPDX-License-Identifier: Apache-2.0
#include "sim/sched/shared_cpus.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace hvsim::sched {

using engine::duration;
using engine::sim_time;

/// A thread as its scheduler sees it. Its fiber executes code while the thread has a CPU, and goes
/// on to its next settle when its own act takes the CPU away.
class shared_cpus::member final : public entity {
 public:
  member(shared_cpus& owner, engine::thread& t, placed on_placed)
      : fiber(t), settled(t.now()), owner_(owner), on_placed_(std::move(on_placed)) {}

  void ready(sim_time) override {}
  void start(sim_time t, sim_time from) override {
    running = true;
    from_ = from;
    on_placed_(cpu);
    if (waiting_) move_end(from + remaining_);
    for (engine::cpu_listener* l : listeners) l->cpu_got(fiber, t);
  }
  void stop(sim_time t, off_cpu reason) override {
    running = false;
    if (waiting_) {
      remaining_ = end_ - std::max(t, from_);
      move_end(end_of_time);
    }
    if (pausing_ != nullptr) {
      std::exchange(pausing_, nullptr)->cpu_lost(fiber, t);
      fiber.owner().move_wait(fiber, t);
    }
    if (!listeners.empty() && reason == off_cpu::preempted) ++owner_.holder_preemptions_;
    for (engine::cpu_listener* l : listeners) l->cpu_lost(fiber, t);
  }
  [[nodiscard]] bool preemptible() const override {
    return not_preemptible == 0 || owner_.how_ == preemption::blind;
  }

  void settle() {
    const duration work = fiber.now() - settled;
    remaining_ = work;
    end_ = running ? std::min(std::max(from_, settled) + work, end_of_time) : end_of_time;
    waiting_ = true;
    fiber.wait_until(engine::part::steal, end_);
    waiting_ = false;
    if (fiber.now() >= end_of_time)
      throw engine::deadlock_error("deadlock: " + fiber.name() + " waits and nobody runs");
    settled = fiber.now();
  }
  /// Settles if it has no CPU at its own time.
  void resume() {
    settled = fiber.now();
    if (!running || from_ > settled) settle();
  }
  void wait_on_cpu(engine::part p, sim_time end, engine::cpu_listener& pausing) {
    pausing_ = &pausing;
    fiber.wait_until(p, end);
    pausing_ = nullptr;
    settled = fiber.now();
  }

  engine::thread& fiber;
  sim_time settled;  ///< up to here the work is done
  bool running = false;
  std::uint32_t not_preemptible = 0;
  std::vector<engine::cpu_listener*> listeners;

 private:
  void move_end(sim_time end) {
    end_ = std::min(end, end_of_time);
    fiber.owner().move_wait(fiber, end_);
  }

  shared_cpus& owner_;
  placed on_placed_;
  sim_time from_;       // begin of this stretch on the CPU
  sim_time end_;        // of the work, while on the CPU
  duration remaining_;  // of the work, while off the CPU
  bool waiting_ = false;
  engine::cpu_listener* pausing_ = nullptr;
};

shared_cpus::shared_cpus(engine::engine& e, scheduler& hosts, preemption how)
    : engine_(e), scheduler_(hosts), how_(how) {
  engine_.share_cpus(*this);
}

shared_cpus::~shared_cpus() = default;

sim_time shared_cpus::clock() const {
  const engine::thread& t = engine_.current();
  const member* const m = find(t);
  return m == nullptr ? t.now() : m->settled;
}

void shared_cpus::add(engine::thread& t, cpu_range allowed, placed on_placed) {
  if (t.id() >= members_.size()) members_.resize(t.id() + std::size_t{1});
  members_[t.id()] = std::make_unique<member>(*this, t, std::move(on_placed));
  member& m = *members_[t.id()];
  m.allowed = allowed;
  scheduler_.add(m, cpu_index{allowed.first}, t.now());
}

void shared_cpus::remove(engine::thread& t) {
  member& m = *find(t);
  if (!m.running || t.now() > m.settled) m.settle();
  scheduler_.block(m, m.settled);
}

void shared_cpus::settle(engine::thread& t) {
  if (member* const m = find(t)) {
    m->settle();
  } else {
    t.wait_until(engine::part::idle, t.now());
  }
}

void shared_cpus::resume(engine::thread& t) {
  if (member* const m = find(t)) m->resume();
}

void shared_cpus::woken(engine::thread& sleeper) {
  member* const m = find(sleeper);
  if (m == nullptr || m->state != entity_state::blocked) return;
  const member* const waker = find(engine_.current());
  scheduler_.wake(*m, waker == nullptr ? m->cpu : waker->cpu, clock());
}

void shared_cpus::wait_on_cpu(engine::thread& t, engine::part p, sim_time end,
                              engine::cpu_listener& pausing) {
  if (member* const m = find(t)) {
    m->wait_on_cpu(p, end, pausing);
  } else {
    t.wait_until(p, end);
  }
}

void shared_cpus::sleep(engine::thread& t) {
  member* const m = find(t);
  if (m == nullptr) return;
  if (!m->running) throw std::logic_error(t.name() + " sleeps and has not settled");
  scheduler_.block(*m, m->settled);
}

void shared_cpus::disable_preemption(engine::thread& t) {
  if (member* const m = find(t)) ++m->not_preemptible;
}

void shared_cpus::enable_preemption(engine::thread& t) {
  member* const m = find(t);
  if (m == nullptr || --m->not_preemptible != 0 || !m->running) return;
  scheduler_.preempt_enabled(m->cpu, m->settled);
}

bool shared_cpus::must_reschedule(const engine::thread& t) const {
  const member* const m = find(t);
  return m != nullptr && m->running && scheduler_.must_reschedule(m->cpu);
}

bool shared_cpus::listen(engine::thread& t, engine::cpu_listener& l) {
  member* const m = find(t);
  if (m == nullptr) return true;
  if (std::find(m->listeners.begin(), m->listeners.end(), &l) != m->listeners.end()) return false;
  m->listeners.push_back(&l);
  if (!m->running) {
    if (m->state == entity_state::runnable) ++handed_off_cpu_;
    l.cpu_lost(t, clock());
  }
  return true;
}

void shared_cpus::stop_listening(engine::thread& t, engine::cpu_listener& l) {
  member* const m = find(t);
  if (m == nullptr) return;
  std::erase(m->listeners, &l);
  if (!m->running) l.cpu_got(t, clock());
}

}  // namespace hvsim::sched
