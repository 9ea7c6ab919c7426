// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/selftest_guest.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sim/engine/engine.hpp"

namespace hvsim::workloads {

namespace {

using engine::bytes;
using engine::gva;
using engine::ipa;
using mmu::access_kind;
using mmu::level;
using vcpu::access_syndrome;

// Where the selftests' table allocator starts; the page behind the root stays unused.
constexpr std::uint64_t table_base = 0x180000;
constexpr std::uint64_t page = 0x1000;
constexpr std::uint64_t stack_pages = 5;
constexpr std::uint64_t stack_va = 0xac0000;

access_syndrome op(std::uint8_t size, std::uint8_t reg, bool wide) {
  return {true, size, false, reg, wide};
}

program_image image_6_1() {
  program_image i;
  i.name = "selftest-6.1";
  i.segments = {{gva{0x400000}, ipa{0x2000}, bytes{0xbe000}},
                {gva{0x4be000}, ipa{0xa8000}, bytes{0x25000}}};
  const gva start{0x405ac0};
  i.prologue = {{access_kind::execute, start, start, {}, false},
                {access_kind::write, gva{0xac4fc0}, gva{0x405ac4}, {}, true},
                {access_kind::read, gva{0x4d6a08}, gva{0x405ae8}, op(2, 2, false), false}};
  i.epilogue = {{access_kind::execute, gva{0x40c940}, gva{0x40c940}, {}, false},
                {access_kind::read, gva{0x4dca10}, gva{0x40ca00}, op(3, 0, true), false}};
  i.loop_pc = gva{0x405b60};
  i.loop_operand = op(3, 21, true);
  i.mmio_va = gva{0x500000000000};
  i.mmio_ipa = ipa{0x500000000000};
  i.mmio_mapped_last = true;
  i.mmio_operand = op(3, 1, true);
  i.mmio_pc = gva{0x40ca04};
  i.base_pages = 514;
  i.prints_seed = false;
  return i;
}

program_image image_6_12() {
  program_image i;
  i.name = "selftest-6.12";
  i.segments = {{gva{0x400000}, ipa{0x2000}, bytes{0xbf000}},
                {gva{0x4c0000}, ipa{0xb0000}, bytes{0x22000}},
                {gva{0x2000}, ipa{0xd2000}, bytes{0x8a000}}};
  const gva start{0x4065d0};
  i.prologue = {{access_kind::execute, start, start, {}, false},
                {access_kind::write, gva{0xac4f80}, start, {}, true},
                {access_kind::read, gva{0x4d2a50}, gva{0x4065e4}, op(2, 0, false), false},
                {access_kind::execute, gva{0x40b1a0}, gva{0x40b1a0}, {}, false},
                {access_kind::read, gva{0x4d72c0}, gva{0x406618}, op(2, 1, false), false},
                {access_kind::read, gva{0x4d6a88}, gva{0x406678}, op(2, 2, false), false},
                {access_kind::read, gva{0x4d8a70}, gva{0x406688}, op(0, 1, false), false},
                {access_kind::read, gva{0x4d9a70}, gva{0x406688}, op(0, 1, false), false},
                {access_kind::read, gva{0x4daa70}, gva{0x406688}, op(0, 1, false), false},
                {access_kind::read, gva{0x4dba70}, gva{0x406688}, op(0, 1, false), false}};
  i.epilogue = {{access_kind::execute, gva{0x40c220}, gva{0x40c220}, {}, false},
                {access_kind::read, gva{0x4dc2a0}, gva{0x40be50}, op(3, 2, true), false},
                {access_kind::execute, gva{0x411900}, gva{0x411900}, {}, false},
                {access_kind::read, gva{0x2000}, gva{0x41191c}, {}, false}};
  i.loop_pc = gva{0x4066dc};
  i.loop_operand = op(3, 24, true);
  i.mmio_va = gva{0x8c000};
  i.mmio_ipa = ipa{};
  i.mmio_mapped_last = false;
  i.mmio_operand = op(3, 5, true);
  i.mmio_pc = gva{0x40c308};
  i.base_pages = 652;
  i.prints_seed = true;
  return i;
}

const std::vector<program_image>& images() {
  static const std::vector<program_image> all{image_6_1(), image_6_12()};
  return all;
}

std::uint64_t upper_key(level l, std::uint64_t va) {
  // What a table of level l translates: 2^(shift of the level above).
  const unsigned shift = mmu::granule_4k.shift(l) + mmu::granule_4k.bits_per_level;
  return static_cast<std::uint64_t>(mmu::to_int(l)) << 60 | va >> shift;
}

}  // namespace

const program_image& find_image(std::string_view name) {
  for (const program_image& i : images())
    if (i.name == name) return i;
  throw std::invalid_argument(fmt::format("no guest image {}", name));
}

std::vector<std::string> image_names() {
  std::vector<std::string> names;
  for (const program_image& i : images()) names.push_back(i.name);
  return names;
}

bytes selftest_guest::stack_offset(std::uint32_t v) {
  return bytes{v * stack_pages * page};
}

selftest_guest::selftest_guest(const program_image& image, std::uint32_t vcpus,
                               bytes bytes_per_vcpu, bytes test_size, ipa test_ipa,
                               const std::atomic<bool>* stop)
    : image_(image), root_(table_base), test_ipa_(test_ipa), test_size_(test_size) {
  const std::uint64_t pages_per_vcpu = (bytes_per_vcpu.value() + page - 1) / page;
  slot0_size_ =
      bytes{(image.base_pages + vcpus * (stack_pages + (pages_per_vcpu + 511) / 512 * 2)) * page};
  test_l3_.assign((test_size.value() + (1ULL << 21) - 1) >> 21, 0);

  tables_.reserve(test_l3_.size() + test_l3_.size() / 256 + 1024);
  tables_.push_back({0, level::l0});
  upper_[upper_key(level::l0, 0)] = 0;
  // In the order of the selftests' loader: program, low data, stacks, test memory, MMIO page.
  for (const segment& s : image.segments) map_tables(s.va, s.size, stop);
  const bytes all_stacks{vcpus * stack_pages * page};
  map_tables(gva{stack_va}, all_stacks, stop);
  if (!image.mmio_mapped_last) map_tables(image.mmio_va, bytes{page}, stop);
  map_tables(test_va, test_size, stop);
  if (image.mmio_mapped_last) map_tables(image.mmio_va, bytes{page}, stop);

  const ipa tables_end = table_ipa(static_cast<std::uint32_t>(tables_.size()));
  // Stacks take the lowest free pages: behind the program, then behind the tables.
  const std::uint64_t first_stack = image.name == "selftest-6.1" ? 0xcd000 : 0x15c000;
  const std::uint64_t below = (table_base - first_stack) / page / stack_pages * stack_pages * page;
  if (all_stacks.value() <= below) {
    stacks_.push_back({gva{stack_va}, ipa{first_stack}, all_stacks});
  } else {
    stacks_.push_back({gva{stack_va}, ipa{first_stack}, bytes{below}});
    stacks_.push_back({gva{stack_va + below}, tables_end, all_stacks - bytes{below}});
  }
  const bytes needed = (tables_end - ipa{}) + all_stacks;
  if (slot0_size_ < needed) slot0_size_ = needed;
  mmio_ipa_ = image.mmio_ipa == ipa{} ? ipa{} + slot0_size_ : image.mmio_ipa;
}

ipa selftest_guest::table_ipa(std::uint32_t index) const {
  return ipa{table_base + (index == 0 ? 0 : index + 1) * page};
}

std::uint32_t selftest_guest::ensure(level l, std::uint64_t va) {
  if (l == level::l3 && va >= test_va.value() && va - test_va.value() < test_size_.value()) {
    std::uint32_t& t = test_l3_[(va - test_va.value()) >> 21];
    if (t == 0) {
      t = static_cast<std::uint32_t>(tables_.size());
      tables_.push_back({va >> 21 << 21, l});
    }
    return t;
  }
  const auto [it, fresh] =
      upper_.try_emplace(upper_key(l, va), static_cast<std::uint32_t>(tables_.size()));
  if (fresh) {
    const unsigned shift = mmu::granule_4k.shift(l) + mmu::granule_4k.bits_per_level;
    tables_.push_back({va >> shift << shift, l});
  }
  return it->second;
}

void selftest_guest::map_tables(gva begin, bytes size, const std::atomic<bool>* stop) {
  constexpr std::uint64_t between_looks = 1ULL << 36;
  const std::uint64_t end = begin.value() + size.value();
  for (std::uint64_t va = begin.value() >> 21 << 21; va < end; va += 1ULL << 21) {
    if (va % between_looks == 0 && stop != nullptr && stop->load(std::memory_order_relaxed))
      throw engine::interrupted("stopped by request");
    for (const level l : {level::l1, level::l2, level::l3}) ensure(l, va);
  }
}

mmu::descriptor selftest_guest::leaf(std::uint64_t va) const {
  mmu::stage1_attributes attributes;
  if (va - test_va.value() < test_size_.value()) [[likely]]
    return mmu::make_stage1_leaf(test_ipa_ + bytes{va - test_va.value()}, level::l3, attributes);
  for (const segment& s : stacks_)
    if (va - s.va.value() < s.size.value())
      return mmu::make_stage1_leaf(s.ipa + bytes{va - s.va.value()}, level::l3, attributes);
  if (va == image_.mmio_va.value()) return mmu::make_stage1_leaf(mmio_ipa_, level::l3, attributes);
  for (const segment& s : image_.segments)
    if (va - s.va.value() < s.size.value())
      return mmu::make_stage1_leaf(s.ipa + bytes{va - s.va.value()}, level::l3, attributes);
  return {};
}

mmu::descriptor selftest_guest::load(ipa address, level l) const {
  const std::uint64_t number = (address.value() - table_base) / page;
  const std::uint64_t index = number == 0 ? 0 : number - 1;
  if (index >= tables_.size()) return {};
  const table& t = tables_[index];
  const std::uint64_t entry = (address.value() & (page - 1)) / sizeof(mmu::descriptor);
  const std::uint64_t va = t.va + (entry << mmu::granule_4k.shift(l));
  if (l == level::l3) [[likely]]
    return leaf(va);
  const level below = mmu::next(l);
  if (below == level::l3 && va - test_va.value() < test_size_.value() && va >= test_va.value())
    return mmu::make_stage1_table(table_ipa(test_l3_[(va - test_va.value()) >> 21]));
  const auto it = upper_.find(upper_key(below, va));
  if (it == upper_.end()) return {};
  return mmu::make_stage1_table(table_ipa(it->second));
}

mmu::descriptor selftest_guest::linear_table(ipa address) const {
  const std::uint64_t number = (address.value() - table_base) / page;
  const std::uint64_t index = number == 0 ? 0 : number - 1;
  if (index >= tables_.size() || tables_[index].level != level::l3) return {};
  constexpr std::uint64_t span = 1ULL << 21;
  const std::uint64_t va = tables_[index].va;
  // Only test memory fills whole tables.
  const bool whole = va >= test_va.value() && va - test_va.value() + span <= test_size_.value();
  return whole ? leaf(va) : mmu::descriptor{};
}

bytes selftest_guest::memory_bytes() const {
  return bytes{tables_.size() * sizeof(table) + test_l3_.size() * sizeof(test_l3_[0]) +
               upper_.size() * 32};
}

}  // namespace hvsim::workloads
