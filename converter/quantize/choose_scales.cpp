#include "converter/quantize/choose_scales.hpp"

#include "converter/ir/elements.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Tensors that share a scale, as sets that are joined.
class ScaleGroups {
 public:
  TensorId Find(TensorId id) {
    TensorId at = id;
    while (parent_.contains(at) && parent_.at(at) != at) at = parent_.at(at);
    return at;
  }
  void Join(TensorId a, TensorId b) { parent_[Find(a)] = Find(b); }

 private:
  std::map<TensorId, TensorId> parent_;
};

Histogram OfConstant(const Tensor& constant) {
  ValueRange range;
  std::vector<float> values;
  for (const double value : ReadElements(constant)) {
    values.push_back(static_cast<float>(value));
    range.Include(values.back());
  }
  Histogram histogram(range);
  histogram.Add(values.data(), values.size());
  return histogram;
}

/// Returns true if the tensor's values enter its group here, not from another tensor of the group.
bool IsSource(const Graph& graph, TensorId id, const QuantizationScheme& scheme) {
  const OpId producer = graph.tensor(id).producer;
  return producer == kNone || !scheme.chosen.Has(producer) ||
         !TraitsOf(graph.op(producer).kind).keeps_scale;
}

Histogram MergeAll(const std::vector<const Histogram*>& parts) {
  if (parts.size() == 1) return *parts.front();
  ValueRange range;
  for (const Histogram* part : parts) range.Include(ValueRange{part->low(), part->high()});
  Histogram merged(range);
  for (const Histogram* part : parts) merged.Merge(*part);
  return merged;
}

/// One scale; zero points, of which each channel may have its own, are left to the op.
ChosenRange GivenRange(const Graph& graph, TensorId id) {
  const Op& dequantize = graph.op(graph.tensor(id).producer);
  ChosenRange range;
  range.scale.scale = static_cast<float>(
      ReadElements(graph.tensor(dequantize.inputs[QuantizeInput::kScale])).front());
  return range;
}

}  // namespace

bool IsGivenInIntegers(const Graph& graph, TensorId id) {
  const OpId producer = graph.tensor(id).producer;
  return producer != kNone && graph.op(producer).kind == OpKind::kDequantize;
}

QuantizationScheme MakeScheme(const Graph& graph, IntegerOps chosen,
                              const std::map<TensorId, Histogram>& histograms, RangeMethod method) {
  QuantizationScheme scheme{std::move(chosen), {}};
  const std::set<TensorId> tensors = QuantizedTensors(graph, scheme.chosen);
  ScaleGroups groups;
  for (const OpId id : scheme.chosen.ops) {
    const Op& op = graph.op(id);
    if (!TraitsOf(op.kind).keeps_scale) continue;
    for (const TensorId input : DataInputs(op)) groups.Join(input, op.outputs.front());
  }
  std::map<TensorId, Histogram> constants;
  std::map<TensorId, std::vector<const Histogram*>> sources;
  for (const TensorId id : tensors) {
    if (IsGivenInIntegers(graph, id) || !IsSource(graph, id, scheme)) continue;
    const bool is_constant = graph.tensor(id).IsConstant();
    if (is_constant) constants[id] = OfConstant(graph.tensor(id));
    const Histogram& histogram = is_constant ? constants.at(id) : histograms.at(id);
    sources[groups.Find(id)].push_back(&histogram);
  }
  std::map<TensorId, ChosenRange> ranges;
  for (const auto& [group, parts] : sources) ranges[group] = ChooseRange(MergeAll(parts), method);
  for (const TensorId id : tensors) {
    scheme.tensors[id] =
        IsGivenInIntegers(graph, id) ? GivenRange(graph, id) : ranges.at(groups.Find(id));
  }
  return scheme;
}

}  // namespace tenon::converter
