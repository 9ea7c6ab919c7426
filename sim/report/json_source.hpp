// SPDX-License-Identifier: Apache-2.0
// A stored JSON document that knows where in its file its values stand.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/registry/node.hpp"
#include "sim/report/errors.hpp"

namespace hvsim::report {

/// Names a value of a document.
using json_place = nlohmann::ordered_json::json_pointer;

/// What is wrong with a value of a document.
struct json_problem {
  json_place at;  ///< of the value; where a member is missing, of the object that lacks it
  std::string message;
};

/// "cells[3].metrics.total_time", or an empty text for the whole document.
std::string path_text(const json_place& at);

/// A document cannot be read because of one value. what() has its path and no place.
class json_error : public input_error {
 public:
  json_error(json_place at, const std::string& message)
      : input_error((at.empty() ? "document" : path_text(at)) + ": " + message),
        problem_{std::move(at), message} {}
  [[nodiscard]] const json_problem& problem() const { return problem_; }

 private:
  json_problem problem_;
};

/// A text of JSON. Immutable.
class json_source {
 public:
  /// `file` is the name for messages. Throws input_error, with the place, for what is no JSON.
  json_source(std::string file, std::string_view text);

  [[nodiscard]] const nlohmann::ordered_json& document() const { return document_; }
  [[nodiscard]] const std::string& file() const { return file_; }

  /// Where the value begins; if it does not exist, the nearest value around it that does. Takes
  /// time in proportion to what stands before it.
  [[nodiscard]] registry::position where(const json_place& at) const;

  /// Throws input_error with all of them, "FILE:LINE:COL: error: PATH: MESSAGE", one a line.
  [[noreturn]] void refuse(const std::vector<json_problem>& problems) const;

 private:
  [[nodiscard]] registry::position position_of(std::size_t offset) const;

  std::string file_;
  std::string text_;
  nlohmann::ordered_json document_;
};

}  // namespace hvsim::report
