// SPDX-License-Identifier: Apache-2.0
// What checkers are told about the steps of simulated threads.
#pragma once

#include <cstdint>

#include "sim/engine/units.hpp"

namespace hvsim::engine {

class thread;

/// A stage-2 invalidation with its barrier. Without `all` it reaches the translations of
/// [begin, begin + size).
struct invalidation {
  ipa begin{};
  bytes size{};
  bool all = false;
  bool broadcast = true;  ///< on every core; otherwise on that of the issuer, if it is a vCPU's
};

/// How a guest access was translated.
struct translation_use {
  ipa from{};           ///< the accessed address
  pa to{};              ///< what it became
  bool write = false;   ///< otherwise a read or an instruction fetch
  bool cached = false;  ///< by a TLB entry, not by a walk
};

/// Watches a run. The code under test calls it at its own shared steps, in the order in which they
/// take effect, on the fiber that makes them; a checker throws to report. Calls must not switch
/// fibers. Every default does nothing.
class observer {
 public:
  virtual ~observer() = default;

  /// `lock` was taken by `t`, or is about to be dropped. Locks of one `name` are of one kind.
  virtual void lock_taken(const thread& t, const void* lock, const char* name, bool exclusive) {
    (void)t, (void)lock, (void)name, (void)exclusive;
  }
  virtual void lock_dropped(const thread& t, const void* lock, const char* name, bool exclusive) {
    (void)t, (void)lock, (void)name, (void)exclusive;
  }

  /// The stage-2 entry that decides about [begin, begin + size) has changed.
  virtual void entry_changed(const thread& t, ipa begin, bytes size) {
    (void)t, (void)begin, (void)size;
  }

  /// An invalidation by `t` begins, and is complete as far as it reaches. One at a time a thread.
  virtual void invalidation_issued(const thread& t, const invalidation& i) { (void)t, (void)i; }
  virtual void invalidation_completed(const thread& t, const invalidation& i) { (void)t, (void)i; }

  /// A guest access of `t` was executed.
  virtual void translated(const thread& t, const translation_use& u) { (void)t, (void)u; }
};

}  // namespace hvsim::engine
