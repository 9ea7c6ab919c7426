// SPDX-License-Identifier: Apache-2.0
#include "sim/check/explorers.hpp"

#include <algorithm>
#include <stdexcept>

namespace hvsim::check {

namespace {
std::size_t index_of(std::span<const std::uint32_t> runnable, std::uint32_t thread) {
  return static_cast<std::size_t>(std::find(runnable.begin(), runnable.end(), thread) -
                                  runnable.begin());
}
}  // namespace

random_explorer::random_explorer(std::uint64_t seed, std::uint64_t mean_run)
    : random_(seed, 0), mean_run_(mean_run) {
  if (mean_run == 0) throw std::invalid_argument("a mean run of 0 choices");
}

std::size_t random_explorer::pick(std::span<const std::uint32_t> runnable, std::uint32_t current) {
  if (mean_run_ > 1) {
    const std::size_t i = index_of(runnable, current);
    if (i != runnable.size() && random_.below(mean_run_) != 0) return i;
  }
  return random_.below(runnable.size());
}

pct_explorer::pct_explorer(std::uint64_t seed, std::uint32_t changes, std::uint64_t choices)
    : random_(seed, 1) {
  if (choices == 0) throw std::invalid_argument("a run of 0 choices");
  for (std::uint32_t i = 0; i < changes; ++i) change_at_.push_back(random_.below(choices));
  std::sort(change_at_.begin(), change_at_.end());
}

std::int64_t& pct_explorer::priority(std::uint32_t thread) {
  if (thread >= priorities_.size()) priorities_.resize(thread + 1);
  std::int64_t& p = priorities_[thread];
  if (p == 0) p = 1 + static_cast<std::int64_t>(random_.next() >> 2);
  return p;
}

std::size_t pct_explorer::pick(std::span<const std::uint32_t> runnable, std::uint32_t current) {
  ++step_;
  const bool can_go_on = index_of(runnable, current) != runnable.size();
  while (next_change_ != change_at_.size() && change_at_[next_change_] < step_) {
    ++next_change_;
    if (can_go_on) priority(current) = --lowest_;
  }
  if (can_go_on && runnable.size() > 1 && in_a_row_ > patience) priority(current) = --lowest_;
  std::size_t best = 0;
  for (std::size_t i = 1; i < runnable.size(); ++i)
    if (priority(runnable[i]) > priority(runnable[best])) best = i;
  in_a_row_ = runnable[best] == current ? in_a_row_ + 1 : 0;
  return best;
}

std::size_t exhaustive_explorer::pick(std::span<const std::uint32_t> runnable,
                                      std::uint32_t current) {
  if (runnable.size() == 1) return 0;
  if (position_ == depth_) {
    const std::size_t i = index_of(runnable, current);
    return i == runnable.size() ? 0 : i;
  }
  if (position_ == path_.size()) path_.push_back({0, runnable.size()});
  const choice& c = path_[position_++];
  if (c.of != runnable.size())
    throw std::logic_error("explore: a run did not repeat the choices of the one before it");
  return c.taken;
}

bool exhaustive_explorer::next_run() {
  position_ = 0;
  while (!path_.empty()) {
    if (++path_.back().taken < path_.back().of) return true;
    path_.pop_back();
  }
  return false;
}

}  // namespace hvsim::check
