// SPDX-License-Identifier: Apache-2.0
// What goes wrong between a result and a file. Thrown by the libraries, shown by the program.
#pragma once

#include <stdexcept>

namespace hvsim::report {

/// A file could not be written. The message names the file and the reason.
class output_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A stored document (a saved result or comparison) cannot be read. The message names the place.
class input_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace hvsim::report
