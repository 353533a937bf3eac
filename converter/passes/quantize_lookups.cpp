#include <cstring>
#include <map>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/patterns.hpp"
#include "converter/passes/quantization.hpp"

namespace tenon::converter {
namespace {

constexpr size_t kEntries = 256;
constexpr size_t kMostOps = 32;

/// The ops between one quantized tensor and a real one that is a function of it alone.
struct Region {
  std::optional<Source> source;
  std::vector<OpId> ops;  ///< each after those that it reads
  std::string refusal;
};

class RegionFinder {
 public:
  explicit RegionFinder(const Graph& graph) : graph_(graph) {}

  Region Find(TensorId real) {
    shape_ = graph_.tensor(real).shape;
    if (!Reach(real)) region_.refusal = kNotElementwise;
    if (region_.refusal.empty() && !region_.source.has_value()) region_.refusal = kNotElementwise;
    return std::move(region_);
  }

 private:
  // Regions are small, so recursion is shallow.
  bool Reach(TensorId real) {
    const OpId producer = graph_.tensor(real).producer;
    if (producer == kNone || graph_.tensor(real).shape != shape_) return false;
    if (std::find(region_.ops.begin(), region_.ops.end(), producer) != region_.ops.end()) {
      return true;
    }
    const Op& op = graph_.op(producer);
    if (op.kind == OpKind::kDequantize) return TakeSource(real);
    if (op.kind != OpKind::kUnary && op.kind != OpKind::kBinary) return false;
    if (graph_.tensor(real).dtype != DType::kF32 || ++visited_ > kMostOps) return false;
    for (const TensorId input : op.inputs) {
      if (!RealScalar(graph_, input).has_value() && !Reach(input)) return false;
    }
    region_.ops.push_back(producer);
    return true;
  }

  bool TakeSource(TensorId real) {
    auto source = PlainSourceOf(graph_, real);
    if (!source.has_value()) return false;
    if (!region_.source.has_value()) {
      region_.source = std::move(source);
      return true;
    }
    return source->quantized == region_.source->quantized && source->as == region_.source->as;
  }

  const Graph& graph_;
  Shape shape_;
  Region region_;
  size_t visited_ = 0;
};

/// Returns the real numbers that the 256 values represent.
std::vector<float> RealNumbers(const Quantization& as) {
  std::vector<float> numbers(kEntries);
  const int32_t least = OutputOf(as).min;
  for (size_t i = 0; i < kEntries; ++i) {
    const int32_t q = least + static_cast<int32_t>(i);
    numbers[i] = static_cast<float>(q - as.zero_points.front()) * as.scales.front();
  }
  return numbers;
}

/// Returns the results of the region's float ops for `numbers`.
Result<std::vector<float>> RunRegion(const Graph& graph, const Region& region, TensorId result,
                                     const std::vector<float>& numbers,
                                     const ConstantFolder& fold) {
  Graph copy;
  std::map<TensorId, TensorId> copied;
  const TensorId x = AddFloats(copy, "x", numbers);
  for (const OpId id : region.ops) {
    const Op& op = graph.op(id);
    std::vector<TensorId> inputs;
    for (const TensorId input : op.inputs) {
      if (const auto scalar = RealScalar(graph, input); scalar.has_value()) {
        inputs.push_back(AddFloats(copy, "constant", {static_cast<float>(*scalar)}));
      } else {
        const auto found = copied.find(input);
        inputs.push_back(found == copied.end() ? x : found->second);
      }
    }
    TENON_ASSIGN_OR_RETURN(copied[op.outputs.front()],
                           copy.AddOpTensor(op.kind, op.name, inputs, op.attributes));
  }
  const TensorId y = copied.at(result);
  TENON_RETURN_IF_ERROR(fold(copy, {y}));
  std::vector<float> values(kEntries);
  std::memcpy(values.data(), copy.tensor(y).constant->data(), kEntries * sizeof(float));
  return values;
}

}  // namespace

Result<std::string> TryMakeLookup(Graph& graph, OpId id, const ConstantFolder& fold) {
  const auto target = PlainTargetOf(graph, graph.op(id));
  if (!target.has_value()) return std::string("its scale and zero point are not one constant each");
  const TensorId real = graph.op(id).inputs.front();
  const Region region = RegionFinder(graph).Find(real);
  if (!region.refusal.empty()) return region.refusal;
  std::vector<float> values = RealNumbers(region.source->as);
  if (!region.ops.empty()) {
    TENON_ASSIGN_OR_RETURN(values, RunRegion(graph, region, real, values, fold));
  }
  std::vector<int32_t> table(kEntries);
  for (size_t i = 0; i < kEntries; ++i) table[i] = QuantizedValue(*target, values[i]);

  const std::string name = graph.tensor(graph.op(id).outputs.front()).name;
  const std::string op_name =
      region.ops.empty() ? graph.op(id).name : graph.op(region.ops.back()).name;
  const TensorId entries = AddIntegers(graph, name + ".table", target->dtype, table);
  TENON_ASSIGN_OR_RETURN(const OpId made,
                         graph.InsertOp(id, OpKind::kLookup, op_name,
                                        {region.source->quantized, entries}, Attributes(), {name}));
  for (const OpId op : region.ops) {
    if (op != region.ops.back()) RecordFusion(graph, made, op);
  }
  const TensorId y = graph.op(made).outputs.front();
  BypassAndErase(graph, id, y);
  graph.RenameTensor(y, name);
  return std::string();
}

}  // namespace tenon::converter
