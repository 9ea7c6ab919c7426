// SPDX-License-Identifier: Apache-2.0
#include "sim/guest/backend.hpp"

#include <stdexcept>

namespace hvsim::guest {

std::string_view to_string(evidence e) {
  switch (e) {
    case evidence::published:
      return "published";
    case evidence::estimated:
      return "estimated";
    case evidence::fitted:
      return "fitted";
  }
  return "";
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const backend_table& t : backend_tables()) names.emplace_back(t.name);
  return names;
}

backend find_backend(const std::string& name) {
  for (const backend_table& t : backend_tables()) {
    if (t.name != name) continue;
    backend b;
    b.name = t.name;
    b.spin = t.spin;
    b.pending_loops = t.pending_loops;
    for (const backend_cost& c : t.costs) b.*c.field = c.value;
    for (const backend_habit& h : t.habits) b.*h.field = true;
    return b;
  }
  throw std::invalid_argument("no hypervisor " + name);
}

}  // namespace hvsim::guest
