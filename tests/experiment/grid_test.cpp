// SPDX-License-Identifier: Apache-2.0
#include "sim/experiment/grid.hpp"

#include <catch2/catch.hpp>

#include "sim/experiment/source.hpp"

using namespace hvsim::experiment;
using Catch::Matchers::Contains;

TEST_CASE("the last axis changes fastest", "[experiment]") {
  const auto cells = grid_cells({parse_axis("k=a,b"), parse_axis("vm.vcpus=1, 2,4")});
  REQUIRE(cells.size() == 6);
  CHECK(sets_of(cells[0]) == std::vector<std::string>{"k=a", "vm.vcpus=1"});
  CHECK(sets_of(cells[1]) == std::vector<std::string>{"k=a", "vm.vcpus=2"});
  CHECK(sets_of(cells[3]) == std::vector<std::string>{"k=b", "vm.vcpus=1"});
  CHECK(sets_of(cells[5]) == std::vector<std::string>{"k=b", "vm.vcpus=4"});
  CHECK(grid_cells({}).size() == 1);
}

TEST_CASE("commas in brackets do not split and '=' may be in a value", "[experiment]") {
  CHECK(parse_axis("cores=[0,1],[2,3]").values == std::vector<std::string>{"[0,1]", "[2,3]"});
  CHECK(parse_axis("text=a=b").values == std::vector<std::string>{"a=b"});
}

TEST_CASE("a wrong axis says what it wants", "[experiment]") {
  CHECK_THROWS_WITH(parse_axis("vm.vcpus"), Contains("expected KEY=VALUE"));
  CHECK_THROWS_WITH(parse_axis("=1"), Contains("expected KEY=VALUE"));
  CHECK_THROWS_WITH(parse_axis("k=1,,2"), Contains("empty value"));
  CHECK_THROWS_WITH(parse_axis("k=1,2,1"), Contains("'1' twice"));
  CHECK_THROWS_WITH(grid_cells({{"k", {"1"}}, {"k", {"2"}}}), Contains("key 'k' twice"));
}
