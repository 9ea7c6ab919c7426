// SPDX-License-Identifier: Apache-2.0
// One run as JSON, CSV or text.
//
// All are pure functions of the result: the same result gives the same bytes on every host.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/report/json_source.hpp"
#include "sim/report/result.hpp"

namespace hvsim::report {

/// The run's document, schema `result_schema_version`. Integers are exact. A time is an integer
/// `*_ps`; the times that people look for come with the same in seconds as text (`*_s`, 9
/// decimals). The fingerprint is a hexadecimal string. What may differ between hosts is in
/// `provenance` and nowhere else.
nlohmann::ordered_json to_json(const run_result& result);

/// The result of a document that to_json wrote. Throws json_error for a field that is missing or of
/// another type, or a schema version that is not known.
run_result from_json(const nlohmann::ordered_json& document);
/// The same, and the message of its input_error has the place in the file.
run_result from_json(const json_source& source);

/// The header of to_csv: "run,path,value,unit".
std::string csv_header();
/// Tidy long form without the header: one row a metric, times in seconds with 12 decimals.
std::string to_csv(const run_result& result, const std::string& run);

/// The workload's own lines, then tables: phases, locks (as `perf lock contention`), exits (as
/// `perf kvm stat`), fault latency, breakdown, counts by phase. Tables without rows are left out.
std::string to_text(const run_result& result);

}  // namespace hvsim::report
