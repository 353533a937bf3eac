// The options of `tenon convert` about several backends, threads and devices.
#pragma once

#include <string>

#include "sdk/tools/tool.hpp"
#include "tenon/converter.hpp"

namespace tenon::tool {

/// Those that the request has in another form.
struct MappingCommand {
  std::string mapping = "table";
  std::string aggregate = "on";
  std::string channels = "auto";
};

/// Adds the options to the subcommand, grouped, with their defaults.
void AddMappingOptions(CLI::App& command, MappingCommand& options, ConvertRequest& request);

/// Sets what the options say, and records it. Throws Failure.
void ApplyMappingOptions(const MappingCommand& options, ConvertRequest& request);

}  // namespace tenon::tool
