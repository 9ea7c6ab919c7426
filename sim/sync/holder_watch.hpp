// SPDX-License-Identifier: Apache-2.0
// How long a lock has been held by somebody who has no CPU.
#pragma once

#include "sim/engine/cpu_sharing.hpp"
#include "sim/engine/units.hpp"

namespace hvsim::sync {

/// Listens to the CPUs of one lock's holders: time counts while at least one of them has none. Used
/// by the fibers of one engine.
class holder_watch final : public engine::cpu_listener {
 public:
  void cpu_lost(engine::thread&, engine::sim_time now) override {
    if (without_++ == 0) since_ = now;
  }
  void cpu_got(engine::thread&, engine::sim_time now) override {
    if (--without_ == 0) total_ += now - since_;
  }
  /// Until `now`, which is not before the last call.
  [[nodiscard]] engine::duration time_without_cpu(engine::sim_time now) const {
    return without_ == 0 || now < since_ ? total_ : total_ + (now - since_);
  }

 private:
  std::uint32_t without_ = 0;
  engine::sim_time since_;
  engine::duration total_;
};

}  // namespace hvsim::sync
