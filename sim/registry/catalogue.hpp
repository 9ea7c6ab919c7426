// SPDX-License-Identifier: Apache-2.0
// Everything that can be named in a scenario, assembled once by the program and handed down.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/registry/parameter.hpp"

namespace hvsim::registry {

/// A named bundle of switch values, for example kernel preset "linux-6.1".
struct preset {
  std::string name;
  std::string help;
  std::vector<std::pair<std::string, std::string>> values;  ///< full key, value as a user writes it
};

/// Structured values of a scenario by full key.
using structure_map = std::map<std::string, node, std::less<>>;

/// A workload as the parser and `list` see it: its name, one line of help, and its parameters
/// (keys "workload.*").
struct workload_info {
  std::string name;
  std::string help;
  std::vector<parameter> parameters;
  /// Checks what single values cannot say: structures, and values against each other. Called when
  /// all single values are valid. A complaint without a file is shown where its path was written.
  /// May be empty.
  std::function<std::vector<diagnostic>(const value_map& values, const structure_map& structures)>
      check{};
  bool guest_kernel = false;  ///< it runs on a guest's kernel, not on the host's alone
};

struct catalogue {
  std::vector<parameter> common;    ///< vm.*, hypervisor.*, host.*, seed
  std::vector<parameter> costs;     ///< machine.costs.*: fields of a machine profile
  std::vector<parameter> topology;  ///< machine.topology.* and machine.features.*
  std::vector<workload_info> workloads;
  std::vector<preset> kernels;                                ///< values of hypervisor.kernel
  std::vector<std::pair<std::string, std::string>> machines;  ///< name, YAML text of the profile
};

}  // namespace hvsim::registry
