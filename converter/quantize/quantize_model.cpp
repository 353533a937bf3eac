#include "converter/quantize/quantize_model.hpp"

#include <algorithm>

#include "converter/map/kernel_choice.hpp"
#include "converter/quantize/equalize.hpp"
#include "converter/quantize/graph_runner.hpp"
#include "converter/quantize/insert_quantization.hpp"
#include "converter/quantize/keep_float.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// More samples than these change ranges and biases little, and cost time.
constexpr size_t kRangeSamples = 256;
constexpr size_t kBiasSamples = 32;
constexpr size_t kJudgedSamples = 16;

/// A float graph to quantize, the ranges of its tensors, and how they are chosen.
struct QuantizationCandidate {
  Graph graph;
  std::map<TensorId, Histogram> histograms;
  RangeMethod method = RangeMethod::kAuto;
  Equalization equalized = Equalization::kOff;
  std::map<OpId, std::vector<double>> bias_errors;

  [[nodiscard]] QuantizationScheme SchemeFor(const std::set<OpId>& keep) const {
    return MakeScheme(graph, ChooseIntegerOps(graph, keep), histograms, method);
  }
  /// Returns the graph with the biases of a scheme.
  [[nodiscard]] Result<Graph> CorrectedFor(const QuantizationScheme& scheme) const {
    Graph corrected = graph;
    std::map<OpId, std::vector<double>> errors = bias_errors;
    std::erase_if(errors, [&](const auto& entry) { return !scheme.chosen.Has(entry.first); });
    TENON_RETURN_IF_ERROR(CorrectBiases(corrected, errors));
    return corrected;
  }
};

Status CheckQuantizable(const Graph& graph) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!TraitsOf(op.kind).quantized) continue;
    return InputError(
        "the model is quantized already ('{}' is a {}): leave out --quantize, or give the float "
        "model",
        op.name, GetOpRow(op.kind).name);
  }
  const IntegerOps chosen = ChooseIntegerOps(graph, {});
  for (const OpId id : chosen.ops) {
    if (TraitsOf(graph.op(id).kind).IsFloatGemm()) return {};
  }
  Error error = InputError("the model has no convolution or matrix product to quantize");
  for (const OpId id : graph.OpOrder()) {
    if (!TraitsOf(graph.op(id).kind).IsFloatGemm()) continue;
    error.details.push_back(fmt::format("{}: {}", graph.op(id).name, WhyFloat(graph, id)));
  }
  return error;
}

Result<std::set<OpId>> OpsToKeep(const Graph& graph, const std::vector<std::string>& patterns) {
  std::set<OpId> keep;
  for (const std::string& pattern : patterns) {
    const Pin pin{pattern, ""};
    bool found = false;
    for (const OpId id : graph.OpOrder()) {
      if (!PinMatches(pin, graph.op(id).name)) continue;
      keep.insert(id);
      found = true;
    }
    if (!found) {
      return UsageError("--quantize-keep '{}' matches no op: 'tenon inspect' and -v print names",
                        pattern);
    }
  }
  return keep;
}

/// Fills in ranges, and what the biases are to be corrected by.
Result<QuantizationCandidate> Prepare(Graph graph, RangeMethod method, Equalization equalized,
                                      const std::set<OpId>& keep,
                                      const std::vector<Sample>& samples) {
  QuantizationCandidate candidate;
  candidate.graph = std::move(graph);
  candidate.method = method;
  candidate.equalized = equalized;
  TENON_ASSIGN_OR_RETURN(candidate.histograms, CollectRanges(candidate.graph, samples));
  TENON_ASSIGN_OR_RETURN(
      candidate.bias_errors,
      MeanErrors(candidate.graph, candidate.SchemeFor(keep), Spread(samples, kBiasSamples)));
  return candidate;
}

Result<QuantizationCandidate> WithMethod(const QuantizationCandidate& other, RangeMethod method,
                                         const std::set<OpId>& keep,
                                         const std::vector<Sample>& samples) {
  QuantizationCandidate candidate = other;
  candidate.method = method;
  TENON_ASSIGN_OR_RETURN(
      candidate.bias_errors,
      MeanErrors(candidate.graph, candidate.SchemeFor(keep), Spread(samples, kBiasSamples)));
  return candidate;
}

/// Measures the accuracy of a candidate with some ops kept float.
struct Trials {
  const AccuracyJudge* judge = nullptr;
  CanonicaliseGraph canonicalise;
};

Result<Accuracy> JudgeCandidate(const Trials& trials, const QuantizationCandidate& candidate,
                                const std::set<OpId>& keep) {
  const QuantizationScheme scheme = candidate.SchemeFor(keep);
  TENON_ASSIGN_OR_RETURN(Graph corrected, candidate.CorrectedFor(scheme));
  return trials.judge->JudgeScheme(std::move(corrected), scheme, trials.canonicalise);
}

