// SPDX-License-Identifier: Apache-2.0
// The guest program of KVM's selftests: where its code, stacks and stage-1 tables lie.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/engine/units.hpp"
#include "vcpu/vcpu.hpp"

namespace hvsim::workloads {

/// One access that the program makes outside its loop.
struct program_step {
  mmu::access_kind kind;
  engine::gva address;
  engine::gva pc;
  vcpu::access_syndrome operand;
  bool per_vcpu_stack = false;  ///< the address lies in the vCPU's own stack
};

/// A run of pages that the program maps, in the order in which the VMM maps them.
struct segment {
  engine::gva va;
  engine::ipa ipa;
  engine::bytes size;
};

/// What a build of the selftests looks like in memory. Layouts were read off recorded fault
/// streams of the selftests of Linux 6.1 and 6.12 (Debian, arm64).
struct program_image {
  std::string name;
  std::vector<segment> segments;
  std::vector<program_step> prologue;  ///< before the first page of a vCPU's first pass
  std::vector<program_step> epilogue;  ///< after the last page, before the sync exit
  engine::gva loop_pc;
  vcpu::access_syndrome loop_operand;
  engine::gva mmio_va;    ///< of the sync exit
  engine::ipa mmio_ipa;   ///< 0: right behind slot 0
  bool mmio_mapped_last;  ///< its tables come after those of the test memory
  vcpu::access_syndrome mmio_operand;
  engine::gva mmio_pc;
  std::uint64_t base_pages;  ///< of slot 0, before what each vCPU adds
  bool prints_seed;          ///< the VMM prints its random seed when it creates a VM (6.12)
};

/// Images by name: "selftest-6.1", "selftest-6.12". Throws std::invalid_argument otherwise.
const program_image& find_image(std::string_view name);
std::vector<std::string> image_names();

/// The guest's stage-1 translation, 4 KiB pages. Leaf descriptors are made up on demand from the
/// layout; tables have the addresses that the selftests' allocator gives them, so that accesses to
/// them fault at stage 2 as the real ones do. Immutable after construction.
class selftest_guest final : public vcpu::stage1_source {
 public:
  static constexpr engine::gva test_va{0xc0000000};

  /// Maps [test_va, test_va + test_size) to `test_ipa`. `stop` is read now and then while tables
  /// are laid out; when true, throws engine::interrupted. May be null.
  selftest_guest(const program_image& image, std::uint32_t vcpus, engine::bytes bytes_per_vcpu,
                 engine::bytes test_size, engine::ipa test_ipa,
                 const std::atomic<bool>* stop = nullptr);

  [[nodiscard]] mmu::descriptor load(engine::ipa address, mmu::level l) const override;
  [[nodiscard]] mmu::descriptor linear_table(engine::ipa table) const override;
  [[nodiscard]] engine::ipa root() const override { return root_; }

  [[nodiscard]] const program_image& image() const { return image_; }
  [[nodiscard]] engine::bytes slot0_size() const { return slot0_size_; }
  [[nodiscard]] engine::ipa mmio_ipa() const { return mmio_ipa_; }
  /// Offset of vCPU `v`'s stack from vCPU 0's.
  [[nodiscard]] static engine::bytes stack_offset(std::uint32_t v);
  /// Host bytes of the bookkeeping.
  [[nodiscard]] engine::bytes memory_bytes() const;

 private:
  struct table {
    std::uint64_t va;  // first address that it translates
    mmu::level level;
  };
  std::uint32_t ensure(mmu::level l, std::uint64_t va);
  void map_tables(engine::gva begin, engine::bytes size, const std::atomic<bool>* stop);
  [[nodiscard]] engine::ipa table_ipa(std::uint32_t index) const;
  [[nodiscard]] mmu::descriptor leaf(std::uint64_t va) const;

  const program_image& image_;
  engine::ipa root_;
  engine::bytes slot0_size_;
  engine::ipa mmio_ipa_;
  engine::ipa test_ipa_;
  engine::bytes test_size_;
  std::vector<segment> stacks_;
  std::vector<table> tables_;                               // in order of allocation
  std::unordered_map<std::uint64_t, std::uint32_t> upper_;  // level and index of va: table number
  std::vector<std::uint32_t> test_l3_;                      // per 2 MiB of test memory
};

}  // namespace hvsim::workloads
