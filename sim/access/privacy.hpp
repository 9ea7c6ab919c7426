// SPDX-License-Identifier: Apache-2.0
// Who can reach which part of guest memory: what lets a thread skip a sync.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/access/order_ledger.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::access {

/// Guest memory in chunks of 2 MiB of IPA, each owned by one vCPU, shared, or unused.
///
/// A workload declares, before a phase, which range each vCPU may touch in it. Stage-2 level-2 and
/// level-3 entries, the dirty bitmap line and the compound page of a chunk that exactly one vCPU
/// declared can be reached by that vCPU's thread only: the other vCPUs do not touch the range, and
/// the main thread waits for them. Everything outside the window is shared.
///
/// Every access to such an object calls `check`, which in checked builds (HVSIM_CHECKED) turns a
/// wrong declaration or a missing sync into an order_violation and not into a wrong result; in
/// other builds it is nothing. Written by the main thread while vCPUs wait, read by all fibers of
/// one engine.
class privacy_map {
 public:
  static constexpr unsigned chunk_shift = 21;
  static constexpr std::uint16_t unused = 0xffff;
  static constexpr std::uint16_t shared = 0xfffe;

  /// The window that later declarations must lie in; all chunks become unused.
  void reset(engine::ipa base, engine::bytes size) {
    first_ = base.value() >> chunk_shift;
    const std::uint64_t last =
        size.value() == 0 ? first_ : ((base.value() + size.value() - 1) >> chunk_shift) + 1;
    owner_.assign(last - first_, unused);
#ifdef HVSIM_CHECKED
    ledger_.reset(owner_.size());
#endif
  }

  /// Vcpu `who` may touch [begin, begin + size) from now on.
  void declare(engine::vcpu_id who, engine::ipa begin, engine::bytes size) {
    if (size.value() == 0) return;
    const std::uint64_t last = (begin.value() + size.value() - 1) >> chunk_shift;
    for (std::uint64_t c = begin.value() >> chunk_shift; c <= last; ++c) {
      if (c < first_ || c - first_ >= owner_.size()) continue;
      std::uint16_t& o = owner_[c - first_];
      const auto me = static_cast<std::uint16_t>(who.value());
      o = o == unused || o == me ? me : shared;
    }
  }

  /// From now on every chunk is shared: nothing is skipped.
  void share_all() {
    owner_.clear();
  }

  /// Whether only `who` can reach the chunk of `address`.
  [[nodiscard]] bool private_to(engine::vcpu_id who, engine::ipa address) const {
    const std::uint64_t c = chunk_of(address);
    return c < owner_.size() && owner_[c] == who.value();
  }

#ifdef HVSIM_CHECKED
  static constexpr bool checked = true;
  /// `t` is the fiber of vCPU `who`. Before `t` runs.
  void bind(engine::vcpu_id who, const engine::thread& t) {
    ledger_.bind(static_cast<std::uint16_t>(who.value()), t);
  }
  /// These five are the members of order_ledger, which has the rules.
  void check(const engine::thread& t, object o, use u, engine::ipa at) {
    ledger_.touch(t, o, u, at, chunk_of(at), owner_of(at));
  }
  void check_early(const engine::thread& t, object o, engine::ipa at) const {
    ledger_.touch_early(t, o, at, owner_of(at));
  }
  void check_translation(const engine::thread& t, engine::duration ahead) const {
    ledger_.translate(t, ahead);
  }
  void check_read_ahead(const engine::thread& t, const void* entry) {
    ledger_.read_ahead(t, entry);
  }
  void check_removal(const engine::thread& t, const void* entry, engine::ipa at) const {
    ledger_.remove(t, entry, at);
  }
#else
  static constexpr bool checked = false;
  static void bind(engine::vcpu_id, const engine::thread&) {}
  static void check(const engine::thread&, object, use, engine::ipa) {}
  static void check_early(const engine::thread&, object, engine::ipa) {}
  static void check_translation(const engine::thread&, engine::duration) {}
  static void check_read_ahead(const engine::thread&, const void*) {}
  static void check_removal(const engine::thread&, const void*, engine::ipa) {}
#endif

 private:
  [[nodiscard]] std::uint64_t chunk_of(engine::ipa at) const {
    return (at.value() >> chunk_shift) - first_;
  }
  [[nodiscard]] std::uint16_t owner_of(engine::ipa at) const {
    const std::uint64_t c = chunk_of(at);
    return c < owner_.size() && owner_[c] != unused ? owner_[c] : shared;
  }

  std::uint64_t first_ = 0;
  std::vector<std::uint16_t> owner_;
#ifdef HVSIM_CHECKED
  order_ledger ledger_;
#endif
};

}  // namespace hvsim::access