/// The ways to quantize that are compared.
Result<std::vector<QuantizationCandidate>> MakeCandidates(const Graph& graph,
                                                          const QuantizeOptions& options,
                                                          const std::set<OpId>& keep,
                                                          const std::vector<Sample>& samples) {
  std::vector<QuantizationCandidate> candidates;
  const auto add = [&](Graph source, Equalization equalized) -> Status {
    TENON_ASSIGN_OR_RETURN(QuantizationCandidate first,
                           Prepare(std::move(source), options.ranges, equalized, keep, samples));
    candidates.push_back(std::move(first));
    if (options.ranges != RangeMethod::kAuto) return {};
    TENON_ASSIGN_OR_RETURN(QuantizationCandidate second,
                           WithMethod(candidates.back(), RangeMethod::kMinMax, keep, samples));
    candidates.push_back(std::move(second));
    return {};
  };
  TENON_RETURN_IF_ERROR(add(graph, Equalization::kOff));
  TENON_ASSIGN_OR_RETURN(ChannelMaxima maxima,
                         CollectChannelMaxima(graph, Spread(samples, kBiasSamples)));
  for (const Equalization by : {Equalization::kWeights, Equalization::kActivations}) {
    Graph equalized = graph;
    PassReport report;
    const bool by_values = by == Equalization::kActivations;
    if (by_values && maxima.empty()) continue;
    TENON_RETURN_IF_ERROR(EqualizeLayers(equalized, report, by_values ? maxima : ChannelMaxima()));
    if (report.changed == 0) continue;
    TENON_RETURN_IF_ERROR(add(std::move(equalized), by));
  }
  return candidates;
}

/// Returns the candidate with the least noise; the first of equals.
Result<QuantizationCandidate> ChooseCandidate(std::vector<QuantizationCandidate> candidates,
                                              const Trials& trials, const std::set<OpId>& keep,
                                              Accuracy& accuracy) {
  size_t best = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(const Accuracy tried, JudgeCandidate(trials, candidates[i], keep));
    if (i != 0 && tried.decibel <= accuracy.decibel) continue;
    accuracy = tried;
    best = i;
  }
  return std::move(candidates[best]);
}

/// Returns the normalisations that would compute with bytes.
std::vector<OpId> IntegerNorms(const Graph& graph, const std::set<OpId>& keep) {
  std::vector<OpId> norms;
  for (const OpId id : ChooseIntegerOps(graph, keep).ops) {
    if (graph.op(id).kind == OpKind::kLayerNorm) norms.push_back(id);
  }
  return norms;
}

/// Returns the layers that have to stay float in addition to `keep`.
Result<std::vector<OpId>> KeepForAccuracy(const QuantizationCandidate& candidate,
                                          const Trials& trials, const AccuracyGoal& goal,
                                          const std::set<OpId>& keep) {
  const IntegerOps chosen = ChooseIntegerOps(candidate.graph, keep);
  std::vector<OpId> layers;
  for (const OpId id : candidate.graph.OpOrder()) {
    if (chosen.Has(id) && TraitsOf(candidate.graph.op(id).kind).IsFloatGemm()) layers.push_back(id);
  }
  const auto with_only = [&](const std::set<OpId>& integer_layers) {
    std::set<OpId> kept = keep;
    for (const OpId id : layers) {
      if (!integer_layers.contains(id)) kept.insert(id);
    }
    return JudgeCandidate(trials, candidate, kept);
  };
  const auto without = [&](const std::set<OpId>& more) {
    std::set<OpId> kept = keep;
    kept.insert(more.begin(), more.end());
    return JudgeCandidate(trials, candidate, kept);
  };
  TENON_ASSIGN_OR_RETURN(const std::vector<LayerNoise> ranking,
                         RankLayers(chosen, layers, with_only));
  return ChooseKept(ranking, goal, without);
}

/// Returns the signal to noise of the result of every integer op.
Result<std::map<OpId, double>> MeasureLayers(const Graph& float_graph, const Graph& corrected,
                                             const QuantizationScheme& scheme,
                                             const std::vector<Sample>& samples) {
  Graph simulated = corrected;
  TENON_ASSIGN_OR_RETURN(const DequantizedTensors dequantized,
                         InsertQuantization(simulated, scheme, QuantizationForm::kSimulated));
  std::vector<OpId> ops;
  std::vector<TensorId> exact;
  std::vector<TensorId> rounded;
  for (const OpId id : scheme.chosen.ops) {
    const TensorId output = float_graph.op(id).outputs.front();
    const auto found = dequantized.find(output);
    ops.push_back(id);
    exact.push_back(output);
    rounded.push_back(found == dequantized.end() ? output : found->second);
  }
  TENON_ASSIGN_OR_RETURN(GraphRunner float_runner, GraphRunner::Make(float_graph, exact));
  TENON_ASSIGN_OR_RETURN(GraphRunner runner, GraphRunner::Make(std::move(simulated), rounded));
  std::vector<SignalToNoise> sums(ops.size());
  for (const Sample& sample : Spread(samples, kJudgedSamples)) {
    TENON_RETURN_IF_ERROR(float_runner.Run(sample));
    TENON_RETURN_IF_ERROR(runner.Run(sample));
    for (size_t i = 0; i < ops.size(); ++i) {
      sums[i].Add(float_runner.Wanted(i), runner.Wanted(i));
    }
  }
  std::map<OpId, double> decibel;
  for (size_t i = 0; i < ops.size(); ++i) decibel[ops[i]] = sums[i].Decibel();
  return decibel;
}

