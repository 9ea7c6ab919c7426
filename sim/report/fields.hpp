// SPDX-License-Identifier: Apache-2.0
// The figures of a result's rows by name: one table for every format that reads or writes them.
#pragma once

#include <array>
#include <string_view>

#include "sim/report/result.hpp"

namespace hvsim::report {

template <class Row, class Value>
struct field {
  std::string_view name;
  Value Row::*at;
};
template <class Row>
using count_field = field<Row, std::uint64_t>;
template <class Row>
using time_field = field<Row, engine::duration>;

/// `counts` and `times` of a row, in the order in which formats show them: counts first.
template <class Row>
struct fields;

template <>
struct fields<lock_result> {
  static constexpr std::array<count_field<lock_result>, 2> counts{
      {{"acquisitions", &lock_result::acquisitions}, {"contended", &lock_result::contended}}};
  static constexpr std::array<time_field<lock_result>, 4> times{
      {{"total_wait", &lock_result::total_wait},
       {"max_wait", &lock_result::max_wait},
       {"total_hold", &lock_result::total_hold},
       {"max_hold", &lock_result::max_hold}}};
};

template <>
struct fields<exit_result> {
  static constexpr std::array<count_field<exit_result>, 1> counts{
      {{"samples", &exit_result::samples}}};
  static constexpr std::array<time_field<exit_result>, 3> times{
      {{"total", &exit_result::total}, {"min", &exit_result::min}, {"max", &exit_result::max}}};
};

template <>
struct fields<latency_summary> {
  static constexpr std::array<count_field<latency_summary>, 1> counts{
      {{"count", &latency_summary::count}}};
  static constexpr std::array<time_field<latency_summary>, 7> times{
      {{"min", &latency_summary::min},
       {"mean", &latency_summary::mean},
       {"p50", &latency_summary::p50},
       {"p90", &latency_summary::p90},
       {"p99", &latency_summary::p99},
       {"p999", &latency_summary::p999},
       {"max", &latency_summary::max}}};
};

/// Figures of the whole run. Its time and its threads stand before them.
template <>
struct fields<run_result> {
  static constexpr std::array<count_field<run_result>, 4> counts{
      {{"faults", &run_result::faults},
       {"accesses", &run_result::accesses},
       {"table_bytes", &run_result::table_bytes},
       {"guest_pages", &run_result::guest_pages}}};
};

}  // namespace hvsim::report
