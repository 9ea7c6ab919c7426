// SPDX-License-Identifier: Apache-2.0
// VMSAv8-64 translation table descriptors, stage 1 and stage 2, bit for bit.
//
// Fields: Arm ARM, "VMSAv8-64 translation table format descriptors". What an invalid stage-2 entry
// holds (owner, lock marker) is software's choice; the values are those of Linux 6.1 and 6.2.
#pragma once

#include <cstdint>

#include "mmu/granule.hpp"

namespace hvsim::mmu {

namespace bits {
inline constexpr std::uint64_t valid = 1ULL << 0;             // Arm ARM: descriptor[0]
inline constexpr std::uint64_t table_or_page = 1ULL << 1;     // descriptor[1]: table, or page at l3
inline constexpr std::uint64_t address = 0x0000FFFFFFFFF000;  // descriptor[47:12]
inline constexpr std::uint64_t s2_memattr_shift = 2;          // MemAttr, descriptor[5:2]
inline constexpr std::uint64_t s2_memattr_normal = 0xF;       // Normal WB, FEAT_S2FWB off
inline constexpr std::uint64_t s2_memattr_normal_fwb = 0x6;   // Normal WB forced, FEAT_S2FWB
inline constexpr std::uint64_t s2_memattr_device = 0x1;       // Device-nGnRE
inline constexpr std::uint64_t s2ap_read = 1ULL << 6;         // S2AP[0]
inline constexpr std::uint64_t s2ap_write = 1ULL << 7;        // S2AP[1]
inline constexpr std::uint64_t sh_inner = 3ULL << 8;          // SH, descriptor[9:8]
inline constexpr std::uint64_t af = 1ULL << 10;               // Access flag
inline constexpr std::uint64_t s2_xn = 1ULL << 54;            // XN[1]
inline constexpr std::uint64_t software = 0xFULL << 55;       // ignored by hardware, [58:55]
inline constexpr std::uint64_t s2_permissions = s2ap_read | s2ap_write | s2_xn;
inline constexpr std::uint64_t invalid_owner_shift = 2;  // Linux: owner in [9:2]
inline constexpr std::uint64_t invalid_owner = 0xFFULL << 2;
inline constexpr std::uint64_t invalid_locked = 1ULL << 10;  // Linux 6.2: entry being replaced
inline constexpr std::uint64_t s1_attr_index_shift = 2;      // AttrIndx, descriptor[4:2]
inline constexpr std::uint64_t s1_ap_user = 1ULL << 6;       // AP[1]
inline constexpr std::uint64_t s1_ap_read_only = 1ULL << 7;  // AP[2]
inline constexpr std::uint64_t s1_not_global = 1ULL << 11;   // nG
inline constexpr std::uint64_t s1_pxn = 1ULL << 53;
inline constexpr std::uint64_t s1_uxn = 1ULL << 54;
}  // namespace bits

/// One table entry: 8 bytes, a plain value. All-zero is an empty entry.
class descriptor {
 public:
  constexpr descriptor() = default;
  constexpr explicit descriptor(std::uint64_t raw) : raw_(raw) {}
  [[nodiscard]] constexpr std::uint64_t raw() const { return raw_; }

  [[nodiscard]] constexpr bool valid() const { return (raw_ & bits::valid) != 0; }
  /// Points to a table of the next level.
  [[nodiscard]] constexpr bool is_table(level l) const { return (raw_ & 3) == 3 && l != level::l3; }
  /// Maps memory: a page at l3, a block above. (At l3 the block encoding is reserved: no leaf.)
  [[nodiscard]] constexpr bool is_leaf(level l) const {
    return l == level::l3 ? (raw_ & 3) == 3 : (raw_ & 3) == 1;
  }
  /// Linux's marker of an entry that some walker is replacing.
  [[nodiscard]] constexpr bool locked() const {
    return (raw_ & (bits::valid | bits::invalid_locked)) == bits::invalid_locked;
  }
  /// Anything but zero; such an entry holds a reference on its table page.
  [[nodiscard]] constexpr bool counted() const { return raw_ != 0; }
  /// Owner of an invalid, annotated entry; 0 is the host.
  [[nodiscard]] constexpr std::uint8_t owner() const {
    return static_cast<std::uint8_t>((raw_ & bits::invalid_owner) >> bits::invalid_owner_shift);
  }
  /// Address of the next table, aligned to the page of granule `g`.
  [[nodiscard]] constexpr engine::pa table_address(granule g) const {
    return engine::pa{(raw_ & bits::address) >> g.page_shift << g.page_shift};
  }
  /// Base of the memory that a leaf of level `l` maps.
  [[nodiscard]] constexpr engine::pa output_base(granule g, level l) const {
    return engine::pa{raw_ & bits::address}.align_down(g.shift(l));
  }
  [[nodiscard]] constexpr bool accessed() const { return (raw_ & bits::af) != 0; }