void ReportLayers(const Graph& graph, const QuantizationScheme& scheme, const std::set<OpId>& asked,
                  const std::vector<OpId>& kept, const std::map<OpId, double>& decibel,
                  QuantizationReport& report) {
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (op.kind == OpKind::kDequantize) continue;  // of the bytes that come in
    QuantizedLayer layer;
    layer.op = op.name;
    layer.kind = GetOpRow(op.kind).name;
    layer.integer = scheme.chosen.Has(id);
    if (layer.integer) {
      layer.decibel = decibel.at(id);
    } else if (asked.contains(id)) {
      layer.reason = "--quantize-keep";
    } else if (std::find(kept.begin(), kept.end(), id) != kept.end()) {
      layer.reason = kKeptForAccuracy;
      if (TraitsOf(op.kind).IsFloatGemm()) ++report.kept_for_accuracy;
    } else {
      layer.reason = WhyFloat(graph, id);
      if (layer.reason.empty()) layer.reason = "between float ops";
    }
    if (TraitsOf(op.kind).IsFloatGemm())
      ++(layer.integer ? report.integer_layers : report.float_layers);
    report.layers.push_back(std::move(layer));
  }
}

}  // namespace

std::string_view Name(Equalization equalization) {
  if (equalization == Equalization::kOff) return "nothing";
  return equalization == Equalization::kWeights ? "weights" : "activations";
}

Result<QuantizationReport> QuantizeModel(Graph& graph, const QuantizeOptions& options) {
  TENON_RETURN_IF_ERROR(CheckQuantizable(graph));
  TENON_ASSIGN_OR_RETURN(const std::set<OpId> asked, OpsToKeep(graph, options.keep));
  TENON_ASSIGN_OR_RETURN(const CalibrationSet calibration, MakeCalibration(graph, options.arrays));
  const std::vector<Sample> samples = Spread(calibration.samples, kRangeSamples);
  TENON_ASSIGN_OR_RETURN(const AccuracyJudge judge,
                         AccuracyJudge::Make(graph, calibration, kJudgedSamples));
  Graph source = graph;
  TENON_RETURN_IF_ERROR(TakeBytes(source, asked));
  const Trials trials{&judge, options.canonicalise};
  Accuracy accuracy;
  std::set<OpId> keep = asked;
  const auto choose = [&]() -> Result<QuantizationCandidate> {
    TENON_ASSIGN_OR_RETURN(std::vector<QuantizationCandidate> candidates,
                           MakeCandidates(source, options, keep, samples));
    return ChooseCandidate(std::move(candidates), trials, keep, accuracy);
  };
  TENON_ASSIGN_OR_RETURN(QuantizationCandidate candidate, choose());
  std::vector<OpId> kept;
  if (!accuracy.Reaches(options.goal)) {
    // Normalisations of bytes round what sums of many layers go through; floats cost little there.
    kept = IntegerNorms(source, keep);
    keep.insert(kept.begin(), kept.end());
    if (!kept.empty()) {
      TENON_ASSIGN_OR_RETURN(candidate, choose());
    }
  }
  if (!accuracy.Reaches(options.goal)) {
    TENON_ASSIGN_OR_RETURN(const std::vector<OpId> layers,
                           KeepForAccuracy(candidate, trials, options.goal, keep));
    kept.insert(kept.end(), layers.begin(), layers.end());
    keep.insert(layers.begin(), layers.end());
  }
  const QuantizationScheme scheme = candidate.SchemeFor(keep);
  TENON_ASSIGN_OR_RETURN(Graph corrected, candidate.CorrectedFor(scheme));
  TENON_ASSIGN_OR_RETURN(const auto decibel,
                         MeasureLayers(candidate.graph, corrected, scheme, judge.samples()));
  QuantizationReport report;
  report.samples = static_cast<int64_t>(samples.size());
  report.judged = static_cast<int64_t>(judge.samples().size());
  report.equalized = candidate.equalized;
  report.ranges = candidate.method;
  report.goal = options.goal;
  for (const Graph::Port& port : graph.outputs()) report.outputs.push_back(port.name);
  ReportLayers(candidate.graph, scheme, asked, kept, decibel, report);
  TENON_ASSIGN_OR_RETURN(const DequantizedTensors ignored,
                         InsertQuantization(corrected, scheme, QuantizationForm::kIntegers));
  (void)ignored;
  graph = std::move(corrected);
  TENON_RETURN_IF_ERROR(Verify(graph));
  if (options.canonicalise) {
    TENON_RETURN_IF_ERROR(options.canonicalise(graph));
  }
  TENON_ASSIGN_OR_RETURN(report.accuracy, judge.Judge(graph));
  return report;
}

}  // namespace tenon::converter
