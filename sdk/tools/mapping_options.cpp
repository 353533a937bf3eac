#include "sdk/tools/mapping_options.hpp"

#include <CLI/CLI.hpp>

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

}  // namespace

void AddMappingOptions(CLI::App& command, MappingCommand& options, ConvertRequest& request) {
  command
      .add_option("--mapping", options.mapping,
                  "Give ops to backends by the board's priority table, or so that the predicted "
                  "time (for --objective=throughput: the time between results) is least")
      ->check(CLI::IsMember({"table", "optimal"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--map", request.mapping.pins,
                  "'PATTERN=BACKEND,...': ops by name ('*' and '?' match) onto a backend, whatever "
                  "the table says; the last that matches counts")
      ->allow_extra_args(false)
      ->group(kGroup);
  command
      .add_flag("--fallback", request.mapping.fallback,
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
      .add_option("--parallel", request.parallel.mode,
                  "Use several threads and devices inside an op, between ops, between inferences "
                  "or in a pipeline: the predicted best, or the one named")
      ->check(CLI::IsMember({"auto", "intra", "inter", "replicas", "pipeline"}))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--threads", request.parallel.threads,
                  "CPU threads that runs of the plan may use in all")
      ->check(AtLeast(1))
      ->capture_default_str()
      ->group(kGroup);
  command
      .add_option("--channels", options.channels,
                  "Buffers of each channel between a pipeline's stages: 'auto' or a number")
      ->capture_default_str()
      ->group(kGroup);
}

void ApplyMappingOptions(const MappingCommand& options, ConvertRequest& request) {
  request.mapping.optimal = options.mapping == "optimal";
  request.mapping.aggregate = options.aggregate == "on";
  request.parallel.channel_depth = ChannelDepth(options.channels);
  const auto record = [&](const char* name, const std::string& value) {
    request.recorded.emplace_back(name, value);
  };
  for (const std::string& pins : request.mapping.pins) record("map", pins);
  record("mapping", options.mapping);
  record("fallback", request.mapping.fallback ? "on" : "off");
  record("aggregate", options.aggregate);
  record("parallel", request.parallel.mode);
  record("threads", std::to_string(request.parallel.threads));
  record("channels", options.channels);
}

}  // namespace tenon::tool
