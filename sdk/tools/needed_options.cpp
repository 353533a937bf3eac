#include "sdk/tools/needed_options.hpp"

#include <CLI/CLI.hpp>

namespace tenon::tool {
namespace {

struct NeededOption {
  const char* option;
  const char* needs;
  bool (*is_met)(const ConvertCommand& options);
};

bool Quantizes(const ConvertCommand& options) { return options.quantize.quantize == "int8"; }
bool Measures(const ConvertCommand& options) { return options.order == "measured"; }

/// What is best may be a pipeline where results come in a stream.
bool MayMakePipeline(const ConvertCommand& options) {
  const std::string& mode = options.request.parallel.mode;
  return mode == "pipeline" || (mode == "auto" && options.objective == "throughput");
}

bool ChoosesDivision(const ConvertCommand& options) {
  return options.request.parallel.threads > 1 || options.request.parallel.mode != "auto" ||
         options.objective == "throughput";
}

constexpr NeededOption kNeeded[] = {
    {"--balance", "--parallel=pipeline, or --objective=throughput without --parallel",
     MayMakePipeline},
    {"--calibration", "--quantize=int8", Quantizes},
    {"--channels", "--parallel=pipeline, or --objective=throughput without --parallel",
     MayMakePipeline},
    {"--measure-orders", "--order=measured", Measures},
    {"--quantize-keep", "--quantize=int8", Quantizes},
    {"--quantize-ranges", "--quantize=int8", Quantizes},
    {"--quantize-snr", "--quantize=int8", Quantizes},
    {"--rows-per-call", "--threads, --parallel or --objective=throughput", ChoosesDivision},
    {"--target", "--order=measured", Measures},
    {"--target-timeout", "--order=measured", Measures},
};

}  // namespace

void CheckNeededOptions(const CLI::App& command, const ConvertCommand& options) {
  for (const NeededOption& needed : kNeeded) {
    if (command.count(needed.option) > 0 && !needed.is_met(options)) {
      Fail(kUsage, "{} needs {}", needed.option, needed.needs);
    }
  }
}

}  // namespace tenon::tool
