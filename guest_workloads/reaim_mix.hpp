// SPDX-License-Identifier: Apache-2.0
// reaim's compute mix, its step from load to load, and its table.
//
// Source: reaim (OSDL re-aim-7), src/driver.c, data/workfile.compute, data/reaim.config.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/random.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::workloads {

/// One test function of a work file.
enum class reaim_test : std::uint8_t {
  add_double,
  add_int,
  add_long,
  array_rtns,
  disk_cp,
  disk_rd,
  disk_src,
  disk_wrt,
  div_double,
  div_int,
  matrix_rtns,
  mem_rtns_1,
  mem_rtns_2,
  mul_double,
  mul_int,
  mul_long,
  new_raph,
  num_rtns_1,
  page_test,
  series_1,
  shared_memory,
  sieve,
  stream_pipe,
  string_rtns,
  trig_rtns,
  udp_test
};

struct reaim_weight {
  reaim_test test;
  std::uint32_t weight;
};

/// workfile.compute.
const std::vector<reaim_weight>& reaim_compute();

/// The calls that every child makes of `jobs` (reaim -j): each test round(jobs * weight / sum)
/// times, at least once, in the order of the file.
std::vector<reaim_test> reaim_calls(const std::vector<reaim_weight>& mix, std::uint32_t jobs);
/// Puts them into an order of one child.
void shuffle(std::vector<reaim_test>& calls, engine::random_stream& random);

/// The number of processes of each load.
class reaim_steps {
 public:
  reaim_steps(std::uint32_t first, std::uint32_t increment, std::uint32_t last)
      : processes_(first), increment_(increment), last_(last) {}
  [[nodiscard]] std::uint32_t processes() const { return processes_; }
  /// The load took so many ticks; false when it was the last. From the tenth load on the increment
  /// follows the growth of the time: below 1.2 it becomes incr * (1 + growth), above 1.3
  /// incr / (1 + growth).
  bool next(std::int64_t ticks);

 private:
  std::uint32_t processes_;
  std::uint32_t increment_;
  std::uint32_t last_;
  std::uint32_t loads_ = 0;
  std::int64_t ticks_before_ = 0;
};

/// times() counts in these.
inline constexpr engine::duration reaim_tick = engine::milliseconds(10);

/// One line of reaim's table.
struct reaim_row {
  std::uint32_t processes = 0;
  std::int64_t parent_ticks = 0;  ///< from the start signal to the last child's end
  std::int64_t system_ticks = 0;
  std::int64_t user_ticks = 0;
  std::uint32_t jobs = 101;                 ///< calls per child
  std::vector<std::int64_t> child_ticks{};  ///< from the start signal to each child's end

  [[nodiscard]] double jobs_per_minute() const;
  [[nodiscard]] double standard_deviation() const;  ///< of the children's times, in s
  [[nodiscard]] double deviation_percent() const;   ///< of their mean
  [[nodiscard]] int job_timing_index() const;
};

/// The two lines over the rows, and a row, as reaim prints them.
std::vector<std::string> reaim_header();
std::string to_text(const reaim_row& r);

}  // namespace hvsim::workloads
