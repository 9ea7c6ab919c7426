// SPDX-License-Identifier: Apache-2.0
#include "guest_workloads/draws.hpp"

#include "guest_workloads/stream_math.hpp"

namespace hvsim::workloads {

using engine::duration;
using engine::random_stream;

duration constant_draw(random_stream&, duration mean) {
  return mean;
}

duration uniform_draw(random_stream& r, duration mean) {
  if (mean == duration{}) return mean;
  return duration{
      static_cast<std::int64_t>(r.below(2 * static_cast<std::uint64_t>(mean.ps()) + 1))};
}

duration exponential_draw(random_stream& r, duration mean) {
  const double u = (static_cast<double>(r.next() >> 11) + 0.5) / 9007199254740992.0;  // 2^53
  return duration{static_cast<std::int64_t>(-portable_log(u) * static_cast<double>(mean.ps()))};
}

std::vector<std::string> draw_names() {
  return {"constant", "uniform", "exponential"};
}

draw find_draw(const std::string& name) {
  if (name == "uniform") return uniform_draw;
  return name == "exponential" ? exponential_draw : constant_draw;
}

}  // namespace hvsim::workloads
