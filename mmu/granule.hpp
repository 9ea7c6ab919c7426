// SPDX-License-Identifier: Apache-2.0
// Translation granules and stage-2 geometry as data (Arm ARM, VMSAv8-64, no LPA2).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/engine/units.hpp"

namespace hvsim::mmu {

/// Level of a translation table entry. l3 holds pages; a smaller number is nearer to the root.
enum class level : std::int8_t { l0 = 0, l1 = 1, l2 = 2, l3 = 3 };

constexpr int to_int(level l) {
  return static_cast<int>(l);
}
/// The level of the table that a table entry at `l` points to. `l` must not be l3.
constexpr level next(level l) {
  return static_cast<level>(to_int(l) + 1);
}

/// Level hint of a TLBI (FEAT_TTL); nullopt when the caller cannot tell the level.
using level_hint = std::optional<level>;

/// A translation granule: all sizes follow from the page shift.
struct granule {
  std::uint8_t page_shift;        ///< log2 of a page: 12, 14 or 16
  std::uint8_t bits_per_level;    ///< page_shift - 3: index bits of one table
  level first_block;              ///< lowest-numbered level that may hold a block (48-bit PA)
  std::uint8_t max_concatenated;  ///< start tables that stage 2 may concatenate

  [[nodiscard]] constexpr unsigned entries() const { return 1U << bits_per_level; }
  [[nodiscard]] constexpr engine::bytes page_size() const {
    return engine::bytes{std::uint64_t{1} << page_shift};
  }
  /// log2 of the bytes that one entry of level `l` spans.
  [[nodiscard]] constexpr unsigned shift(level l) const {
    return page_shift + static_cast<unsigned>(3 - to_int(l)) * bits_per_level;
  }
  /// Bytes that one entry of level `l` spans.
  [[nodiscard]] constexpr engine::bytes size(level l) const {
    return engine::bytes{std::uint64_t{1} << shift(l)};
  }
  /// Index of the entry for `address` in a table of level `l` (not for concatenated start tables).
  [[nodiscard]] constexpr unsigned index(std::uint64_t address, level l) const {
    return static_cast<unsigned>(address >> shift(l)) & (entries() - 1);
  }
  /// Whether an entry of level `l` may map memory: a page at l3, a block at first_block and below.
  [[nodiscard]] constexpr bool leaf_allowed(level l) const { return l >= first_block; }
  /// The level whose leaf has exactly this size, or nullopt.
  [[nodiscard]] constexpr std::optional<level> leaf_level(engine::bytes n) const {
    for (int l = 3; l >= to_int(first_block); --l)
      if (n == size(static_cast<level>(l))) return static_cast<level>(l);
    return std::nullopt;
  }
  friend constexpr bool operator==(const granule&, const granule&) = default;
};

inline constexpr granule granule_4k{12, 9, level::l1, 16};
inline constexpr granule granule_16k{14, 11, level::l2, 16};
inline constexpr granule granule_64k{16, 13, level::l2, 16};

/// Shape of a stage-2 translation as KVM programs VTCR_EL2: fewest levels that 16 concatenated
/// start tables allow, and never fewer than two.
struct stage2_geometry {
  granule g;
  std::uint8_t ipa_bits;      ///< input address size: 32 to 48
  std::uint8_t levels;        ///< 2 to 4
  level start;                ///< level of the start tables
  std::uint8_t start_tables;  ///< concatenated start tables: 1 to 16

  /// Pages that one fault may need from the memory cache (every level but the start).
  [[nodiscard]] constexpr unsigned memcache_min() const { return levels - 1U; }
  /// Whether the address lies in the input range.
  [[nodiscard]] constexpr bool contains(engine::ipa a) const { return a.value() >> ipa_bits == 0; }
  /// Which concatenated start table translates `a`.
  [[nodiscard]] constexpr unsigned start_index(engine::ipa a) const {
    return static_cast<unsigned>(a.value() >> (g.shift(start) + g.bits_per_level));
  }
  friend constexpr bool operator==(const stage2_geometry&, const stage2_geometry&) = default;
};

/// Geometry for an input size of `ipa_bits` (32 to 48) with granule `g`.
constexpr stage2_geometry make_stage2_geometry(granule g, unsigned ipa_bits) {
  unsigned levels = (ipa_bits - 4 - 4) / (g.page_shift - 3U);
  if (levels < 2) levels = 2;
  const auto start = static_cast<level>(4 - static_cast<int>(levels));
  const unsigned span = g.shift(start) + g.bits_per_level;
  const unsigned tables = ipa_bits > span ? 1U << (ipa_bits - span) : 1U;
  return {g, static_cast<std::uint8_t>(ipa_bits), static_cast<std::uint8_t>(levels), start,
          static_cast<std::uint8_t>(tables)};
}

/// Start level of a stage-1 translation of a `va_bits` address space (48 with 4K: l0).
constexpr level stage1_start_level(granule g, unsigned va_bits) {
  const unsigned levels = (va_bits - g.page_shift + g.bits_per_level - 1) / g.bits_per_level;
  return static_cast<level>(4 - static_cast<int>(levels));
}

}  // namespace hvsim::mmu
