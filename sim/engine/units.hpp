// SPDX-License-Identifier: Apache-2.0
// Strong integer types for time, addresses, frame numbers and sizes.
//
// Every interface of hvsim uses these instead of bare integers. They are plain values: copy them
// freely, from any thread or fiber. Arithmetic is the arithmetic that makes sense for the quantity
// (address + size, time + duration); anything else needs `.value()`.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace hvsim::engine {

/// A tagged integer that can be compared but not computed with.
template <class Tag, class Rep = std::uint64_t>
class strong {
 public:
  using rep = Rep;
  constexpr strong() = default;
  constexpr explicit strong(Rep v) : value_(v) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(strong, strong) = default;

 private:
  Rep value_ = 0;
};

/// A span of virtual time in picoseconds. Never negative in results.
class duration {
 public:
  using rep = std::int64_t;
  constexpr duration() = default;
  constexpr explicit duration(rep ps) : ps_(ps) {}
  [[nodiscard]] constexpr rep ps() const { return ps_; }
  constexpr duration& operator+=(duration d) {
    ps_ += d.ps_;
    return *this;
  }
  constexpr duration& operator-=(duration d) {
    ps_ -= d.ps_;
    return *this;
  }
  friend constexpr duration operator+(duration a, duration b) { return duration{a.ps_ + b.ps_}; }
  friend constexpr duration operator-(duration a, duration b) { return duration{a.ps_ - b.ps_}; }
  friend constexpr duration operator*(duration a, rep k) { return duration{a.ps_ * k}; }
  friend constexpr duration operator*(rep k, duration a) { return duration{a.ps_ * k}; }
  friend constexpr duration operator/(duration a, rep k) { return duration{a.ps_ / k}; }
  friend constexpr auto operator<=>(duration, duration) = default;

 private:
  rep ps_ = 0;
};

constexpr duration picoseconds(duration::rep n) {
  return duration{n};
}
constexpr duration nanoseconds(duration::rep n) {
  return duration{n * 1'000};
}
constexpr duration microseconds(duration::rep n) {
  return duration{n * 1'000'000};
}
constexpr duration milliseconds(duration::rep n) {
  return duration{n * 1'000'000'000};
}
constexpr duration seconds(duration::rep n) {
  return duration{n * 1'000'000'000'000};
}

/// A point in virtual time: picoseconds since the start of the run.
class sim_time {
 public:
  constexpr sim_time() = default;
  constexpr explicit sim_time(std::int64_t ps) : ps_(ps) {}
  [[nodiscard]] constexpr std::int64_t ps() const { return ps_; }
  constexpr sim_time& operator+=(duration d) {
    ps_ += d.ps();
    return *this;
  }
  friend constexpr sim_time operator+(sim_time t, duration d) { return sim_time{t.ps_ + d.ps()}; }
  friend constexpr sim_time operator-(sim_time t, duration d) { return sim_time{t.ps_ - d.ps()}; }
  friend constexpr duration operator-(sim_time a, sim_time b) { return duration{a.ps_ - b.ps_}; }
  friend constexpr auto operator<=>(sim_time, sim_time) = default;

 private:
  std::int64_t ps_ = 0;
};

/// A number of bytes.
class bytes {
 public:
  constexpr bytes() = default;
  constexpr explicit bytes(std::uint64_t n) : n_(n) {}
  [[nodiscard]] constexpr std::uint64_t value() const { return n_; }
  friend constexpr bytes operator+(bytes a, bytes b) { return bytes{a.n_ + b.n_}; }
  friend constexpr bytes operator-(bytes a, bytes b) { return bytes{a.n_ - b.n_}; }
  friend constexpr bytes operator*(bytes a, std::uint64_t k) { return bytes{a.n_ * k}; }
  friend constexpr std::uint64_t operator/(bytes a, bytes b) { return a.n_ / b.n_; }
  friend constexpr auto operator<=>(bytes, bytes) = default;

 private:
  std::uint64_t n_ = 0;
};

constexpr bytes kibibytes(std::uint64_t n) {
  return bytes{n << 10};
}
constexpr bytes mebibytes(std::uint64_t n) {
  return bytes{n << 20};
}
constexpr bytes gibibytes(std::uint64_t n) {
  return bytes{n << 30};
}

/// An address in the space that Tag names. address + bytes is an address of the same space.
template <class Tag>
class address {
 public:
  constexpr address() = default;
  constexpr explicit address(std::uint64_t v) : value_(v) {}
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  /// The address rounded down to a multiple of 2^shift.
  [[nodiscard]] constexpr address align_down(unsigned shift) const {
    return address{value_ >> shift << shift};
  }
  friend constexpr address operator+(address a, bytes n) { return address{a.value_ + n.value()}; }
  friend constexpr address operator-(address a, bytes n) { return address{a.value_ - n.value()}; }
  friend constexpr bytes operator-(address a, address b) { return bytes{a.value_ - b.value_}; }
  friend constexpr auto operator<=>(address, address) = default;

 private:
  std::uint64_t value_ = 0;
};

struct gva_tag;
struct ipa_tag;
struct pa_tag;
struct hva_tag;
struct gfn_tag;
struct pfn_tag;
struct vcpu_tag;
struct core_tag;
struct vmid_tag;
struct asid_tag;

/// Guest virtual address (input of stage 1).
using gva = address<gva_tag>;
/// Intermediate physical address (output of stage 1, input of stage 2); KVM's gpa.
using ipa = address<ipa_tag>;
/// Physical address of the host.
using pa = address<pa_tag>;
/// Host virtual address, in the process that owns the VM.
using hva = address<hva_tag>;
/// Guest frame number: ipa >> page shift.
using gfn = strong<gfn_tag>;
/// Host page frame number: pa >> page shift.
using pfn = strong<pfn_tag>;
/// Index of a vCPU in its VM, from 0.
using vcpu_id = strong<vcpu_tag, std::uint32_t>;
/// Index of a physical core, from 0.
using core_id = strong<core_tag, std::uint32_t>;
/// Virtual machine identifier (VTTBR_EL2.VMID).
using vmid = strong<vmid_tag, std::uint16_t>;
/// Address space identifier of stage 1.
using asid = strong<asid_tag, std::uint16_t>;

/// log2 of a size in bytes (12 for 4 KiB).
enum class page_shift : std::uint8_t {};
constexpr unsigned to_unsigned(page_shift s) {
  return static_cast<unsigned>(s);
}

}  // namespace hvsim::engine
