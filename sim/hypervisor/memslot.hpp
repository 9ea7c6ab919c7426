// SPDX-License-Identifier: Apache-2.0
// A memslot: guest memory, the host memory behind it, and its dirty log.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/units.hpp"
#include "sim/machine/machine.hpp"

namespace hvsim::hypervisor {

/// Dirty log of a slot: one bit a 4 KiB page, set in the fault path, fetched and cleared by ioctls.
/// A 64-byte line covers 512 pages; lines that several vCPUs reach are contended.
class dirty_bitmap {
 public:
  void allocate(std::uint64_t pages, bool all_set) {
    words_.assign((pages + 63) / 64, all_set ? ~std::uint64_t{0} : 0);
    if (all_set && pages % 64 != 0) words_.back() = (std::uint64_t{1} << (pages % 64)) - 1;
    fetched_.assign(words_.size(), 0);
    lines_.assign((pages + 511) / 512, {});
  }
  void release() {
    words_.clear();
    fetched_.clear();
    lines_.clear();
  }
  [[nodiscard]] bool allocated() const { return !words_.empty(); }
  void set(std::uint64_t page) { words_[page / 64] |= std::uint64_t{1} << (page % 64); }
  [[nodiscard]] bool test(std::uint64_t page) const {
    return (words_[page / 64] >> (page % 64) & 1) != 0;
  }
  /// Clears the bits of `mask` in a word and returns those that were set.
  [[nodiscard]] std::uint64_t take(std::uint64_t word, std::uint64_t mask) {
    const std::uint64_t w = words_[word] & mask;
    words_[word] &= ~mask;
    return w;
  }
  /// What the last GET gave to the VMM, which hands it back to CLEAR.
  [[nodiscard]] std::uint64_t fetched(std::uint64_t word) const { return fetched_[word]; }
  void set_fetched(std::uint64_t word, std::uint64_t bits) { fetched_[word] = bits; }
  [[nodiscard]] std::uint64_t peek(std::uint64_t word) const { return words_[word]; }
  [[nodiscard]] std::uint64_t word_count() const { return words_.size(); }
  [[nodiscard]] machine::line& line_of(std::uint64_t page) { return lines_[page / 512]; }
  [[nodiscard]] engine::bytes size() const {
    return engine::bytes{words_.size() * 16 + lines_.size() * sizeof(machine::line)};
  }

 private:
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> fetched_;
  std::vector<machine::line> lines_;
};

/// KVM's kvm_memory_slot. Changed by ioctls of the main thread only.
struct memslot {
  std::uint32_t id = 0;
  engine::ipa base{};
  engine::bytes size{};
  engine::hva host{};
  std::size_t vma = 0;
  bool logging = false;
  dirty_bitmap dirty;

  [[nodiscard]] bool contains(engine::ipa a) const { return a - base < size && a >= base; }
  [[nodiscard]] std::uint64_t pages() const { return size.value() >> 12; }
  [[nodiscard]] std::uint64_t page_of(engine::ipa a) const { return (a - base).value() >> 12; }
  [[nodiscard]] engine::hva to_hva(engine::ipa a) const { return host + (a - base); }
};

}  // namespace hvsim::hypervisor
