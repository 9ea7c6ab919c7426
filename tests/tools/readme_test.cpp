// SPDX-License-Identifier: Apache-2.0
// The script that fills the README from stored results.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

using namespace hvsim;
using Catch::Matchers::Contains;
using json = nlohmann::ordered_json;

namespace {

/// A folder of a small reproduction, and of answers to the what-ifs.
struct stored {
  test::scratch dir;
  std::string folder = dir.at("paper");
  std::string document = folder + "/stage2-parallel-faults.json";

  stored() {
    const test::ended e = test::hvsim(
        "reproduce stage2-parallel-faults --scale 1024 --placement compact --format csv -o " +
        folder);
    INFO(e.err);
    REQUIRE(e.code == 0);
    for (const char* pass : {"stage2-parallel-faults", "permission-fast-path"}) {
      const std::string name = "answers/" + std::string(pass);
      dir.file(name + ".mmap_lock.csv",
               "vm.vcpus,hypervisor.mmap_lock,value\n1,true,2\n1,false,1\n");
      dir.file(name + ".relax_tlbi.csv",
               "vm.vcpus,hypervisor.relax_tlbi,value\n1,broadcast,6\n1,local,2\n");
    }
  }

  [[nodiscard]] test::ended update(const std::string& readme) const {
    return test::shell("python3 tools/update_readme.py " + readme + " " + folder + " " +
                       dir.at("answers"));
  }

  [[nodiscard]] std::string updated() const {
    const std::string copy = dir.file("README.md", test::content_of(HVSIM_SOURCE_DIR "/README.md"));
    const test::ended e = update(copy);
    INFO(e.err);
    CHECK(e.code == 0);
    return test::content_of(copy);
  }
};

}  // namespace

TEST_CASE("a copy of the README is filled from any size, the README from full size", "[tools]") {
  if (test::shell("command -v python3").code != 0) {
    WARN("no python3");
    return;
  }
  const stored s;
  const std::string text = s.updated();
  CHECK_THAT(text, Contains("runs at 1/1024 of the size") &&
                       Contains("marks cells that setting the costs may use;\n"
                                "all others are predictions, not used.") &&
                       !Contains("April correction: simulated") &&
                       Contains("`mmap_lock` were not taken | 2.00x |\n") &&
                       Contains("TLBIs after relaxing were local | 3.00x |\n"));
  CHECK_THAT(s.update(HVSIM_SOURCE_DIR "/README.md").err, Contains("at full size only"));
}

TEST_CASE("the README has a column with the April correction", "[tools]") {
  if (test::shell("command -v python3").code != 0) {
    WARN("no python3");
    return;
  }
  const stored s;
  // Runs of a reduced size have none, so one is made up: 0.41 s against 0.42 s everywhere.
  json doc = json::parse(test::content_of(s.document));
  for (json& table : doc["tables"])
    if (table["table"] == "prefault_time_s") {
      json column = table["series"][0];
      column["series"] = "linux_5_18_rc2_corrected";
      for (json& cell : column["cells"]) {
        cell["role"] = "fitted";
        cell["simulated_ps"] = 410'000'000'000;
        cell["error_percent"] = {{"april_2022", "-2.381"}};
      }
      table["series"].push_back(column);
    }
  s.dir.file("paper/stage2-parallel-faults.json", doc.dump());
  CHECK_THAT(s.updated(),
             Contains("| 5.18-rc2 with the April correction: simulated | error, Apr 2022 | "
                      "+ series: Apr 2022 |") &&
                 Contains(" | 0.41 \\* | -2.4 % | 0.18 | 0.18 | ") &&
                 Contains("its column is a fit to them."));
}
