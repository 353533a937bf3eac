// tenon explain: why an op of a plan is what it is, and where it is.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "converter/did_you_mean.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/json.hpp"
#include "sdk/tools/op_reasons.hpp"
#include "sdk/tools/plan_json.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

/// The op of that name, or of that number; Failure with the nearest name otherwise.
size_t FindOp(const Json& plan, const std::string& wanted) {
  const Json& ops = plan["ops"];
  std::vector<std::string> names;
  for (size_t i = 0; i < ops.size(); ++i) {
    names.push_back(ops[i]["name"].get<std::string>());
    if (names.back() == wanted) return i;
  }
  const bool is_number = !wanted.empty() && wanted.size() < 10 &&
                         wanted.find_first_not_of("0123456789") == std::string::npos;
  if (is_number && std::stoul(wanted) < ops.size()) return std::stoul(wanted);
  Fail(kUsage, "the plan has no op '{}': {}'tenon inspect' lists all {}", wanted,
       DidYouMean(wanted, names), ops.size());
}

}  // namespace

void AddExplain(CLI::App& app) {
  struct Options {
    std::string plan;
    std::string op;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain",
      "Tells why an op is where it is: backend, kernel, order, split, group, cost, and what else "
      "was weighed.");
  command->add_option("PLAN", options->plan, "Plan file (.tenon)")->required();
  command->add_option("OP", options->op, "Name of the op, or its number in 'tenon inspect'")
      ->required();
  command->callback([options] {
    const Json plan = ReadPlanJson(options->plan);
    const size_t op = FindOp(plan, options->op);
    for (const std::string& line : ReasonsOf(plan, op, PredictedTimes(plan)))
      std::cout << line << '\n';
  });
}

}  // namespace tenon::tool
