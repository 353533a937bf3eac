// The options of `tenon convert` that make a float model compute with integers.
#pragma once

#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

struct QuantizeCommand {
  std::string quantize = "off";
  std::string calibration;
  std::string ranges = "auto";
  double decibel = converter::AccuracyGoal{}.decibel;
  std::vector<std::string> keep;
};

/// Adds the options to the subcommand, grouped, with their defaults.
void AddQuantizeOptions(CLI::App& command, QuantizeCommand& options);

/// Reads the samples, sets what the options say, and records it. Throws Failure.
void ApplyQuantizeOptions(const QuantizeCommand& options, converter::ConvertOptions& convert);

/// The .npy files in a folder, and labels.txt (one integer a line) as the array "labels". Throws
/// Failure: a folder or file that cannot be read, both kinds of labels.
[[nodiscard]] std::vector<converter::CalibrationArray> ReadCalibration(const std::string& folder);

}  // namespace tenon::tool
