// SPDX-License-Identifier: Apache-2.0
// What the workloads that replay access streams share: test memory, its dirty log, their ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "guest_workloads/session.hpp"
#include "sim/registry/node.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::workloads {

/// Which of KVM's ways to keep a dirty log the VMM uses.
enum class log_protocol : std::uint8_t {
  initially_set,   ///< KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 with both flags: CLEAR protects
  manual_protect,  ///< without INITIALLY_SET: enabling protects too
  write_protect    ///< neither: enabling protects, GET fetches and protects
};

/// workload.backing, .memslots, .logging and .teardown.
std::vector<registry::parameter> stream_parameters();

/// Complains at `path` if `total` bytes of test memory cannot be: not whole pages in each memslot,
/// or too large for the guest's addresses.
void check_memory(const registry::value_map& v, std::uint64_t total, const std::string& path,
                  std::vector<registry::diagnostic>& out);

/// The VMM's side of the dirty log over all test slots. Called on the main thread's fiber.
class dirty_log {
 public:
  explicit dirty_log(session& s);
  void enable();
  void disable();
  /// KVM_GET_DIRTY_LOG of every slot.
  void get();
  /// KVM_CLEAR_DIRTY_LOG of every slot; nothing with log_protocol::write_protect.
  void clear();
  [[nodiscard]] bool enabled() const { return enabled_; }
  /// Whether CLEAR exists in the protocol.
  [[nodiscard]] bool clears() const { return protocol_ != log_protocol::write_protect; }

 private:
  session& session_;
  log_protocol protocol_;
  bool enabled_ = false;
};

/// Runs `work`, reports its time under `key` with one line of text, and ends a phase of that name.
void timed_phase(session& s, const std::string& key, const std::function<void()>& work);

/// One vCPU's guest: called once a pass, on the vCPU's fiber.
using guest_pass = std::function<void()>;

/// Starts the vCPUs and runs `main` on the calling main thread's fiber, with their passes at its
/// command; then lets them go and tears down. Phase "start" ends when all vCPUs have started. Each
/// vCPU's fiber calls `make` once.
void with_vcpus(session& s, const std::function<guest_pass(session&, vcpu::vcpu&)>& make,
                const std::function<void(rounds&)>& main);

/// Deletes the slots and frees the tables as phase "teardown", if the scenario wants it.
void tear_down(session& s);

}  // namespace hvsim::workloads
