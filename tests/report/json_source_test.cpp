// SPDX-License-Identifier: Apache-2.0
#include "sim/report/json_source.hpp"

#include <catch2/catch.hpp>

using namespace hvsim;
using report::json_place;
using report::json_source;

namespace {

std::string place(const json_source& s, const char* pointer) {
  const registry::position p = s.where(json_place(pointer));
  return p.file + ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
}

std::string refusal(std::string_view text) {
  try {
    (void)json_source("f", text);
  } catch (const report::input_error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("every value of a document has a place", "[report]") {
  const json_source s("f", R"( {"a": [10, {"b,]}": "x\\\"]}"}, [ ] ],
  "c":-1.5e3 , "a\u0062" :
    null,"": {}})");
  CHECK(place(s, "") == "f:1:2");
  CHECK(place(s, "/a") == "f:1:8");
  CHECK(place(s, "/a/0") == "f:1:9");
  CHECK(place(s, "/a/1") == "f:1:13");
  CHECK(place(s, "/a/1/b,]}") == "f:1:22");
  CHECK(place(s, "/a/2") == "f:1:34");
  CHECK(place(s, "/c") == "f:2:7");
  CHECK(place(s, "/ab") == "f:3:5");
  CHECK(place(s, "/") == "f:3:14");
}

TEST_CASE("what is missing is looked for as far as it goes", "[report]") {
  const json_source s("f", R"({"a": [1, {"b": 2}]})");
  CHECK(place(s, "/a/1/c/d") == "f:1:11");
  CHECK(place(s, "/a/7") == "f:1:7");
  CHECK(place(s, "/a/x") == "f:1:7");
  CHECK(place(s, "/a/0/y") == "f:1:8");
  CHECK(place(s, "/z") == "f:1:1");
}

TEST_CASE("of a key that comes twice the last one counts", "[report]") {
  const json_source s("f", R"({"a": 1, "a": 2})");
  CHECK(s.document()["a"] == 2);
  CHECK(place(s, "/a") == "f:1:15");
}

TEST_CASE("places behind a byte order mark are those that an editor shows", "[report]") {
  CHECK(place(json_source("f", "\xef\xbb\xbf[1]"), "/0") == "f:1:2");
}

TEST_CASE("deep nesting is no danger", "[report]") {
  const std::size_t depth = 200'000;
  const json_source s("f", "[" + std::string(depth, '[') + std::string(depth, ']') + ", 5]");
  CHECK(place(s, "/1") == "f:1:" + std::to_string(2 * depth + 4));
}

TEST_CASE("what is no JSON is refused where it stops being so", "[report]") {
  CHECK(refusal("").starts_with("f:1:1: error: not JSON: "));
  CHECK(refusal("{\n  \"a\": 1,\n  oops\n}").starts_with("f:3:3: error: not JSON: "));
  CHECK(refusal("[1, 2").starts_with("f:1:6: error: not JSON: "));
  CHECK(refusal("[1] x").starts_with("f:1:5: error: not JSON: "));
}

TEST_CASE("a path is written with dots and brackets", "[report]") {
  CHECK(report::path_text(json_place("/cells/3/metrics/time.dirty1")) ==
        "cells[3].metrics.time.dirty1");
  CHECK(report::path_text(json_place("")) == "");
}
