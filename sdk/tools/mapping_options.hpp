// The options of `tenon convert` about several backends, threads and devices.
#pragma once

#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

struct MappingCommand {
  std::string mapping = "table";
  std::vector<std::string> map;
  std::string aggregate = "on";
  std::string channels = "auto";
  std::string parallel = "auto";
  int threads = 1;
  bool fallback = false;
};

/// Adds the options to the subcommand, grouped, with their defaults.
void AddMappingOptions(CLI::App& command, MappingCommand& options);

/// Sets what the options say, and records it. Throws Failure.
void ApplyMappingOptions(const MappingCommand& options, converter::ConvertOptions& convert);

}  // namespace tenon::tool
