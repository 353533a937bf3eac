#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// Returns true for the constant 0, 1, 2, ... along the last axis.
bool IsRange(const Tensor& tensor) {
  if (!tensor.IsConstant() || tensor.shape.rank == 0) return false;
  const std::vector<double> values = ReadElements(tensor);
  if (static_cast<int64_t>(values.size()) != tensor.shape[tensor.shape.rank - 1]) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<double>(i)) return false;
  }
  return true;
}

bool IsIndex(const Tensor& tensor) {
  return tensor.dtype == DType::kI32 || tensor.dtype == DType::kI64;
}

/// Returns what is true where an index meets its place, if the op makes 1 of that and 0 of the
/// rest; else kNone.
TensorId ConditionOf(const Graph& graph, OpId id) {
  if (id == kNone) return kNone;
  const Op& op = graph.op(id);
  if (op.kind == OpKind::kCast) {
    return graph.tensor(op.inputs[0]).dtype == DType::kBool ? op.inputs[0] : kNone;
  }
  if (op.kind != OpKind::kSelect) return kNone;
  const std::optional<double> on = ScalarValue(graph, op.inputs[SelectInput::kX]);
  const std::optional<double> off = ScalarValue(graph, op.inputs[SelectInput::kY]);
  return on == 1 && off == 0 ? op.inputs[SelectInput::kCondition] : kNone;
}

/// Returns the indices [..., 1] of which `hot` [..., depth] has the one-hot rows; else kNone.
TensorId IndicesOf(const Graph& graph, TensorId hot) {
  const TensorId condition = ConditionOf(graph, graph.tensor(hot).producer);
  if (condition == kNone) return kNone;
  const OpId compare = ProducerOfKind(graph, condition, OpKind::kBinary);
  if (compare == kNone) return kNone;
  const Op& op = graph.op(compare);
  if (op.attributes.As<BinaryAttributes>().function != BinaryFunction::kEqual) return kNone;
  const Shape& rows = graph.tensor(hot).shape;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const TensorId indices = op.inputs[side];
    const Tensor& tensor = graph.tensor(indices);
    if (!IsIndex(tensor) || !IsRange(graph.tensor(op.inputs[1 - side]))) continue;
    Shape expected = rows;
    if (expected.rank < 2) continue;
    expected[expected.rank - 1] = 1;
    const bool is_whole = graph.tensor(op.inputs[1 - side]).shape.Elements() == rows[rows.rank - 1];
    if (tensor.shape == expected && is_whole) return indices;
  }
  return kNone;
}

