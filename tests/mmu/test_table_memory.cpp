// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <new>

#include "mmu/table_memory.hpp"

using namespace hvsim;
using namespace hvsim::mmu;

TEST_CASE("table memory hands out zeroed pages and takes them back") {
  table_memory m(granule_4k, engine::mebibytes(4), engine::pa{0x1'0000'0000});
  table_page* a = m.alloc(level::l2);
  table_page* b = m.alloc(level::l3);
  CHECK(m.address(b) - m.address(a) == engine::bytes{4096});
  CHECK(m.at(m.address(b)) == b);
  CHECK(m.contains(m.address(b)));
  CHECK_FALSE(m.contains(m.address(b) + engine::bytes{4096}));
  CHECK_FALSE(m.contains(engine::pa{0xFFFF'F000}));
  b->entries[7] = descriptor{99};
  b->entries[511] = descriptor{98};
  const auto generation = b->generation;
  CHECK(m.put(b));
  CHECK(m.live_pages() == 1);
  table_page* again = m.alloc(level::l1);
  REQUIRE(again == b);
  CHECK(again->generation == generation + 1);
  for (unsigned i = 0; i < 512; ++i) CHECK_FALSE(again->entries[i].counted());
  CHECK(m.peak_bytes() == engine::bytes{8192});
}

TEST_CASE("table memory reports misuse") {
  table_memory m(granule_4k, engine::mebibytes(1));
  table_page* a = m.alloc(level::l3);
  m.get(a);
  CHECK_FALSE(m.put(a));
  CHECK(m.put(a));
  CHECK_THROWS_AS(m.put(a), table_error);
  CHECK_THROWS_AS(m.get(a), table_error);
  CHECK_THROWS_AS(m.free(a), table_error);
  CHECK_THROWS_AS(table_memory::check_access(a), table_error);
  for (int i = 0; i < 256; ++i) m.alloc(level::l3);
  CHECK_THROWS_AS(m.alloc(level::l3), std::bad_alloc);
}

TEST_CASE("table memory is reusable and keeps start tables side by side") {
  table_memory m(granule_16k, engine::mebibytes(4));
  for (int run = 0; run < 2; ++run) {
    table_page* start = m.alloc_contiguous(level::l1, 16);
    CHECK(m.address(start + 15) - m.address(start) == engine::bytes{15 * 16384});
    for (int i = 0; i < 16; ++i) CHECK_FALSE(start[i].entries[2047].counted());
    start[15].entries[2047] = descriptor{1};
    CHECK(m.live_pages() == 16);
    m.reset();
    CHECK(m.live_pages() == 0);
    CHECK_THROWS_AS(table_memory::check_access(start), table_error);
  }
}
