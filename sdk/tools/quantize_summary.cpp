#include "sdk/tools/quantize_summary.hpp"

#include <fmt/format.h>

namespace tenon::tool {
namespace {

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string Classes(const converter::Accuracy& accuracy) {
  std::string text;
  if (accuracy.rows > 0) {
    text += fmt::format("quantized: top class as of the float model for {} of {}\n",
                        accuracy.same_class, accuracy.rows);
  }
  if (accuracy.labelled > 0) {
    text += fmt::format("quantized: {:.2f}% of {} labels right, float {:.2f}%\n",
                        Percent(accuracy.right, accuracy.labelled), accuracy.labelled,
                        Percent(accuracy.float_right, accuracy.labelled));
  }
  return text;
}

std::string Layer(const converter::QuantizedLayer& layer) {
  if (!layer.integer) {
    return fmt::format("quantized: {} ({}): float, {}\n", layer.op, layer.kind, layer.reason);
  }
  return fmt::format("quantized: {} ({}): {:.1f} dB\n", layer.op, layer.kind,
                     layer.decibel.value_or(0));
}

}  // namespace

std::string QuantizeSummary(const converter::QuantizationReport& report, bool verbose) {
  std::string text = fmt::format(
      "quantized: {} of {} convolutions and matrix products ({} kept float for accuracy), "
      "{} samples, ranges {}, equalized by {}\n",
      report.integer_layers, report.integer_layers + report.float_layers, report.kept_for_accuracy,
      report.samples, converter::Name(report.ranges), converter::Name(report.equalized));
  for (size_t i = 0; i < report.accuracy.outputs.size() && i < report.outputs.size(); ++i) {
    const converter::SignalToNoise& output = report.accuracy.outputs[i];
    text += fmt::format("quantized: output {}: {:.1f} dB, largest difference {:.3g}\n",
                        report.outputs[i], output.Decibel(), output.largest_error);
  }
  text += fmt::format("quantized: worst output of the worst of {} samples: {:.1f} dB\n",
                      report.judged, report.accuracy.decibel);
  text += Classes(report.accuracy);
  if (!report.accuracy.Reaches(report.goal)) {
    text += "quantized: the goal is missed: see --quantize-snr and --quantize-keep\n";
  }
  for (const converter::QuantizedLayer& layer : report.layers) {
    const bool chosen = !layer.integer && layer.reason == converter::kKeptForAccuracy;
    if (verbose || chosen) text += Layer(layer);
  }
  return text;
}

}  // namespace tenon::tool