/// Returns the rows of the product's matrix with the bias added, and behind them the bias alone;
/// empty if the product is another or a value is not finite, which times 0 is not 0.
std::vector<float> RowsOf(const Graph& graph, const Op& product) {
  const auto& attributes = product.attributes.As<MatMulAttributes>();
  const Tensor& matrix = graph.tensor(product.inputs[GemmInput::kWeights]);
  const bool is_plain = attributes.transpose_a == 0 && attributes.transpose_b == 0 &&
                        attributes.activation.function == UnaryFunction::kIdentity;
  if (!is_plain || !matrix.IsConstant() || matrix.dtype != DType::kF32) return {};
  if (matrix.shape.rank != 2 || matrix.layout != Layout::kRowMajor) return {};
  const auto columns = static_cast<size_t>(matrix.shape[1]);
  std::vector<float> rows(static_cast<size_t>(matrix.shape.Elements()) + columns);
  std::memcpy(rows.data(), matrix.constant->data(), (rows.size() - columns) * sizeof(float));
  if (product.inputs.size() > GemmInput::kBias && product.inputs[GemmInput::kBias] != kNone) {
    const Tensor& bias = graph.tensor(product.inputs[GemmInput::kBias]);
    if (!bias.IsConstant() || bias.dtype != DType::kF32) return {};
    const std::vector<double> values = ReadElements(bias);
    if (values.size() != columns) return {};
    // One of rows may have as many values.
    if (columns > 1 && bias.shape[bias.shape.rank - 1] == 1) return {};
    for (size_t i = 0; i < rows.size(); ++i) rows[i] += static_cast<float>(values[i % columns]);
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  return std::all_of(rows.begin(), rows.end(), is_finite) ? rows : std::vector<float>();
}

/// Emits the indices without their last axis, of which those out of range lead to row `depth` (-1
/// counts from the end).
Result<TensorId> AddIndices(Graph& graph, OpId id, TensorId indices, int32_t depth) {
  const std::string name = graph.op(id).name;
  const auto bounded = [&](TensorId x, BinaryFunction function, int32_t bound,
                           const char* what) -> Result<TensorId> {
    const std::string text = fmt::format("{}/{}", name, what);
    const DType dtype = graph.tensor(x).dtype;
    const Shape scalar;
    const TensorId limit =
        dtype == DType::kI64
            ? graph.AddConstantOf(text + "_bound", dtype, scalar, std::vector<int64_t>{bound})
            : graph.AddConstantOf(text + "_bound", dtype, scalar, std::vector<int32_t>{bound});
    BinaryAttributes attributes;
    attributes.function = function;
    TENON_ASSIGN_OR_RETURN(const OpId op, graph.InsertOp(id, OpKind::kBinary, text, {x, limit},
                                                         Attributes(attributes), {text}));
    return graph.op(op).outputs[0];
  };
  TENON_ASSIGN_OR_RETURN(TensorId x, bounded(indices, BinaryFunction::kMax, -1, "from_end"));
  TENON_ASSIGN_OR_RETURN(x, bounded(x, BinaryFunction::kMin, depth, "in_range"));
  ReshapeAttributes flat;
  const Shape shape = graph.tensor(x).shape;
  flat.rank = shape.rank - 1;
  for (int32_t k = 0; k < flat.rank; ++k) flat.dims[k] = shape[k];
  const std::string text = name + "/indices";
  TENON_ASSIGN_OR_RETURN(const OpId op,
                         graph.InsertOp(id, OpKind::kReshape, text, {x}, Attributes(flat), {text}));
  return graph.op(op).outputs[0];
}

Result<bool> FoldOneHotInto(Graph& graph, OpId id) {
  if (graph.op(id).kind != OpKind::kMatMul) return false;
  const TensorId hot = graph.op(id).inputs[GemmInput::kX];
  const TensorId indices = IndicesOf(graph, hot);
  if (indices == kNone) return false;
  const std::vector<float> rows = RowsOf(graph, graph.op(id));
  if (rows.empty()) return false;
  const TensorId matrix = graph.op(id).inputs[GemmInput::kWeights];
  const int32_t depth = graph.tensor(matrix).shape[0];
  const int32_t columns = graph.tensor(matrix).shape[1];
  TENON_ASSIGN_OR_RETURN(const TensorId places, AddIndices(graph, id, indices, depth));
  const TensorId table = graph.AddConstantOf(graph.tensor(matrix).name + ".rows", DType::kF32,
                                             Shape({depth + 1, columns}), rows);
  const OpId maker = graph.tensor(hot).producer;
  const std::vector<TensorId> before = graph.op(id).inputs;
  Op& op = graph.MutableOp(id);
  op.kind = OpKind::kGather;
  op.attributes = Attributes(GatherAttributes());
  op.inputs = {table, places};
  RecordFusion(graph, id, maker);
  EraseIfUnread(graph, maker);
  for (size_t i = 1; i < before.size(); ++i) {
    if (before[i] != kNone && !graph.IsRead(before[i])) graph.EraseTensor(before[i]);
  }
  return true;
}

}  // namespace

Status FoldOneHot(Graph& graph, PassContext& context) {
  for (const OpId id : graph.OpOrder()) {
    TENON_ASSIGN_OR_RETURN(const bool folded, FoldOneHotInto(graph, id));
    if (folded) ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
