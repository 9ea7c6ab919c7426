// SPDX-License-Identifier: Apache-2.0
// A guest task that spins on a word, as writers of the word find it.
#pragma once

#include <algorithm>

#include "sim/guest/locks/lock_port.hpp"
#include "sim/guest/task.hpp"

namespace hvsim::guest::locks {

struct watcher {
  task* who;
  word* looks_at;
  condition until;
  side_check side;
  engine::duration iteration;
  engine::duration before;  ///< CPU time that its spin has consumed in finished stretches
};

/// Keeps a watcher in the lists of its lines for as long as it spins.
class watch {
 public:
  explicit watch(watcher& w) : w_(w) {
    w_.looks_at->line->watchers.push_back(&w_);
    if (elsewhere()) w_.side.where->line->watchers.push_back(&w_);
  }
  ~watch() {
    std::erase(w_.looks_at->line->watchers, &w_);
    if (elsewhere()) std::erase(w_.side.where->line->watchers, &w_);
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

 private:
  [[nodiscard]] bool elsewhere() const {
    return w_.side.where != nullptr && w_.side.where->line != w_.looks_at->line;
  }
  watcher& w_;
};

}  // namespace hvsim::guest::locks
