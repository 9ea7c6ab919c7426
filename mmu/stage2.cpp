// SPDX-License-Identifier: Apache-2.0
#include "mmu/stage2.hpp"

#include <array>
#include <cstdio>

#include "mmu/stage2_map.hpp"

namespace hvsim::mmu {

namespace {

std::string hex(std::uint64_t v) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(v));
  return text.data();
}

std::string at_entry(const entry_ref& e, descriptor d) {
  return " at level " + std::to_string(to_int(e.lvl)) + ", ipa " + hex(e.ipa.value()) +
         ", descriptor " + hex(d.raw());
}

std::string verify_table(const stage2& s2, table_page* t, level l, engine::ipa at) {
  const granule g = s2.geometry.g;
  std::uint32_t refs = 1;
  for (unsigned i = 0; i < g.entries(); ++i, at = at + g.size(l)) {
    const descriptor d = t->entries[i];
    const entry_ref e{t, i, l, at, t->entries + i};
    if (d.counted()) ++refs;
    if (d.locked()) return "entry left locked" + at_entry(e, d);
    if (!d.valid()) continue;
    if (d.is_table(l)) {
      if (!s2.memory->contains(d.table_address(g)))
        return "table address outside table memory" + at_entry(e, d);
      table_page* child = s2.follow(d);
      if (child->state != table_state::live) return "table is not live" + at_entry(e, d);
      if (child->lvl != next(l)) return "table has the wrong level" + at_entry(e, d);
      if (std::string problem = verify_table(s2, child, next(l), at); !problem.empty())
        return problem;
    } else if (!d.is_leaf(l) || !g.leaf_allowed(l)) {
      return "reserved encoding" + at_entry(e, d);
    } else if ((d.raw() & bits::address) != d.output_base(g, l).value()) {
      return "output address is not aligned to the leaf" + at_entry(e, d);
    }
  }
  if (refs != t->refs)
    return "page count " + std::to_string(t->refs) + " instead of " + std::to_string(refs) +
           " for table " + std::to_string(t->index) + " of level " + std::to_string(to_int(l));
  return {};
}

std::size_t count_below(const stage2& s2, const table_page* t, level l) {
  std::size_t n = 1;
  if (l == level::l3) return n;
  for (unsigned i = 0; i < s2.geometry.g.entries(); ++i)
    if (t->entries[i].is_table(l)) n += count_below(s2, s2.follow(t->entries[i]), next(l));
  return n;
}

}  // namespace

stage2 make_stage2(table_memory& memory, unsigned ipa_bits, const stage2_policy& policy) {
  stage2 s2;
  s2.memory = &memory;
  s2.geometry = make_stage2_geometry(memory.granularity(), ipa_bits);
  s2.start = memory.alloc_contiguous(s2.geometry.start, s2.geometry.start_tables);
  s2.policy = policy;
  return s2;
}

std::string verify(const stage2& s2) {
  const granule g = s2.geometry.g;
  const unsigned span = g.shift(s2.geometry.start) + g.bits_per_level;
  for (unsigned i = 0; i < s2.geometry.start_tables; ++i) {
    const engine::ipa at{std::uint64_t{i} << span};
    if (s2.start[i].state != table_state::live) return "start table is not live";
    if (std::string problem = verify_table(s2, s2.start + i, s2.geometry.start, at);
        !problem.empty())
      return problem;
  }
  return {};
}

std::size_t count_tables(const stage2& s2) {
  std::size_t n = 0;
  for (unsigned i = 0; i < s2.geometry.start_tables; ++i)
    n += count_below(s2, s2.start + i, s2.geometry.start);
  return n;
}

namespace detail {

void fail_range(engine::ipa at, engine::bytes n) {
  throw table_error("range outside the stage-2 input size: " + hex(at.value()) + ", " +
                    std::to_string(n.value()) + " bytes");
}

void fail_map(engine::ipa at, engine::bytes n) {
  throw table_error("mapping is no aligned leaf: " + hex(at.value()) + ", " +
                    std::to_string(n.value()) + " bytes");
}

}  // namespace detail
}  // namespace hvsim::mmu
