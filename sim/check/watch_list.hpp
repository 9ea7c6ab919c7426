// SPDX-License-Identifier: Apache-2.0
// Several checkers on one engine.
#pragma once

#include <utility>
#include <vector>

#include "sim/engine/observer.hpp"

namespace hvsim::check {

/// Passes every event on, in the order in which the checkers were given. They must outlive it.
class watch_list final : public engine::observer {
 public:
  explicit watch_list(std::vector<engine::observer*> checkers) : checkers_(std::move(checkers)) {}

  void lock_taken(const engine::thread& t, const void* lock, const char* name,
                  bool exclusive) override {
    for (auto* c : checkers_) c->lock_taken(t, lock, name, exclusive);
  }
  void lock_dropped(const engine::thread& t, const void* lock, const char* name,
                    bool exclusive) override {
    for (auto* c : checkers_) c->lock_dropped(t, lock, name, exclusive);
  }
  void entry_changed(const engine::thread& t, engine::ipa begin, engine::bytes size) override {
    for (auto* c : checkers_) c->entry_changed(t, begin, size);
  }
  void invalidation_issued(const engine::thread& t, const engine::invalidation& i) override {
    for (auto* c : checkers_) c->invalidation_issued(t, i);
  }
  void invalidation_completed(const engine::thread& t, const engine::invalidation& i) override {
    for (auto* c : checkers_) c->invalidation_completed(t, i);
  }
  void translated(const engine::thread& t, const engine::translation_use& u) override {
    for (auto* c : checkers_) c->translated(t, u);
  }

 private:
  std::vector<engine::observer*> checkers_;
};

}  // namespace hvsim::check
