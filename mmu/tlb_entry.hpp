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
    std::uint64_t v = base.value() & bits::address;
    v |= present;
    if (s1_leaf.s1_writable()) v |= s1_write;
    if (s1_leaf.s1_executable()) v |= s1_execute;
    if (s2_leaf.s2_readable()) v |= s2_read;
    if (s2_leaf.s2_writable()) v |= s2_write;
    if (s2_leaf.s2_executable()) v |= s2_execute;
    v |= static_cast<std::uint64_t>(to_int(size)) << size_shift;
    v |= static_cast<std::uint64_t>(to_int(s2_level)) << s2_level_shift;
    return tlb_entry{v};
  }

  [[nodiscard]] constexpr explicit operator bool() const { return raw_ != 0; }
  [[nodiscard]] constexpr engine::pa base() const { return engine::pa{raw_ & bits::address}; }
  [[nodiscard]] constexpr level size() const { return static_cast<level>(raw_ >> size_shift & 3); }
  [[nodiscard]] constexpr level s2_level() const {
    return static_cast<level>(raw_ >> s2_level_shift & 3);
  }
  [[nodiscard]] constexpr bool permits_stage1(access_kind k) const {
    return k == access_kind::read || (raw_ & (k == access_kind::write ? s1_write : s1_execute));
  }
  [[nodiscard]] constexpr bool permits_stage2(access_kind k) const {
    return (raw_ & (k == access_kind::read    ? s2_read
                    : k == access_kind::write ? s2_write
                                              : s2_execute)) != 0;
  }
  [[nodiscard]] constexpr bool permits(access_kind k) const {
    const std::uint64_t need = k == access_kind::read    ? s2_read
                               : k == access_kind::write ? s1_write | s2_write
                                                         : s1_execute | s2_execute;
    return (raw_ & need) == need;
  }
  friend constexpr bool operator==(tlb_entry, tlb_entry) = default;

 private:
  static constexpr std::uint64_t present = 1;
  static constexpr std::uint64_t s1_write = 1 << 1;
  static constexpr std::uint64_t s1_execute = 1 << 2;
  static constexpr std::uint64_t s2_read = 1 << 3;
  static constexpr std::uint64_t s2_write = 1 << 4;
  static constexpr std::uint64_t s2_execute = 1 << 5;
  static constexpr unsigned size_shift = 6;
  static constexpr unsigned s2_level_shift = 8;
  constexpr explicit tlb_entry(std::uint64_t raw) : raw_(raw) {}
  std::uint64_t raw_ = 0;
};
static_assert(sizeof(tlb_entry) == 8);

}  // namespace hvsim::mmu
