// SPDX-License-Identifier: Apache-2.0
// One cached translation of both stages, packed into 8 bytes.
#pragma once

#include <cstdint>

#include "mmu/walker.hpp"

namespace hvsim::mmu {

/// A combined stage-1 and stage-2 translation: output page and the permissions of both stages.
class tlb_entry {
 public:
  constexpr tlb_entry() = default;

  /// `base`: output address of the entry's first byte. `size`: level whose leaf size the entry
  /// covers, the smaller of both stages. `s2_level`: level of the stage-2 leaf.
  static constexpr tlb_entry make(engine::pa base, level size, descriptor s1_leaf,
                                  descriptor s2_leaf, level s2_level) {
    return tlb_entry{(base.value() & bits::address) |
                     (s2_leaf.raw() & (bits::s2ap_read | bits::s2ap_write | bits::s2_xn)) |
                     (s1_leaf.raw() & bits::s1_pxn) | (s1_leaf.raw() & bits::s1_ap_read_only) << 1 |
                     static_cast<std::uint64_t>(to_int(size)) << size_shift |
                     static_cast<std::uint64_t>(to_int(s2_level)) << s2_level_shift | present};
  }

  [[nodiscard]] constexpr explicit operator bool() const { return raw_ != 0; }
  [[nodiscard]] constexpr engine::pa base() const { return engine::pa{raw_ & bits::address}; }
  [[nodiscard]] constexpr level size() const { return static_cast<level>(raw_ >> size_shift & 3); }
  [[nodiscard]] constexpr level s2_level() const {
    return static_cast<level>(raw_ >> s2_level_shift & 3);
  }
  [[nodiscard]] constexpr bool permits_stage1(access_kind k) const {
    return k == access_kind::read ||
           (raw_ & (k == access_kind::write ? s1_read_only : bits::s1_pxn)) == 0;
  }
  [[nodiscard]] constexpr bool permits_stage2(access_kind k) const {
    return stage2_permits(descriptor{raw_}, k);
  }
  [[nodiscard]] constexpr bool permits(access_kind k) const {
    switch (k) {
      case access_kind::read:
        return (raw_ & bits::s2ap_read) != 0;
      case access_kind::write:
        return (raw_ & (bits::s2ap_write | s1_read_only)) == bits::s2ap_write;
      case access_kind::execute:
        break;
    }
    return (raw_ & (bits::s2_xn | bits::s1_pxn)) == 0;
  }
  /// The entry for what follows in memory, with equal attributes.
  [[nodiscard]] constexpr tlb_entry next(granule g) const {
    return tlb_entry{raw_ + g.size(size()).value()};
  }
  friend constexpr bool operator==(tlb_entry, tlb_entry) = default;

 private:
  // Permissions stay where the descriptors have them: S2AP in [7:6], stage 2's XN in [54], stage
  // 1's PXN in [53]; only stage 1's AP[2] moves from [7] to [8].
  static constexpr std::uint64_t s1_read_only = bits::s1_ap_read_only << 1;
  static constexpr std::uint64_t present = 1 << 4;
  static constexpr unsigned size_shift = 0;
  static constexpr unsigned s2_level_shift = 2;
  constexpr explicit tlb_entry(std::uint64_t raw) : raw_(raw) {}
  std::uint64_t raw_ = 0;
};
static_assert(sizeof(tlb_entry) == 8);

}  // namespace hvsim::mmu
