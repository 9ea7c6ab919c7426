// SPDX-License-Identifier: Apache-2.0
// hvsim schema, hvsim version
#include <fmt/format.h>

#include <memory>

#include "sim/report/result.hpp"
#include "sim/scenario/schema.hpp"
#include "tools/commands.hpp"
#include "tools/version.hpp"

namespace hvsim::tools {

void add_schema(CLI::App& app, context& ctx) {
  auto markdown = std::make_shared<bool>(false);
  auto* sub = app.add_subcommand("schema", "print the JSON Schema (draft-07) of scenario files");
  sub->add_flag("--markdown", *markdown, "print the reference page instead");
  sub->callback([&ctx, markdown] {
    ctx.action = [&ctx, markdown]() -> int {
      write_stdout(*markdown ? scenario::reference_markdown(ctx.catalogue)
                             : scenario::json_schema(ctx.catalogue));
      return exit_ok;
    };
  });
}

void add_version(CLI::App& app, context& ctx) {
  auto* sub = app.add_subcommand("version", "print version, commit and compiler");
  sub->callback([&ctx] {
    ctx.action = []() -> int {
      write_stdout(fmt::format("hvsim {}\ncommit: {}\ncompiler: {}\nbuild: {}\nresult schema: {}\n",
                               version_text(), git_text(), compiler_text(), build_type_text(),
                               report::result_schema_version));
      return exit_ok;
    };
  });
}

}  // namespace hvsim::tools
