// SPDX-License-Identifier: Apache-2.0
// Who can reach which part of guest memory: what lets a thread skip a sync.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/units.hpp"

namespace hvsim::access {

/// Guest memory in chunks of 2 MiB of IPA, each owned by one vCPU, shared, or unused.
///
/// A workload declares, before a phase, which range each vCPU may touch in it. Stage-2 level-2 and
/// level-3 entries, the dirty bitmap line and the compound page of a chunk that exactly one vCPU
/// declared can be reached by that vCPU's thread only: the other vCPUs do not touch the range, and
/// the main thread waits for them. Everything outside the window is shared.
///
/// Checked builds call `check` at every access, so a wrong declaration is an error and not a wrong
/// result. Written by the main thread while vCPUs wait, read by all fibers of one engine.
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
  void share_all() { owner_.clear(); }

  /// Whether only `who` can reach the chunk of `address`.
  [[nodiscard]] bool private_to(engine::vcpu_id who, engine::ipa address) const {
    const std::uint64_t c = (address.value() >> chunk_shift) - first_;
    return c < owner_.size() && owner_[c] == who.value();
  }

 private:
  std::uint64_t first_ = 0;
  std::vector<std::uint16_t> owner_;
};

}  // namespace hvsim::access
