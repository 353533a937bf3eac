// The options of `tenon convert` that make a float model compute with integers.
#pragma once

#include <map>
#include <string>

#include "sdk/tools/tool.hpp"
#include "tenon/converter.hpp"

namespace tenon::tool {

struct QuantizeCommand {
  std::string quantize = "off";
  std::string calibration;
  ConvertRequest::Quantize request;  ///< without the samples
};

/// Adds the options to the subcommand, grouped, with their defaults.
void AddQuantizeOptions(CLI::App& command, QuantizeCommand& options);

/// Reads the samples, sets what the options say, and records it. Throws Failure.
void ApplyQuantizeOptions(const QuantizeCommand& options, ConvertRequest& request);

/// The .npy files in a folder, and labels.txt (one integer a line) as the array "labels". Throws
/// Failure: a folder or file that cannot be read, both kinds of labels.
[[nodiscard]] std::map<std::string, ConvertRequest::Constant> ReadCalibration(
    const std::string& folder);

}  // namespace tenon::tool
