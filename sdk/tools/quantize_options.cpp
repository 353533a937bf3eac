#include "sdk/tools/quantize_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "sdk/tools/files.hpp"
#include "sdk/tools/npy.hpp"

namespace tenon::tool {
namespace {

constexpr const char* kGroup = "Quantization";
constexpr const char* kLabels = "labels";

ConvertRequest::Constant ReadLabelLines(const std::filesystem::path& path) {
  std::istringstream file(ReadText(path));
  std::vector<int64_t> labels;
  std::string line;
  while (std::getline(file, line)) {
    line.erase(std::remove_if(line.begin(), line.end(),
                              [](char c) { return c == ' ' || c == '\r' || c == '\t'; }),
               line.end());
    if (line.empty()) continue;
    int64_t label = 0;
    const char* end = line.data() + line.size();
    const auto [at, error] = std::from_chars(line.data(), end, label);
    if (error != std::errc() || at != end) {
      Fail(kInputRefused, "'{}' wants one integer a line, not '{}'", path.string(), line);
    }
    labels.push_back(label);
  }
  ConvertRequest::Constant array{tenon_dtype_name(TENON_I64), {}, {}};
  array.shape = {static_cast<int64_t>(labels.size())};
  array.bytes.resize(labels.size() * sizeof(int64_t));
  if (!labels.empty()) std::memcpy(array.bytes.data(), labels.data(), array.bytes.size());
  return array;
}

}  // namespace

std::map<std::string, ConvertRequest::Constant> ReadCalibration(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) Fail(kInputRefused, "cannot read the folder '{}': {}", folder, error.message());
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : entries) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::map<std::string, ConvertRequest::Constant> arrays;
  bool labelled = false;
  for (const std::filesystem::path& path : paths) {
    const bool is_lines = path.filename() == "labels.txt";
    if (path.extension() != ".npy" && !is_lines) continue;
    if (path.stem() == kLabels) {
      if (labelled) Fail(kUsage, "'{}' has labels.txt and labels.npy: one is wanted", folder);
      labelled = true;
    }
    if (is_lines) {
      arrays[kLabels] = ReadLabelLines(path);
      continue;
    }
    NpyArray read = ReadNpy(path);
    arrays[path.stem().string()] = {tenon_dtype_name(read.dtype), std::move(read.shape),
                                    std::move(read.bytes)};
  }
  return arrays;
}

void AddQuantizeOptions(CLI::App& command, QuantizeCommand& options) {
  command
      .add_option("--quantize", options.quantize,
                  "int8: convolutions, matrix products and what stands between them compute with "
                  "8-bit integers; inputs and outputs stay float")
      ->check(CLI::IsMember({"off", "int8"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--calibration", options.calibration,
                  "DIR of .npy inputs to measure ranges with: any names for a model of one input, "
                  "else NAME.npy or NAME_<k>.npy; a leading dimension more makes several samples; "
                  "labels.npy or labels.txt: the right class of each")
      ->group(kGroup);
  command
      .add_option("--quantize-keep", options.request.keep,
                  "PATTERN of ops by name ('*' and '?' match) that stay float; may be repeated")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_option("--quantize-ranges", options.request.ranges,
                  "How activations get their range: all values seen, least squared error, a share "
                  "cut off, or the best of these for each tensor")
      ->check(CLI::IsMember({"auto", "minmax", "mse", "percentile"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--quantize-snr", options.request.snr_db,
                  "dB of signal to noise that every output must keep on every sample (with 200 "
                  "labels and more: 99.5 % of the right classes instead); the layers that hurt "
                  "most stay float until it does")
      ->check(Between(-200.0, 200.0))
      ->capture_default_str()
      ->group(kGroup);
}

void ApplyQuantizeOptions(const QuantizeCommand& options, ConvertRequest& request) {
  if (options.quantize != "int8") return;
  if (options.calibration.empty()) {
    Fail(kUsage, "--quantize=int8 needs --calibration DIR, a folder of .npy inputs");
  }
  request.quantize = options.request;
  request.quantize->samples = ReadCalibration(options.calibration);
  // The folder's path would make equal plans differ from machine to machine.
  request.recorded.emplace_back("quantize", options.quantize);
  request.recorded.emplace_back("quantize-ranges", options.request.ranges);
  request.recorded.emplace_back("quantize-snr", fmt::format("{}", options.request.snr_db));
  for (const std::string& pattern : options.request.keep) {
    request.recorded.emplace_back("quantize-keep", pattern);
  }
}

}  // namespace tenon::tool
