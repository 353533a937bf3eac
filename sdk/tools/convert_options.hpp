// The options of `tenon convert`: what the user writes, and what the converter is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/tools/measure_target.hpp"
#include "sdk/tools/quantize_options.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/converter.hpp"

namespace tenon::tool {

/// What the user writes: as the request has it where it has it so, else text to be read.
struct ConvertCommand {
  ConvertRequest request;
  std::string plan;  ///< what -o names: the plan, or source made of it
  std::string emit = "plan";
  std::string decisions = "on";  ///< whether they are recorded in the plan
  std::vector<std::string> shapes;
  std::vector<std::string> states;
  std::vector<std::string> freeze;
  std::vector<std::string> memory_limits;
  std::string max_memory;
  std::string fuse = "on";
  std::vector<std::string> input_formats;
  std::vector<std::string> output_formats;
  std::vector<std::string> input_from;
  std::string split = "auto";
  std::string memory_program = "auto";
  std::string order = "search";
  int64_t order_budget = DefaultOrderBudget();
  std::string key_nodes = "on";
  std::string objective = "latency";
  std::string mapping = "auto";
  std::string aggregate = "on";
  std::string fuse_branches = "auto";
  std::string balance = "auto";
  std::string channels = "auto";
  QuantizeCommand quantize;
  TargetOptions target;
  std::string json;
  std::string report;
  bool verbose = false;
  bool quiet = false;
};

/// Adds every option to the subcommand, grouped, with its default.
void AddConvertOptions(CLI::App& command, ConvertCommand& options);

/// Reads the files that the options name beside the model, the board and the profile, and records
/// in the request what was asked for. Throws Failure.
[[nodiscard]] ConvertRequest ToRequest(const ConvertCommand& options);

}  // namespace tenon::tool
