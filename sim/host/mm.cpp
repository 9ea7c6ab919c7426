// SPDX-License-Identifier: Apache-2.0
#include "sim/host/mm.hpp"

#include <stdexcept>

namespace hvsim::host {

namespace {
constexpr unsigned small_shift = 12;
constexpr unsigned huge_shift = 21;
constexpr std::int64_t ps_per_second = 1'000'000'000'000;
}  // namespace

backing backing_from(std::string_view name) {
  if (name == "anonymous") return backing::anonymous;
  if (name == "anonymous_thp") return backing::anonymous_thp;
  if (name == "anonymous_hugetlb_2mb") return backing::anonymous_hugetlb_2mb;
  if (name == "shmem") return backing::shmem;
  throw std::invalid_argument("unknown backing " + std::string(name));
}

engine::bytes page_size_of(backing b) {
  return b == backing::anonymous_thp || b == backing::anonymous_hugetlb_2mb ? engine::mebibytes(2)
                                                                            : engine::kibibytes(4);
}

mm::mm(machine::machine& m) : machine_(m), lock_(m, "mmap_lock", engine::part::mmap_lock) {}

std::size_t mm::map(engine::hva begin, engine::bytes size, backing kind) {
  vma v;
  v.begin = begin;
  v.size = size;
  v.kind = kind;
  v.page_shift = page_size_of(kind) == engine::mebibytes(2) ? huge_shift : small_shift;
  const std::uint64_t page = std::uint64_t{1} << v.page_shift;
  v.frames = zeroed_array<std::uint32_t>((size.value() + page - 1) / page);
  vmas_.push_back(std::move(v));
  return vmas_.size() - 1;
}

void mm::clear() {
  vmas_.clear();
}

std::uint32_t mm::allocate(unsigned page_shift) {
  const std::uint64_t pages = std::uint64_t{1} << (page_shift - small_shift);
  next_frame_ = (next_frame_ + pages - 1) / pages * pages;
  const std::uint64_t frame = next_frame_ / pages;
  next_frame_ += pages;
  return static_cast<std::uint32_t>(frame + 1);
}

host_page mm::fault_in(machine::cpu& c, std::size_t vma_index, engine::hva address,
                       bool take_lock) {
  const machine::cost_table& costs = machine_.costs();
  engine::thread& t = *c.thread;
  vma& v = vmas_[vma_index];
  if (take_lock) lock_.down_read(c);
  const engine::sim_time since = t.now();
  t.advance(engine::part::allocation, costs.host_fault.draw(c.random));
  t.sync();
  const std::size_t page = (address - v.begin).value() >> v.page_shift;
  if (v.frames[page] == 0) {
    const std::uint32_t frame = allocate(v.page_shift);
    const std::uint64_t bytes = std::uint64_t{1} << v.page_shift;
    // bytes * 10^12 fits: 2^21 * 10^12 < 2^61.
    const engine::duration alone = c.random.perturb(
        engine::duration{static_cast<std::int64_t>(bytes) * ps_per_second / costs.zero_bandwidth},
        costs.zero_spread_permille);
    if (v.page_shift == huge_shift) {
      machine_.dram().transfer(t, engine::part::zeroing, machine::pass::clear, alone);
    } else {
      t.advance(engine::part::zeroing, machine_.dram().loaded(alone));
    }
    t.sync();
    if (v.frames[page] == 0) v.frames[page] = frame;
  }
  if (take_lock) lock_.up_read(c, since);
  return *lookup(vma_index, address);
}

void mm::populate(std::size_t vma_index) {
  vma& v = vmas_[vma_index];
  for (std::uint32_t& f : v.frames)
    if (f == 0) f = allocate(v.page_shift);
}

engine::bytes mm::table_bytes() const {
  std::uint64_t n = 0;
  for (const vma& v : vmas_) n += v.frames.size() * sizeof(v.frames[0]);
  return engine::bytes{n};
}

}  // namespace hvsim::host
