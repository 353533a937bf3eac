// tenon inspect: what is inside a plan.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "converter/report/inspect_plan.hpp"
#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/read_file.hpp"
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
    auto inspection = converter::InspectPlan(ReadFile(options->plan));
    if (!inspection.ok()) {
      Fail(kInputRefused, "{}: {}", options->plan, inspection.error().message);
    }
    std::cout << (options->json ? inspection->dump(2) + "\n"
                                : converter::DescribeInspection(*inspection));
  });
}

}  // namespace tenon::tool
