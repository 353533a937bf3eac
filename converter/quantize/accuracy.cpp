#include "converter/quantize/accuracy.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::converter {
namespace {

constexpr double kMostDecibel = 200;

}  // namespace

void SignalToNoise::Add(Span<const float> wanted, Span<const float> got) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double error = double{got[i]} - double{wanted[i]};
    signal += double{wanted[i]} * double{wanted[i]};
    noise += error * error;
    largest_error = std::max(largest_error, std::abs(error));
  }
}

double SignalToNoise::Decibel() const {
  if (noise <= 0) return kMostDecibel;
  if (signal <= 0 || !std::isfinite(noise)) return -kMostDecibel;
  return std::clamp(10 * std::log10(signal / noise), -kMostDecibel, kMostDecibel);
}

Result<OutputValues> RunAll(const Graph& graph, const std::vector<Sample>& samples) {
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(graph, {}));
  OutputValues values;
  for (const Sample& sample : samples) {
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    auto& outputs = values.emplace_back();
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const bool is_float = graph.tensor(graph.outputs()[i].tensor).dtype == DType::kF32;
      const Span<const float> output = is_float ? runner.Output(i) : Span<const float>();
      outputs.emplace_back(output.begin(), output.end());
    }
  }
  return values;
}

std::vector<SignalToNoise> Compare(const OutputValues& wanted, const OutputValues& got) {
  std::vector<SignalToNoise> result(wanted.empty() ? 0 : wanted.front().size());
  for (size_t sample = 0; sample < wanted.size(); ++sample) {
    for (size_t i = 0; i < result.size(); ++i) {
      const std::vector<float>& a = wanted[sample][i];
      const std::vector<float>& b = got[sample][i];
      result[i].Add({a.data(), a.size()}, {b.data(), b.size()});
    }
  }
  return result;
}

double WorstOfSamples(const OutputValues& wanted, const OutputValues& got) {
  double worst = kMostDecibel;
  for (size_t sample = 0; sample < wanted.size(); ++sample) {
    for (const SignalToNoise& output : Compare({wanted[sample]}, {got[sample]})) {
      if (output.signal > 0) worst = std::min(worst, output.Decibel());
    }
  }
  return worst;
}

std::vector<int64_t> TopClasses(const OutputValues& outputs, size_t classes) {
  std::vector<int64_t> top;
  if (classes == 0) return top;
  for (const auto& sample : outputs) {
    if (sample.empty()) continue;
    const std::vector<float>& scores = sample.front();
    for (size_t at = 0; at + classes <= scores.size(); at += classes) {
      const auto row = scores.begin() + static_cast<std::ptrdiff_t>(at);
      top.push_back(std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row);
    }
  }
  return top;
}

int64_t CountEqual(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  int64_t equal = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) equal += a[i] == b[i] ? 1 : 0;
  return equal;
}

}  // namespace tenon::converter
