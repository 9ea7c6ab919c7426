// SPDX-License-Identifier: Apache-2.0
// From the world of a finished run to its results as plain data.
#pragma once

#include "guest_workloads/guest_session.hpp"
#include "guest_workloads/session.hpp"
#include "sim/report/result.hpp"

namespace hvsim::experiment {

/// Collects the results of a run that has ended. Everything but `source` is filled.
report::run_result convert(const workloads::session& s);
report::run_result convert(const workloads::guest_session& s);

}  // namespace hvsim::experiment
