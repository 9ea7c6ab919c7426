// SPDX-License-Identifier: Apache-2.0
// ESR_EL2, FAR_EL2 and HPFAR_EL2 of aborts from a lower exception level.
//
// Encodings: Arm ARM, ESR_ELx ("ISS encoding for an exception from a Data Abort" and "... from an
// Instruction Abort") and HPFAR_EL2.
#pragma once

#include <cstdint>

#include "mmu/walker.hpp"

namespace hvsim::vcpu {

/// ESR_ELx.EC of the exceptions that matter here.
enum class exception_class : std::uint8_t {
  wfx = 0x01,
  hvc64 = 0x16,
  system_register = 0x18,
  instruction_abort_lower = 0x20,
  data_abort_lower = 0x24,
};

/// The instruction's registers and size, valid only if `valid` (ISV): single general-purpose
/// register loads and stores without writeback.
struct access_syndrome {
  bool valid = false;          ///< ISV
  std::uint8_t size_log2 = 0;  ///< SAS: 0 byte, 1 halfword, 2 word, 3 doubleword
  bool sign_extend = false;    ///< SSE
  std::uint8_t reg = 0;        ///< SRT: 0 to 31
  bool sixty_four = false;     ///< SF
  friend constexpr bool operator==(const access_syndrome&, const access_syndrome&) = default;
};

/// What an abort reports, before encoding.
struct abort_info {
  bool instruction = false;  ///< instruction abort (EC 0x20), else data abort (EC 0x24)
  mmu::fault_status status = mmu::fault_status::translation;  ///< not none
  mmu::level lvl = mmu::level::l3;
  bool s1ptw = false;              ///< stage-2 fault on a stage-1 table walk
  bool write = false;              ///< WnR; data aborts only
  bool cache_maintenance = false;  ///< CM; data aborts only
  access_syndrome access{};        ///< data aborts only
  friend constexpr bool operator==(const abort_info&, const abort_info&) = default;
};

/// ESR_EL2 as a value with the questions that a hypervisor asks of it.
class syndrome {
 public:
  constexpr syndrome() = default;
  constexpr explicit syndrome(std::uint64_t esr) : esr_(esr) {}
  /// ESR_EL2 of an abort that a 32-bit long instruction caused (IL set).
  static constexpr syndrome encode(const abort_info& a) {
    const auto ec = a.instruction ? exception_class::instruction_abort_lower
                                  : exception_class::data_abort_lower;
    std::uint64_t v = static_cast<std::uint64_t>(ec) << 26 | il;
    v |= static_cast<std::uint64_t>(a.status) << 2 | static_cast<std::uint64_t>(mmu::to_int(a.lvl));
    if (a.s1ptw) v |= s1ptw_bit;
    if (!a.instruction) {
      if (a.write) v |= wnr_bit;
      if (a.cache_maintenance) v |= cm_bit;
      if (a.access.valid)
        v |= isv_bit | std::uint64_t{a.access.size_log2} << 22 |
             std::uint64_t{a.access.sign_extend} << 21 | std::uint64_t{a.access.reg} << 16 |
             std::uint64_t{a.access.sixty_four} << 15;
    }
    return syndrome{v};
  }