  // Stage-2 leaf fields.
  [[nodiscard]] constexpr bool s2_readable() const { return (raw_ & bits::s2ap_read) != 0; }
  [[nodiscard]] constexpr bool s2_writable() const { return (raw_ & bits::s2ap_write) != 0; }
  [[nodiscard]] constexpr bool s2_executable() const { return (raw_ & bits::s2_xn) == 0; }
  /// Normal cacheable memory, in the encoding of FEAT_S2FWB or without.
  [[nodiscard]] constexpr bool s2_cacheable(bool fwb) const {
    return ((raw_ >> bits::s2_memattr_shift) & 0xF) ==
           (fwb ? bits::s2_memattr_normal_fwb : bits::s2_memattr_normal);
  }
  // Stage-1 leaf fields, seen from EL1.
  [[nodiscard]] constexpr bool s1_writable() const { return (raw_ & bits::s1_ap_read_only) == 0; }
  [[nodiscard]] constexpr bool s1_executable() const { return (raw_ & bits::s1_pxn) == 0; }
  [[nodiscard]] constexpr std::uint8_t software() const {
    return static_cast<std::uint8_t>((raw_ & bits::software) >> 55);
  }

  [[nodiscard]] constexpr descriptor set(std::uint64_t mask) const {
    return descriptor{raw_ | mask};
  }
  [[nodiscard]] constexpr descriptor clear(std::uint64_t mask) const {
    return descriptor{raw_ & ~mask};
  }
  friend constexpr bool operator==(descriptor, descriptor) = default;

 private:
  std::uint64_t raw_ = 0;
};
static_assert(sizeof(descriptor) == 8);

/// Marker that a shared walker leaves in an entry while it replaces it.
inline constexpr descriptor locked_descriptor{bits::invalid_locked};

/// What KVM asks of a stage-2 mapping.
struct stage2_attributes {
  bool read = true;
  bool write = false;
  bool execute = false;
  bool device = false;  ///< Device-nGnRE instead of Normal write-back
  bool fwb = false;     ///< encode MemAttr for FEAT_S2FWB
  friend constexpr bool operator==(const stage2_attributes&, const stage2_attributes&) = default;
};

/// A table descriptor (either stage) for the table at `table`.
constexpr descriptor make_table(engine::pa table) {
  return descriptor{(table.value() & bits::address) | bits::valid | bits::table_or_page};
}

/// Only the attribute bits of a stage-2 leaf, AF set and inner-shareable as KVM writes them.
constexpr std::uint64_t stage2_attribute_bits(const stage2_attributes& a) {
  const std::uint64_t memattr = a.device ? bits::s2_memattr_device
                                : a.fwb  ? bits::s2_memattr_normal_fwb
                                         : bits::s2_memattr_normal;
  return memattr << bits::s2_memattr_shift | (a.read ? bits::s2ap_read : 0) |
         (a.write ? bits::s2ap_write : 0) | bits::sh_inner | bits::af |
         (a.execute ? 0 : bits::s2_xn);
}

/// A stage-2 page (l3) or block descriptor. `base` must be aligned to the leaf.
constexpr descriptor make_stage2_leaf(engine::pa base, level l, const stage2_attributes& a) {
  return descriptor{(base.value() & bits::address) | stage2_attribute_bits(a) | bits::valid |
                    (l == level::l3 ? bits::table_or_page : 0)};
}

/// The attributes of a stage-2 leaf; `fwb` says how MemAttr is to be read.
constexpr stage2_attributes decode_stage2_attributes(descriptor d, bool fwb) {
  return {d.s2_readable(), d.s2_writable(), d.s2_executable(), !d.s2_cacheable(fwb), fwb};
}

/// An invalid entry annotated with an owner (1 to 255).
constexpr descriptor make_invalid_owner(std::uint8_t owner) {
  return descriptor{std::uint64_t{owner} << bits::invalid_owner_shift};
}

/// What a guest kernel asks of a stage-1 mapping (EL1&0 regime).
struct stage1_attributes {
  bool write = true;
  bool execute = true;          ///< at EL1: PXN clear
  bool user = false;            ///< AP[1]
  bool not_global = false;      ///< nG
  bool accessed = true;         ///< AF
  std::uint8_t attr_index = 0;  ///< MAIR index, 0 to 7
  friend constexpr bool operator==(const stage1_attributes&, const stage1_attributes&) = default;
};

/// A stage-1 page (l3) or block descriptor that maps to `base`, inner-shareable.
constexpr descriptor make_stage1_leaf(engine::ipa base, level l, const stage1_attributes& a) {
  return descriptor{
      (base.value() & bits::address) | bits::valid | (l == level::l3 ? bits::table_or_page : 0) |
      std::uint64_t{a.attr_index} << bits::s1_attr_index_shift |
      (a.user ? bits::s1_ap_user : bits::s1_uxn) | (a.write ? 0 : bits::s1_ap_read_only) |
      bits::sh_inner | (a.accessed ? bits::af : 0) | (a.not_global ? bits::s1_not_global : 0) |
      (a.execute ? 0 : bits::s1_pxn)};
}

constexpr stage1_attributes decode_stage1_attributes(descriptor d) {
  return {d.s1_writable(),
          d.s1_executable(),
          (d.raw() & bits::s1_ap_user) != 0,
          (d.raw() & bits::s1_not_global) != 0,
          d.accessed(),
          static_cast<std::uint8_t>(d.raw() >> bits::s1_attr_index_shift & 7)};
}

/// A stage-1 table descriptor: the next table is at an intermediate physical address.
constexpr descriptor make_stage1_table(engine::ipa table) {
  return descriptor{(table.value() & bits::address) | bits::valid | bits::table_or_page};
}

}  // namespace hvsim::mmu
