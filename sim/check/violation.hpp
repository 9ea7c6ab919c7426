// SPDX-License-Identifier: Apache-2.0
// What checkers throw.
#pragma once

#include <stdexcept>

namespace hvsim::check {

/// A rule of the modelled kernel or of the architecture was broken. The message names the rule, the
/// object and the threads.
class violation : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace hvsim::check
