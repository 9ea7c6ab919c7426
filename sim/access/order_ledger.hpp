// SPDX-License-Identifier: Apache-2.0
// Notices, in checked builds, accesses that could have happened in another order than that of
// virtual time.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::access {

/// A thread skipped a sync that it needed, or touched what was declared private to another one. The
/// message names the object, both threads and their times.
class order_violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// What an access touches.
enum class object : std::uint8_t {
  descriptor,      ///< a stage-2 entry
  dirty_bitmap,    ///< a word of a dirty log
  page_reference,  ///< the reference count of a guest page
  guest_memory,    ///< through a translation
};
enum class use : std::uint8_t { read, write };

/// The rules of one VM's shared memory, by chunks of 2 MiB (see privacy_map):
///
/// * The declared owner of a private chunk may run ahead of everybody.
/// * No other vCPU touches a private chunk, and a thread that is no vCPU (an ioctl) only while the
///   owner is parked, has ended or has not begun.
/// * Anything else is touched in order: no other thread may act before the toucher's time.
/// * What two threads touch in a chunk, one of them writing, they touch in the order of their
///   clocks.
///
/// Nothing is checked while exploring, where the chooser makes the order. Times are those of the
/// access, after the sync that orders it. Called on the fiber of `t`.
class order_ledger {
 public:
  /// Forgets everything; `chunks` are watched from now on.
  void reset(std::size_t chunks);
  /// `t` is the fiber of vCPU `who`.
  void bind(std::uint16_t who, const engine::thread& t);

  /// `owner`: the vCPU that has the chunk at `at` to itself, or a number of no vCPU. `chunk`: its
  /// number, or one that is not watched for an address outside the window.
  void touch(const engine::thread& t, object o, use u, engine::ipa at, std::size_t chunk,
             std::uint16_t owner);
  /// Only the second rule: for hardware walkers, which may read early.
  void touch_early(const engine::thread& t, object o, engine::ipa at, std::uint16_t owner) const;
  /// A translation is used at `t`'s time; it may lie `ahead` beyond the earliest time at which
  /// another thread could act, because a TLBI takes at least as long.
  void translate(const engine::thread& t, engine::duration ahead) const;

  /// A table descriptor of an upper level is read ahead of others: what is there, stays there.
  void read_ahead(const engine::thread& t, const void* entry);
  /// Such a descriptor goes: nobody may have read it at a later time.
  void remove(const engine::thread& t, const void* entry, engine::ipa at) const;

 private:
  struct stamp {
    engine::sim_time time;
    const engine::thread* who = nullptr;
    object what = object::descriptor;
  };
  struct record {
    stamp read, write;
  };

  void check_owner(const engine::thread& t, object o, engine::ipa at, std::uint16_t owner) const;
  static void check_synced(const engine::thread& t, object o, engine::ipa at);
  static void check_after(const engine::thread& t, object o, engine::ipa at, const stamp& last);

  std::vector<record> chunks_;
  std::vector<const engine::thread*> vcpus_;
  std::unordered_map<const void*, stamp> read_ahead_;  // never iterated
};

}  // namespace hvsim::access
