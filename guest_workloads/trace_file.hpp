// SPDX-License-Identifier: Apache-2.0
// A trace on disk, read in blocks while it runs: memory does not grow with the file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "guest_workloads/trace_format.hpp"
#include "sim/engine/units.hpp"
#include "sim/registry/node.hpp"
#include "sim/scenario/input.hpp"
#include "vcpu/syndrome.hpp"

namespace hvsim::workloads {

/// A trace has a wrong line, or does not fit the guest.
class trace_error : public std::runtime_error {
 public:
  /// The message is file:line:col: error: what was expected.
  explicit trace_error(const registry::diagnostic& d);
};

/// The trace itself cannot be opened or read (missing, a directory, a device, rights).
class trace_unreadable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class trace_format : std::uint8_t { hvsim, ftrace };

/// The guest that a trace must fit.
struct trace_guest {
  std::uint32_t vcpus = 1;
  engine::gva test_va{};
  engine::ipa test_ipa{};
  engine::bytes test_size{};
  bool logging = false;  ///< the dirty log is enabled before the first line
  /// Pages that one access may touch: more could not be mapped.
  std::uint64_t most_pages = ~std::uint64_t{0};
  /// Guest virtual to physical; nothing where the guest maps nothing.
  std::function<std::optional<engine::ipa>(engine::gva)> translate;
};

/// One step of a vCPU, or of all where the kind is no access.
struct trace_step {
  std::uint32_t thread = 0;  ///< vCPU number; in ftrace, the pid
  trace_kind kind = trace_kind::barrier;
  bool table_walk = false;  ///< ftrace: the recorded fault was one of a stage-1 walk
  engine::gva address{};
  engine::gva pc{};                 ///< ftrace only
  vcpu::access_syndrome operand{};  ///< ftrace only
  std::uint32_t slot = 0;           ///< log_enable, log_disable of ftrace
  std::uint64_t size = 1;           ///< bytes, within the test memory
  engine::duration delay{};
};

/// See the head of this file. Used by the fibers of one engine.
class trace_file {
 public:
  /// Reads the file once from end to end and throws trace_error at its first wrong line, or
  /// trace_unreadable. A stream is copied to disk first (scenario::input_file).
  trace_file(std::string path, trace_format format, trace_guest guest);

  /// Accesses of all vCPUs, one for each page that an access touches.
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }
  /// ftrace: faults that lie in no memory of this guest, left out.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }
  /// Every step that is no access, in order.
  [[nodiscard]] const std::vector<trace_step>& pauses() const { return pauses_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Reads the steps of one vCPU in file order, pauses among them.
  class cursor {
   public:
    cursor(trace_file& file, std::uint32_t vcpu);
    /// The next step, or nullptr at the end. Valid until the next call.
    const trace_step* next();

   private:
    trace_file& file_;
    std::uint32_t thread_ = 0;
    const std::vector<std::uint32_t>* blocks_ = nullptr;
    std::size_t next_block_ = 0;
    std::shared_ptr<const std::vector<trace_step>> steps_;
    std::size_t at_ = 0;
  };

 private:
  struct block {
    std::uint64_t offset = 0;
    std::uint64_t line = 0;  ///< number of its first line
  };
  struct cached {
    std::uint32_t number = ~0U;
    std::shared_ptr<const std::vector<trace_step>> steps;
  };

  [[noreturn]] void complain(std::uint64_t line, int column, std::string message) const;
  std::string read_block(std::uint64_t offset);
  void refuse_other_encodings(std::string_view head) const;
  std::vector<trace_step> parse(std::string_view text, std::uint64_t first_line, bool first_time);
  std::optional<trace_step> step_of(const trace_line& t, std::uint64_t line) const;
  std::optional<trace_step> step_of(const ftrace_line& f, bool first_time);
  void follow_log(trace_kind k, std::uint64_t line);
  void scan();
  void index(const std::vector<trace_step>& steps, std::uint32_t number);
  std::shared_ptr<const std::vector<trace_step>> steps_of(std::uint32_t number);

  std::string path_;
  trace_format format_;
  trace_guest guest_;
  std::optional<scenario::input_file> in_;
  std::vector<block> blocks_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> blocks_of_;  // by thread: who has steps where
  std::vector<std::uint32_t> threads_;                             // by vCPU
  std::vector<std::uint32_t> pause_blocks_;
  std::vector<trace_step> pauses_;
  std::array<cached, 16> cache_;
  std::size_t oldest_ = 0;
  std::uint64_t accesses_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace hvsim::workloads
