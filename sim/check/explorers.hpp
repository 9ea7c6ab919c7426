// SPDX-License-Identifier: Apache-2.0
// Choosers for explore mode: who moves next at each shared access.
//
// Each belongs to one engine run on one host thread; exhaustive_explorer goes on to the next run.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/engine/random.hpp"

namespace hvsim::check {

/// Random walk. With a mean run of 1 every choice is uniform over the runnable threads; longer runs
/// let one thread get far while another stands still, which is what races between long operations
/// need.
class random_explorer final : public engine::chooser {
 public:
  /// `mean_run`: mean number of choices for which a thread goes on, at least 1.
  random_explorer(std::uint64_t seed, std::uint64_t mean_run);
  std::size_t pick(std::span<const std::uint32_t> runnable, std::uint32_t current) override;

 private:
  engine::random_stream random_;
  std::uint64_t mean_run_;
};

/// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random priorities, and
/// `changes` moments at which the running thread falls below all others. A bug that needs d ordered
/// steps of n threads in k choices shows in at least one of n * k^(d-1) runs with d - 1 changes.
/// A thread that runs for `patience` choices while others could falls below them too: it may be
/// spinning on what they must do.
class pct_explorer final : public engine::chooser {
 public:
  static constexpr std::uint64_t patience = 20'000;

  /// `choices`: the length of a run, estimated; must be positive.
  pct_explorer(std::uint64_t seed, std::uint32_t changes, std::uint64_t choices);
  std::size_t pick(std::span<const std::uint32_t> runnable, std::uint32_t current) override;

 private:
  std::int64_t& priority(std::uint32_t thread);

  engine::random_stream random_;
  std::vector<std::uint64_t> change_at_;  // ascending
  std::vector<std::int64_t> priorities_;  // by thread id; 0: not drawn yet
  std::size_t next_change_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t in_a_row_ = 0;
  std::int64_t lowest_ = 0;
};

/// Depth-first over all choices, of which the first `depth` with more than one runnable thread are
/// enumerated; behind them the running thread goes on, or the runnable thread with the lowest id.
class exhaustive_explorer final : public engine::chooser {
 public:
  explicit exhaustive_explorer(std::size_t depth) : depth_(depth) {}
  /// Throws std::logic_error if a run does not repeat the choices of the one before it: the code
  /// under test then depends on something else than the order of moves.
  std::size_t pick(std::span<const std::uint32_t> runnable, std::uint32_t current) override;

  /// Goes back to the last choice that has an alternative and takes that; false when every run has
  /// been made. Call between runs.
  bool next_run();

 private:
  struct choice {
    std::size_t taken;
    std::size_t of;
  };
  std::size_t depth_;
  std::size_t position_ = 0;
  std::vector<choice> path_;
};

}  // namespace hvsim::check
