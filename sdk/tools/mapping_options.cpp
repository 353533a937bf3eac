#include "sdk/tools/mapping_options.hpp"

#include <CLI/CLI.hpp>

#include "sdk/tools/converter_error.hpp"

namespace tenon::tool {
namespace {

constexpr const char* kGroup = "Backends and threads";

/// "auto", which is 0, or a number of buffers.
int32_t ChannelDepth(const std::string& text) {
  if (text == "auto") return 0;
  constexpr size_t kMostDigits = 3;
  const bool is_number = !text.empty() && text.size() <= kMostDigits &&
                         text.find_first_not_of("0123456789") == std::string::npos &&
                         std::stoi(text) > 0;
  if (!is_number) Fail(kUsage, "--channels wants 'auto' or a number of buffers, not '{}'", text);
  return std::stoi(text);
}

void AddPins(const MappingCommand& options, converter::ConvertOptions& convert) {
  for (const std::string& text : options.map) {
    converter::Result<std::vector<converter::Pin>> pins = converter::ParsePins(text);
    if (!pins.ok()) FailWith(pins.error());
    convert.pins.insert(convert.pins.end(), pins->begin(), pins->end());
    convert.recorded.emplace_back("map", text);
  }
}

}  // namespace

void AddMappingOptions(CLI::App& command, MappingCommand& options) {
  command
      .add_option("--mapping", options.mapping,
                  "Give ops to backends by the board's priority table, or so that the predicted "
                  "time (for --objective=throughput: the time between results) is least")
      ->check(CLI::IsMember({"table", "optimal"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--map", options.map,
                  "'PATTERN=BACKEND,...': ops by name ('*' and '?' match) onto a backend, whatever "
                  "the table says; the last that matches counts")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_flag("--fallback", options.fallback,
                "Let the plan carry CPU kernels for what runs on devices, for where a device is "
                "missing or fails")
      ->group(kGroup);
  command
      .add_option("--aggregate", options.aggregate,
                  "Start a device once for neighbouring ops, or for every op")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--parallel", options.parallel,
                  "Use several threads and devices inside an op, between ops, between inferences "
                  "or in a pipeline: the predicted best, or the one named")
      ->check(CLI::IsMember({"auto", "intra", "inter", "replicas", "pipeline"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--threads", options.threads, "CPU threads that runs of the plan may use in all")
      ->check(AtLeast(1))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--channels", options.channels,
                  "Buffers of each channel between a pipeline's stages: 'auto' or a number")
      ->capture_default_str()
      ->group(kGroup);
}

void ApplyMappingOptions(const MappingCommand& options, converter::ConvertOptions& convert) {
  AddPins(options, convert);
  convert.mapping = options.mapping == "optimal" ? converter::MappingMode::kOptimal
                                                 : converter::MappingMode::kTable;
  convert.fallback = options.fallback;
  convert.aggregate = options.aggregate == "on";
  convert.parallel.channel_depth = ChannelDepth(options.channels);
  convert.parallel.threads = options.threads;
  const auto mode = converter::ParseParallelMode(options.parallel);
  if (!mode.ok()) FailWith(mode.error());
  convert.parallel.mode = *mode;
  convert.recorded.emplace_back("mapping", options.mapping);
  convert.recorded.emplace_back("fallback", options.fallback ? "on" : "off");
  convert.recorded.emplace_back("aggregate", options.aggregate);
  convert.recorded.emplace_back("parallel", options.parallel);
  convert.recorded.emplace_back("threads", std::to_string(options.threads));
  convert.recorded.emplace_back("channels", options.channels);
}

}  // namespace tenon::tool
