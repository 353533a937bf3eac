// tenon ops: every operator of every importer, with its limits; and the kernels of a plan's ops.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {

void AddOps(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("ops", "Lists the operators that can be converted, with their limits.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON");
  auto kernels = std::make_shared<bool>(false);
  command->add_flag("--kernels", *kernels,
                    "Lists instead the ops that plans are made of, with each backend's kernels");
  command->callback([json, kernels] {
    const OperatorList list = *kernels ? KernelsOfOps() : ConvertibleOperators();
    std::cout << (*json ? list.json : list.text);
  });
}

}  // namespace tenon::tool
