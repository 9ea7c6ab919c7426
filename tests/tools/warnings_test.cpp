// SPDX-License-Identifier: Apache-2.0
// What the program tells users of keys that have no effect.
#include <catch2/catch.hpp>

#include "tests/tools/program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using Catch::Matchers::Equals;

namespace {

constexpr const char* torture =
    "schema_version: 1\nmachine: unit\nvm: {vcpus: 2}\nguest: {pv_kick: unlock}\n"
    "workload: {type: lock_torture, duration: 1ms}\n";

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a key without an effect is a warning with its place", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", test::small_scenario("guest: {lock: ticket}\n"));
  const std::string expected =
      file +
      ":5:9: warning: guest.lock: has no effect because it is read only by "
      "workloads with a guest kernel\n";
  const std::string plain = dir.file("plain.yaml", test::small_scenario());
  for (const char* command :
       {"run ", "validate ", "compare --vary seed=1,2 ", "run --print-config "}) {
    INFO(command);
    const test::ended e = test::hvsim(command + file);
    CHECK(e.code == 0);
    CHECK_THAT(e.err, Equals(expected));
    CHECK(test::hvsim(command + plain).err.empty());
  }
  CHECK(test::hvsim("-q run " + file).err.empty());
}

TEST_CASE("a warning about an option names it", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", test::small_scenario());
  const test::ended set = test::hvsim("run --set guest.lock=ticket " + file);
  CHECK(set.code == 0);
  CHECK_THAT(set.err, Contains("--set: warning: guest.lock: has no effect because"));
  CHECK(set.out == test::hvsim("run " + file).out);
  const test::ended vary = test::hvsim("compare --vary guest.lock=ticket,qspinlock " + file);
  CHECK(vary.code == 0);
  CHECK_THAT(vary.err, Contains("--vary: warning: guest.lock: has no effect because"));
  CHECK(times(vary.err, "no effect") == 1);
}

TEST_CASE("a key that one of the runs reads has its effect", "[tools]") {
  const test::scratch dir;
  const std::string file = dir.file("s.yaml", torture);
  const test::ended none = test::hvsim("compare --vary guest.lock=ticket,qspinlock " + file);
  CHECK(none.code == 0);
  CHECK(times(none.err, "guest.pv_kick: has no effect") == 1);
  CHECK(test::hvsim("compare --vary guest.lock=ticket,pv-qspinlock " + file).err.empty());
}

TEST_CASE("no scenario of the repository sets a key without an effect", "[tools]") {
  const test::ended e = test::hvsim("validate configs");
  CHECK(e.code == 0);
  CHECK(e.err.empty());
}
