// SPDX-License-Identifier: Apache-2.0
// A lock port without time: an explorer chooses who moves at every access.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/guest/locks/lock_port.hpp"

namespace guest_test {

namespace locks = hvsim::guest::locks;

/// Wrong on purpose.
enum class planted { nothing, kick_before_store, wait_without_look };

/// What the ports of one run share.
struct explored_world {
  explicit explored_world(std::uint32_t cpus) : kicked(cpus, false), asleep(cpus, nullptr) {}
  struct waiter {
    hvsim::engine::thread* who;
    locks::word* where;
    locks::condition until;
  };
  std::vector<waiter> waiters;
  std::vector<bool> kicked;
  std::vector<hvsim::engine::thread*> asleep;
  planted bug = planted::nothing;
  bool keeps_kicks = false;  ///< as KVM's pv_unhalted
};

class explore_port {
 public:
  explore_port(explored_world& w, hvsim::engine::thread& t, locks::cpu_number cpu)
      : world_(w), t_(t), cpu_(cpu) {}

  [[nodiscard]] locks::cpu_number cpu() const { return cpu_; }
  std::uint32_t load(locks::word& w) {
    t_.sync();
    return w.value;
  }
  void store(locks::word& w, std::uint32_t bits, std::uint32_t mask) {
    if (world_.bug == planted::kick_before_store && bits == 0 && mask == 0xff && kick_follows_) {
      late_ = &w;  // until the kick is out
      return;
    }
    t_.sync();
    set(w, (w.value & ~mask) | bits);
  }
  std::uint32_t compare_exchange(locks::word& w, std::uint32_t expected, std::uint32_t desired,
                                 std::uint32_t mask) {
    t_.sync();
    const std::uint32_t old = w.value;
    if ((old & mask) == expected) set(w, (old & ~mask) | desired);
    // A release that finds more than a plain lock goes on to kick.
    kick_follows_ = mask == 0xff && desired == 0 && (old & mask) != expected;
    return old;
  }
  std::uint32_t exchange(locks::word& w, std::uint32_t bits, std::uint32_t mask) {
    t_.sync();
    const std::uint32_t old = w.value;
    set(w, (old & ~mask) | bits);
    return old;
  }
  std::uint32_t fetch_or(locks::word& w, std::uint32_t bits) {
    t_.sync();
    const std::uint32_t old = w.value;
    set(w, old | bits);
    return old;
  }
  std::uint32_t fetch_and(locks::word& w, std::uint32_t bits) {
    t_.sync();
    const std::uint32_t old = w.value;
    set(w, old & bits);
    return old;
  }
  std::uint32_t fetch_add(locks::word& w, std::uint32_t n) {
    t_.sync();
    const std::uint32_t old = w.value;
    set(w, old + n);
    return old;
  }
  /// A bounded spin that is chosen to move before its word has changed has reached its bound.
  locks::spin_result spin_until(locks::word& w, locks::condition c, std::uint64_t n,
                                locks::side_check side = {}) {
    t_.sync();
    if (c.holds(w.value)) return {locks::spin_end::satisfied, w.value};
    if (n == locks::no_limit) {
      while (!c.holds(w.value)) {
        world_.waiters.push_back({&t_, &w, c});
        t_.park(hvsim::engine::part::idle, "a word");
        t_.sync();
      }
      return {locks::spin_end::satisfied, w.value};
    }
    if (side.where != nullptr && side.until.holds(side.where->value))
      return {locks::spin_end::side, w.value};
    t_.sync();
    if (c.holds(w.value)) return {locks::spin_end::satisfied, w.value};
    return {locks::spin_end::limit, w.value};
  }
  /// Interrupts are off from the look on, so a kick after it is pending when the CPU sleeps; one
  /// before it was an interrupt like any other, unless the host keeps it.
  void halt_while(locks::word& w, locks::condition c) {
    t_.sync();
    if (world_.bug == planted::wait_without_look) {
      t_.sync();
      world_.kicked[cpu_] = false;
    } else {
      if (!world_.keeps_kicks) world_.kicked[cpu_] = false;
      if (!c.holds(w.value)) return;
      t_.sync();
    }
    if (!world_.kicked[cpu_]) {
      world_.asleep[cpu_] = &t_;
      t_.park(hvsim::engine::part::idle, "a kick");
    }
    world_.kicked[cpu_] = false;
  }
  void kick(locks::cpu_number target) {
    t_.sync();
    if (hvsim::engine::thread* sleeper = std::exchange(world_.asleep[target], nullptr))
      t_.owner().wake(*sleeper, t_.now());
    else
      world_.kicked[target] = true;
    if (late_ != nullptr) {
      t_.sync();
      set(*late_, late_->value & ~0xffU);
      late_ = nullptr;
    }
  }
  [[nodiscard]] bool is_preempted(locks::cpu_number) const { return false; }
  void count(locks::lock_event e) { ++events[static_cast<std::size_t>(e)]; }

  locks::lock_event_counts events{};

 private:
  void set(locks::word& w, std::uint32_t value) {
    w.value = value;
    auto& all = world_.waiters;
    for (std::size_t i = 0; i < all.size();) {
      if (all[i].where != &w || !all[i].until.holds(value)) {
        ++i;
        continue;
      }
      t_.owner().wake(*all[i].who, t_.now());
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  explored_world& world_;
  hvsim::engine::thread& t_;
  locks::cpu_number cpu_;
  locks::word* late_ = nullptr;
  bool kick_follows_ = false;
};

static_assert(locks::lock_port<explore_port>);

}  // namespace guest_test
