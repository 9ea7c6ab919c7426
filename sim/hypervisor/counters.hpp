// SPDX-License-Identifier: Apache-2.0
// What probes on the real kernel would count, by the names of the recorded counts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mmu/granule.hpp"
#include "sim/engine/units.hpp"
#include "vcpu/syndrome.hpp"

namespace hvsim::hypervisor {

/// One kernel function or outcome without an argument.
enum class event : std::uint8_t {
  gup,
  mark_dirty,
  zalloc_tbl,
  put_page,
  put_pte,
  break_pte,
  tlbi_vmid,
  tlbi_range,
  wp_masked,
  split_huge,
  unmap_gfn,
  set_memory_region,
  get_dirty_log,
  clear_dirty_log,
  abort_to_userspace,  ///< kvm_handle_guest_abort returned 0
  abort_to_guest,      ///< it returned 1
  s2_relax,            ///< kvm_pgtable_stage2_relax_perms
  count
};

/// Kernel functions with a size argument.
enum class sized_event : std::uint8_t {
  s2_map,
  cmo_dcache,
  cmo_icache,
  s2_wrprotect,
  s2_unmap,
  s2_split,
  count
};
/// Kernel functions with a level argument.
enum class level_event : std::uint8_t {
  tlbi_ipa,
  tlbi_ipa_nsh,
  create_unlinked,
  free_unlinked,
  count
};
/// Operations with a return value.
enum class result_event : std::uint8_t { s2_map, s2_relax, count };

/// Which memslot an abort hit.
enum class fault_place : std::uint8_t { test, slot0, none };
/// What the abort was doing.
enum class fault_access : std::uint8_t { data_write, data_read, instruction };
enum class fault_status : std::uint8_t { translation, access_flag, permission, other };

/// An abort as the counts sort it.
struct fault_class {
  fault_place place;
  fault_access access;
  bool s1ptw;
  fault_status status;
  std::uint8_t level;
};

/// What the handler did about an abort.
enum class fault_action : std::uint8_t {
  none,
  map_page,
  map_page_ro,
  map_block,
  map_block_ro,
  relax,
  count
};

/// Counts of one VM. Incremented where the modelled call happens; never derived. Used by the
/// fibers of one engine.
class counters {
 public:
  void add(event e) { ++events_[static_cast<std::size_t>(e)]; }
  void add(sized_event e, engine::bytes size) {
    auto& row = sized_[static_cast<std::size_t>(e)];
    if (size.value() == 0x1000) {
      ++row.page;
    } else if (size.value() == 0x200000) {
      ++row.block;
    } else if (size.value() == 0) {  // instruction caches with CTR_EL0.DIC
      ++row.none;
    } else {
      ++row.other[size.value()];
    }
  }
  void add(level_event e, mmu::level_hint hint) {
    ++levels_[static_cast<std::size_t>(e)][hint ? static_cast<std::size_t>(mmu::to_int(*hint)) : 4];
  }
  /// `outcome`: 0 for success, 1 for -EAGAIN, 2 for -ENOMEM.
  void add(result_event e, unsigned outcome) { ++results_[static_cast<std::size_t>(e)][outcome]; }
  void add_fault(std::size_t row, fault_action a) {
    ++faults_[row];
    ++actions_[row][static_cast<std::size_t>(a)];
  }
  /// Where faults of a class are counted: what add_fault takes.
  [[nodiscard]] static std::size_t row_of(const fault_class& f) {
    return (((static_cast<std::size_t>(f.place) * 3 + static_cast<std::size_t>(f.access)) * 2 +
             (f.s1ptw ? 1 : 0)) *
                4 +
            static_cast<std::size_t>(f.status)) *
               4 +
           f.level;
  }

  [[nodiscard]] std::uint64_t total(event e) const { return events_[static_cast<std::size_t>(e)]; }

  /// Everything that is not zero, by the names of the recorded counts, in a fixed order.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> named() const;

  /// What was counted since `earlier`, a former copy of this object.
  [[nodiscard]] counters since(const counters& earlier) const;

 private:
  static constexpr std::size_t fault_classes = 3 * 3 * 2 * 4 * 4;
  struct sized_row {
    std::uint64_t page = 0;
    std::uint64_t block = 0;
    std::uint64_t none = 0;
    std::map<std::uint64_t, std::uint64_t> other;
  };
  std::array<std::uint64_t, static_cast<std::size_t>(event::count)> events_{};
  std::array<sized_row, static_cast<std::size_t>(sized_event::count)> sized_{};
  std::array<std::array<std::uint64_t, 5>, static_cast<std::size_t>(level_event::count)> levels_{};
  std::array<std::array<std::uint64_t, 3>, static_cast<std::size_t>(result_event::count)>
      results_{};
  std::array<std::uint64_t, fault_classes> faults_{};
  std::array<std::array<std::uint64_t, static_cast<std::size_t>(fault_action::count)>,
             fault_classes>
      actions_{};
};

}  // namespace hvsim::hypervisor
