// SPDX-License-Identifier: Apache-2.0
// How much of this computer's memory a run is bound to take.
#pragma once

#include <optional>
#include <string>

#include "sim/engine/units.hpp"
#include "sim/scenario/scenario.hpp"

namespace hvsim::experiment {

/// A lower bound of what a run keeps: all of it follows from the size of the test memory and from
/// what the scenario says that is done with it.
struct memory_need {
  engine::bytes test_memory;  ///< simulated
  engine::bytes tables;       ///< translation tables, which have a limit of their own
  engine::bytes others;       ///< bookkeeping that grows with the test memory, dirty log and all
  engine::bytes reserved;     ///< largest array of which only what is used takes memory
  [[nodiscard]] engine::bytes total() const { return tables + others; }
};

/// Nothing for workloads with a guest kernel, which have no test memory. `s` has passed the rules.
std::optional<memory_need> least_memory(const scenario::scenario& s);

/// Memory and swap space of this computer.
engine::bytes memory_of_computer();

/// What users are told when memory was refused: that it was address space, where that is limited.
std::string memory_refused();

/// The rules that a run fits into `available` and its tables into workloads::most_table_memory.
std::vector<scenario::rule> memory_rules(engine::bytes available);

}  // namespace hvsim::experiment
