// tenon ops: every operator of every importer, with its limits.
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
  command->callback([json] {
    const OperatorList list = ConvertibleOperators();
    std::cout << (*json ? list.json : list.text);
  });
}

}  // namespace tenon::tool
