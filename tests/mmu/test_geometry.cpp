// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <tuple>

#include "mmu/granule.hpp"

using namespace hvsim;
using namespace hvsim::mmu;

TEST_CASE("leaf sizes of the three granules") {
  CHECK(granule_4k.size(level::l1) == engine::gibibytes(1));
  CHECK(granule_4k.size(level::l2) == engine::mebibytes(2));
  CHECK(granule_4k.size(level::l3) == engine::kibibytes(4));
  CHECK(granule_16k.size(level::l2) == engine::mebibytes(32));
  CHECK(granule_16k.size(level::l3) == engine::kibibytes(16));
  CHECK(granule_64k.size(level::l2) == engine::mebibytes(512));
  CHECK(granule_64k.size(level::l3) == engine::kibibytes(64));
  CHECK(granule_4k.leaf_level(engine::mebibytes(2)) == level::l2);
  CHECK(granule_4k.leaf_level(engine::gibibytes(512)) == std::nullopt);
  CHECK(granule_16k.leaf_level(engine::mebibytes(2)) == std::nullopt);
  CHECK(granule_4k.entries() == 512);
  CHECK(granule_16k.entries() == 2048);
  CHECK(granule_64k.entries() == 8192);
}

TEST_CASE("stage-2 geometry for input sizes and granules") {
  // granule, IPA bits, levels, start level, start tables: a start level translates
  // page_shift + n * bits_per_level bits, and each bit beyond doubles the start tables, at most 16.
  using row = std::tuple<granule, unsigned, unsigned, level, unsigned>;
  const auto [g, bits, levels, start, tables] =
      GENERATE(table<granule, unsigned, unsigned, level, unsigned>({
          row{granule_4k, 32, 2, level::l2, 4},   row{granule_4k, 34, 2, level::l2, 16},
          row{granule_4k, 36, 3, level::l1, 1},   row{granule_4k, 39, 3, level::l1, 1},
          row{granule_4k, 40, 3, level::l1, 2},   row{granule_4k, 41, 3, level::l1, 4},
          row{granule_4k, 42, 3, level::l1, 8},   row{granule_4k, 43, 3, level::l1, 16},
          row{granule_4k, 44, 4, level::l0, 1},   row{granule_4k, 48, 4, level::l0, 1},
          row{granule_16k, 36, 2, level::l2, 1},  row{granule_16k, 40, 2, level::l2, 16},
          row{granule_16k, 41, 3, level::l1, 1},  row{granule_16k, 47, 3, level::l1, 1},
          row{granule_16k, 48, 3, level::l1, 2},  row{granule_64k, 36, 2, level::l2, 1},
          row{granule_64k, 42, 2, level::l2, 1},  row{granule_64k, 44, 2, level::l2, 4},
          row{granule_64k, 46, 2, level::l2, 16}, row{granule_64k, 47, 3, level::l1, 1},
          row{granule_64k, 48, 3, level::l1, 1},
      }));
  const stage2_geometry s = make_stage2_geometry(g, bits);
  CAPTURE(g.page_shift, bits);
  CHECK(s.levels == levels);
  CHECK(s.start == start);
  CHECK(s.start_tables == tables);
  CHECK(s.memcache_min() == levels - 1);
  const engine::ipa last{(std::uint64_t{1} << bits) - 1};
  CHECK(s.contains(last));
  CHECK_FALSE(s.contains(last + engine::bytes{1}));
  CHECK(s.start_index(last) + 1 <= tables);
}

TEST_CASE("stage-1 start level") {
  CHECK(stage1_start_level(granule_4k, 48) == level::l0);
  CHECK(stage1_start_level(granule_4k, 39) == level::l1);
  CHECK(stage1_start_level(granule_16k, 47) == level::l1);
  CHECK(stage1_start_level(granule_16k, 48) == level::l0);
  CHECK(stage1_start_level(granule_64k, 48) == level::l1);
}
