// SPDX-License-Identifier: Apache-2.0
// What a guest lock is written against: words in shared cache lines, waiting, sleeping, kicking.
//
// A lock algorithm is a class with `template <lock_port P> void lock(P&)` and `unlock(P&)`. The
// port decides what an access costs and who may go first: the guest's (task_port.hpp) charges CPU
// time under both schedulers, a test's lets an explorer choose who moves at every access.
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include "sim/engine/units.hpp"
#include "sim/guest/locks/lock_events.hpp"
#include "sim/machine/machine.hpp"

namespace hvsim::guest::locks {

/// Index of a CPU of the guest, from 0.
using cpu_number = std::uint32_t;

struct watcher;

/// One cache line with the spinners that look at it. Zero-initialised: owned by core 0, nobody
/// spins. Belongs to one engine.
struct shared_line {
  machine::line place;
  std::vector<watcher*> watchers;  ///< in order of arrival
};

/// A 32-bit word in a shared line. Only ports read and write `value`.
struct word {
  shared_line* line = nullptr;
  std::uint32_t value = 0;
};

/// A word and the line it has for itself.
struct lone_word {
  lone_word() = default;
  lone_word(const lone_word&) = delete;
  lone_word& operator=(const lone_word&) = delete;
  shared_line line;
  word w{&line, 0};
};

/// What a spinner waits for: the masked bits equal `value`, or do not.
struct condition {
  std::uint32_t mask = ~0U;
  std::uint32_t value = 0;
  bool equal = true;
  [[nodiscard]] bool holds(std::uint32_t v) const { return ((v & mask) == value) == equal; }
};

/// A second word that a spinner looks at now and then: in every iteration whose number, counted
/// down from the limit, is a multiple of `period`; the first iteration counts as one.
struct side_check {
  word* where = nullptr;
  condition until;
  std::uint32_t period = 1;
};

inline constexpr std::uint64_t no_limit = ~std::uint64_t{0};

/// How a spin ended.
enum class spin_end : std::uint8_t { satisfied, limit, side };

struct spin_result {
  spin_end why = spin_end::satisfied;
  std::uint32_t value = 0;  ///< of the word at the last look
};

/// Every access but `peek` and `count` orders itself among those of other CPUs and may take time.
/// Single accesses are as strong as x86's or as arm64's acquire and release forms.
template <class P>
concept lock_port = requires(P p, word& w, word* pointer, std::uint32_t v, condition c,
                             side_check s, std::uint64_t n, lock_event e) {
  /// The CPU that runs the caller; it does not change while the caller takes or has a spinlock.
  { p.cpu() } -> std::convertible_to<cpu_number>;
  { p.load(w) } -> std::same_as<std::uint32_t>;
  /// Replaces the bits of the mask.
  {p.store(w, v, v)};
  /// Compares and replaces the bits of the mask: (word, expected, desired, mask). Returns the
  /// whole old word; it was exchanged if its masked bits equalled `expected`.
  { p.compare_exchange(w, v, v, v) } -> std::same_as<std::uint32_t>;
  /// Replaces the bits of the mask: (word, bits, mask). Returns the whole old word.
  { p.exchange(w, v, v) } -> std::same_as<std::uint32_t>;
  { p.fetch_or(w, v) } -> std::same_as<std::uint32_t>;
  { p.fetch_and(w, v) } -> std::same_as<std::uint32_t>;
  { p.fetch_add(w, v) } -> std::same_as<std::uint32_t>;
  /// Looks at the word until the condition holds, for at most `n` iterations (`no_limit`: for
  /// ever).
  { p.spin_until(w, c, n) } -> std::same_as<spin_result>;
  { p.spin_until(w, c, n, s) } -> std::same_as<spin_result>;
  /// Sleeps as the hypervisor offers it (pv_wait), unless the condition does not hold at the last
  /// look. May return for no reason.
  {p.halt_while(w, c)};
  /// Wakes the CPU from `halt_while`; kept for its next one if it does not sleep (pv_kick).
  {p.kick(cpu_number{})};
  /// Whether the hypervisor says that the CPU is preempted (vcpu_is_preempted).
  { p.is_preempted(cpu_number{}) } -> std::same_as<bool>;
  /// Something that the kernel's lock_event counters count.
  {p.count(e)};
};

}  // namespace hvsim::guest::locks
