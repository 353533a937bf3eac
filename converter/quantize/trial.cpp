#include "converter/quantize/trial.hpp"

#include "converter/quantize/insert_quantization.hpp"

namespace tenon::converter {

bool Accuracy::Reaches(const AccuracyGoal& goal) const {
  if (labelled >= AccuracyGoal::kFewestLabels) {
    const auto lost = static_cast<double>(float_right - right);
    return lost < goal.lost_share * static_cast<double>(float_right);
  }
  return decibel >= goal.decibel;
}

Result<AccuracyJudge> AccuracyJudge::Make(const Graph& float_graph,
                                          const CalibrationSet& calibration, size_t most) {
  AccuracyJudge judge;
  const bool labelled = !calibration.labels.empty();
  judge.samples_ = labelled ? calibration.samples : Spread(calibration.samples, most);
  judge.labels_ = calibration.labels;
  TENON_ASSIGN_OR_RETURN(judge.wanted_, RunAll(float_graph, judge.samples_));
  if (!float_graph.outputs().empty()) {
    const Shape& shape = float_graph.tensor(float_graph.outputs().front().tensor).shape;
    // A classifier's scores: [..., classes] with one row per image.
    const bool has_classes = shape.rank == 2 && shape[1] > 1;
    judge.classes_ = has_classes || labelled
                         ? static_cast<size_t>(shape.rank == 0 ? 0 : shape[shape.rank - 1])
                         : 0;
  }
  return judge;
}

Result<Accuracy> AccuracyJudge::Judge(const Graph& graph) const {
  TENON_ASSIGN_OR_RETURN(const OutputValues got, RunAll(graph, samples_));
  Accuracy accuracy;
  accuracy.outputs = Compare(wanted_, got);
  accuracy.decibel = WorstOfSamples(wanted_, got);
  const std::vector<int64_t> wanted_top = TopClasses(wanted_, classes_);
  const std::vector<int64_t> top = TopClasses(got, classes_);
  accuracy.rows = static_cast<int64_t>(top.size());
  accuracy.same_class = CountEqual(wanted_top, top);
  accuracy.labelled = static_cast<int64_t>(labels_.size());
  accuracy.float_right = CountEqual(wanted_top, labels_);
  accuracy.right = CountEqual(top, labels_);
  return accuracy;
}

Result<Accuracy> AccuracyJudge::JudgeScheme(Graph graph, const QuantizationScheme& scheme,
                                            const CanonicaliseGraph& canonicalise) const {
  const auto form = canonicalise ? QuantizationForm::kIntegers : QuantizationForm::kSimulated;
  TENON_ASSIGN_OR_RETURN(const DequantizedTensors ignored, InsertQuantization(graph, scheme, form));
  (void)ignored;
  if (canonicalise) {
    TENON_RETURN_IF_ERROR(canonicalise(graph));
  }
  return Judge(graph);
}

}  // namespace tenon::converter
