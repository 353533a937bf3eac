// tenon inspect: what is inside a plan.
#include "tenon/inspect.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "sdk/tools/files.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

void AddInspect(CLI::App& app) {
  struct Options {
    std::string plan;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("inspect", "Shows what is inside a plan.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command->add_flag("--json", options->json, "As JSON");
  command->callback([options] {
    const auto inspection = InspectPlan(ReadFile(options->plan));
    if (!inspection) FailWith(inspection.error(), options->plan);
    std::cout << (options->json ? inspection->json : inspection->text);
  });
}

}  // namespace tenon::tool
