// SPDX-License-Identifier: Apache-2.0
// A vCPU: its core, its TLBs, and how a guest access becomes a translation or an exit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "mmu/stage2.hpp"
#include "mmu/translate.hpp"
#include "sim/access/privacy.hpp"
#include "sim/engine/engine.hpp"
#include "sim/engine/histogram.hpp"
#include "sim/machine/machine.hpp"
#include "vcpu/fault_batch.hpp"
#include "vcpu/syndrome.hpp"

namespace hvsim::vcpu {

/// One TLB invalidation as the other cores of the inner-shareable domain receive it.
struct tlbi {
  enum class scope : std::uint8_t {
    ipa,   ///< IPAS2E1IS of one address, and VMALLE1IS
    vmid,  ///< VMALLS12E1IS
    range  ///< RIPAS2E1IS of [at, at + size), and VMALLE1IS
  };
  scope what = scope::vmid;
  engine::ipa at{};
  engine::bytes size{};
};

/// Invalidations of one VM in order. A vCPU applies those that it has not seen before it uses its
/// TLBs again: translation may go on with old entries until the invalidation is complete, and the
/// issuer pays for the wait. Used by the fibers of one engine.
class tlbi_log {
 public:
  static constexpr std::size_t capacity = 128;
  void push(const tlbi& op) { ring_[sequence_++ % capacity] = op; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  /// Operation number `n`; only the last `capacity` are kept.
  [[nodiscard]] const tlbi& at(std::uint64_t n) const { return ring_[n % capacity]; }

 private:
  std::array<tlbi, capacity> ring_{};
  std::uint64_t sequence_ = 0;
};

/// The guest took a stage-1 fault.
class guest_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Source of the guest's stage-1 descriptors (which may be generated on demand).
class stage1_source {
 public:
  virtual ~stage1_source() = default;
  /// The descriptor at `address` of a stage-1 table of level `l`.
  [[nodiscard]] virtual mmu::descriptor load(engine::ipa address, mmu::level l) const = 0;
  /// If the level 3 table at `table` maps consecutive pages with equal attributes throughout, its
  /// first descriptor; empty otherwise.
  [[nodiscard]] virtual mmu::descriptor linear_table(engine::ipa table) const = 0;
  /// TTBR0_EL1's table.
  [[nodiscard]] virtual engine::ipa root() const = 0;
};

class vcpu;
class page_run;

/// Called for every abort, on the vCPU's fiber.
class hypervisor {
 public:
  virtual ~hypervisor() = default;
  /// Handles the abort. True: back to the guest, which executes the access again. False: the VMM
  /// has completed the access (MMIO).
  virtual bool handle_abort(vcpu& v, const fault_registers& r) = 0;
  /// Handles aborts of `run` from the first one on, as many as it can handle ahead alike; perhaps
  /// none. What it does is what handle_abort would do for each.
  virtual void handle_run(vcpu& v, page_run& run) = 0;
};

/// What the vCPUs of one VM share. Must outlive them; `private_chunks` may be null (nothing is
/// private).
struct shared_context {
  machine::machine* machine = nullptr;
  const mmu::stage2* s2 = nullptr;
  const stage1_source* stage1 = nullptr;
  hypervisor* host = nullptr;
  const tlbi_log* log = nullptr;
  const access::privacy_map* privacy = nullptr;
  engine::histogram* fault_latency = nullptr;
  std::uint64_t seed = 1;
};

/// One vCPU thread. All members belong to its fiber.
class vcpu {
 public:
  vcpu(const shared_context& shared, engine::vcpu_id id, engine::core_id core);
  vcpu(const vcpu&) = delete;
  vcpu& operator=(const vcpu&) = delete;

  /// One guest access: translates, exits and tries again until it is done. Returns when the access
  /// has been executed, or emulated by the VMM. Throws guest_error for a stage-1 fault: the guests
  /// here have no handler for those.
  void access(engine::gva address, mmu::access_kind kind);

  /// `access` for each of `count` pages of 4 KiB from `first` on.
  void access_pages(engine::gva first, std::uint64_t count, mmu::access_kind kind);

  /// Guest instructions that access no memory.
  void think(engine::duration d) { cpu.thread->advance(engine::part::guest, d); }

  /// AT S1E1R on an address: the IPA to which stage 1 translates it, or nothing if the walk fails.
  [[nodiscard]] std::optional<engine::ipa> at_s1e1r(engine::gva address);