  [[nodiscard]] constexpr std::uint64_t esr() const { return esr_; }
  [[nodiscard]] constexpr exception_class ec() const {
    return static_cast<exception_class>(esr_ >> 26 & 0x3F);
  }
  [[nodiscard]] constexpr bool is_instruction_abort() const {
    return ec() == exception_class::instruction_abort_lower;
  }
  [[nodiscard]] constexpr bool is_data_abort() const {
    return ec() == exception_class::data_abort_lower;
  }
  /// FSC[5:0].
  [[nodiscard]] constexpr std::uint8_t fsc() const {
    return static_cast<std::uint8_t>(esr_ & 0x3F);
  }
  /// Fault kind, or none for codes beyond 0x0f (external aborts, alignment and the like).
  [[nodiscard]] constexpr mmu::fault_status status() const {
    return fsc() < 0x10 ? static_cast<mmu::fault_status>(fsc() >> 2) : mmu::fault_status::none;
  }
  /// FSC[1:0]; meaningful if status() is not none.
  [[nodiscard]] constexpr mmu::level lvl() const { return static_cast<mmu::level>(esr_ & 3); }
  [[nodiscard]] constexpr bool s1ptw() const { return (esr_ & s1ptw_bit) != 0; }
  /// WnR of a data abort; false for instruction aborts.
  [[nodiscard]] constexpr bool wnr() const { return is_data_abort() && (esr_ & wnr_bit) != 0; }
  [[nodiscard]] constexpr bool cache_maintenance() const {
    return is_data_abort() && (esr_ & cm_bit) != 0;
  }
  /// An instruction fetch by the guest itself, not the table walk for it.
  [[nodiscard]] constexpr bool is_exec() const { return is_instruction_abort() && !s1ptw(); }
  [[nodiscard]] constexpr access_syndrome access() const {
    if (!is_data_abort() || (esr_ & isv_bit) == 0) return {};
    return {true, static_cast<std::uint8_t>(esr_ >> 22 & 3), (esr_ >> 21 & 1) != 0,
            static_cast<std::uint8_t>(esr_ >> 16 & 31), (esr_ >> 15 & 1) != 0};
  }
  /// The fields again, for an abort.
  [[nodiscard]] constexpr abort_info decode() const {
    return {is_instruction_abort(), status(), lvl(), s1ptw(), wnr(), cache_maintenance(), access()};
  }
  friend constexpr bool operator==(syndrome, syndrome) = default;

 private:
  static constexpr std::uint64_t il = 1ULL << 25;
  static constexpr std::uint64_t isv_bit = 1ULL << 24;
  static constexpr std::uint64_t cm_bit = 1ULL << 8;
  static constexpr std::uint64_t s1ptw_bit = 1ULL << 7;
  static constexpr std::uint64_t wnr_bit = 1ULL << 6;
  std::uint64_t esr_ = 0;
};

/// HPFAR_EL2: bits [47:12] of the intermediate address in [39:4].
class hpfar {
 public:
  constexpr hpfar() = default;
  constexpr explicit hpfar(std::uint64_t raw) : raw_(raw) {}
  static constexpr hpfar encode(engine::ipa a) {
    return hpfar{(a.value() & 0x0000FFFFFFFFF000) >> 8};
  }
  [[nodiscard]] constexpr std::uint64_t raw() const { return raw_; }
  /// The faulting page; the offset in it comes from FAR_EL2.
  [[nodiscard]] constexpr engine::ipa page() const {
    return engine::ipa{(raw_ & 0x000000FFFFFFFFF0) << 8};
  }
  friend constexpr bool operator==(hpfar, hpfar) = default;

 private:
  std::uint64_t raw_ = 0;
};

/// The registers that an abort to EL2 leaves behind.
struct fault_registers {
  syndrome esr;
  engine::gva far;
  hpfar hpfar_el2;
  /// Address that faulted in the guest's physical space, byte-exact unless the fault is S1PTW
  /// (FAR_EL2 then holds the guest access's address, not the table entry's).
  [[nodiscard]] constexpr engine::ipa fault_ipa() const {
    if (esr.s1ptw()) return hpfar_el2.page();
    return hpfar_el2.page() + engine::bytes{far.value() & 0xFFF};
  }
};

/// Whether HPFAR_EL2 is valid after this fault. Hardware leaves it unknown for a permission fault
/// that is not S1PTW; the hypervisor then translates FAR_EL2 itself (AT S1E1R).
constexpr bool hpfar_valid(syndrome s) {
  return s.s1ptw() || s.status() != mmu::fault_status::permission;
}

}  // namespace hvsim::vcpu