  /// Ends a run of private faults: takes the turns at locks of those that were handled ahead, and
  /// looks for invalidations by others. Before anything for which the time matters.
  void end_private_run() {
    if (!batch.empty()) [[unlikely]]
      trapped += batch.drain();
    private_run_ = 0;
    visible_ = shared_.log->sequence();
  }

  /// The abort that is handled now is one that may be handled ahead, whether it is or not: until a
  /// run of them ends, invalidations by others are not looked for, so that it makes no difference.
  void count_private_fault() { ++private_run_; }

  /// Executes one invalidation on this core's TLBs.
  void apply(const tlbi& op);

  /// Its thread is on another core, or another vCPU of the VM was on its core: nothing that its
  /// TLBs hold is used from the next access on. Also on another fiber.
  void forget_translations() { seen_ = shared_.log->sequence() - tlbi_log::capacity - 1; }

  [[nodiscard]] engine::vcpu_id id() const { return id_; }

  /// When the abort that is handled now trapped.
  engine::sim_time trapped;

  machine::cpu cpu;  ///< `thread` is set by the thread's body before the first access
  std::uint64_t accesses = 0;

 private:
  friend class page_run;
  struct reader;
  void apply_invalidations();
  void catch_up();
  inline void translate(engine::gva address, mmu::access_kind kind, mmu::translation& out);
  void remember_linear(engine::ipa entry);
  void access_again(engine::gva address, mmu::access_kind kind, mmu::translation& found);
  /// Accesses the pages from `first` on as far as each of them aborts and is handled ahead. Returns
  /// how many.
  std::uint32_t take_run(engine::gva first, std::uint64_t count, mmu::access_kind kind);
  [[gnu::always_inline]] inline bool take_abort(engine::gva address, mmu::access_kind kind,
                                                const mmu::translation& fault);
  [[nodiscard]] mmu::level stage1_level(engine::gva address, engine::ipa entry) const;
  /// Tells the watcher of the engine about an access that `found` translates. Takes no time.
  void report(engine::gva address, mmu::access_kind kind, const mmu::translation& found) const;
  /// Checked builds: the walker reads a stage-2 entry of level `l` for `at`.
  void check_read(mmu::level l, engine::ipa at) const {
    if (l >= mmu::level::l2 && shared_.privacy != nullptr)
      shared_.privacy->check_early(*cpu.thread, access::object::descriptor, at);
  }

  // In the order in which a fault touches it, cache line by cache line.
  const shared_context& shared_;
  std::uint64_t seen_ = 0;     // invalidations that this core's TLBs have followed,
  std::uint64_t visible_ = 0;  // of those that it may know
  engine::duration access_time_;
  engine::duration walk_step_;
  engine::vcpu_id id_;
  /// What the walk caches said about the 2 MiB of the last miss, so that the next page of a run
  /// need not ask again. Dropped with every invalidation and with every full walk.
  struct alignas(64) recent {
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    std::uint64_t va_block = none;  ///< VA >> 21
    std::uint64_t context = 0;      ///< of the TLB regime: both stages
    mmu::descriptor first{};        ///< of the linear stage-1 table
    engine::ipa ipa{};              ///< where its first page goes
    mmu::stage2_cached stage2{};
    std::uint64_t private_block = none;  ///< va_block if nobody else can reach this IPA
  };
  recent recent_;

 public:
  alignas(64) mmu::tlb tlb;
  exit_stats data_aborts, instruction_aborts;
  fault_batch batch;
  engine::gva pc{};           ///< of the accessing instruction, for traces
  access_syndrome operand{};  ///< size and register of the accessing instruction

 private:
  void translate_in_full(engine::gva address, mmu::access_kind kind, mmu::translation& out);
  bool translate_recent(engine::gva address, mmu::access_kind kind, mmu::translation& out);
  void remember(engine::gva address);
  mmu::stage1 stage1_;
  mmu::walk_options options_;
  engine::duration run_ahead_;
  bool batching_ = false;          // private faults may wait for the next one
  std::uint32_t private_run_ = 0;  // how many there were
  // The last level 3 table of stage 1 that maps one run of pages: its page number, first entry.
  std::uint64_t linear_page_ = 0;
  mmu::descriptor linear_first_{};
};

}  // namespace hvsim::vcpu
