#include "converter/split/chain_builder.hpp"

#include <algorithm>

#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// Returns true for shapes that layouts store differently; convolutions and pools choose the
/// layout.
bool IsImage(const Shape& shape) {
  return shape.rank == 4 && shape[1] > 1 && int64_t{shape[2]} * shape[3] > 1;
}

/// Returns true if the indices along an axis of the tensor, as it probably lies in memory, are runs
/// of bytes one behind the other.
bool AreRuns(const Graph& graph, const GraphOrder& order, TensorId id, int32_t axis) {
  for (OpId producer = graph.tensor(id).producer;
       producer != kNone && graph.op(producer).kind == OpKind::kTranspose;
       producer = graph.tensor(id).producer) {
    const Op& op = graph.op(producer);
    axis = op.attributes.As<TransposeAttributes>().permutation[axis];
    id = op.inputs[0];
  }
  const Shape& shape = graph.tensor(id).shape;
  if (order.channels_last[static_cast<size_t>(id)]) return axis == kRowAxis && shape[0] == 1;
  for (int32_t i = 0; i < axis; ++i) {
    if (shape[i] != 1) return false;
  }
  return true;
}

}  // namespace

GraphOrder::GraphOrder(const Graph& graph, const InPlaceInputs& in_place,
                       const OutsideInputs& outside_inputs)
    : ops(graph.OpOrder()), outside(outside_inputs) {
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    const uint32_t by_kernel = in_place ? in_place(graph, op) : 0;
    in_place_inputs.push_back(GetOpRow(op.kind).in_place_inputs | by_kernel);
  }
  TensorId last = kNone;
  for (const TensorId id : graph.Tensors()) last = std::max(last, id);
  last_use.assign(static_cast<size_t>(last + 1), -1);
  for (size_t position = 0; position < ops.size(); ++position) {
    for (const TensorId id : graph.op(ops[position]).inputs) {
      if (id != kNone) last_use[static_cast<size_t>(id)] = static_cast<int64_t>(position);
    }
  }
  for (const Graph::Port& port : graph.outputs()) {
    last_use[static_cast<size_t>(port.tensor)] = INT64_MAX;
  }
  channels_last.assign(last_use.size(), false);
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    bool likely = TraitsOf(op.kind).convolution || TraitsOf(op.kind).pool;
    if (op.kind != OpKind::kReshape && op.kind != OpKind::kTranspose) {
      for (const TensorId input : op.inputs) {
        likely = likely || (input != kNone && channels_last[static_cast<size_t>(input)]);
      }
    }
    for (const TensorId output : op.outputs) {
      channels_last[static_cast<size_t>(output)] = likely && IsImage(graph.tensor(output).shape);
    }
  }
}

uint32_t GraphOrder::ViewInputs(const Graph& graph, const Op& op) const {
  switch (op.kind) {
    case OpKind::kReshape: {
      const OpId producer = graph.tensor(op.inputs[0]).producer;
      const bool turned = producer != kNone && graph.op(producer).kind == OpKind::kTranspose;
      return turned || channels_last[static_cast<size_t>(op.inputs[0])] ? 0 : 1;
    }
    case OpKind::kTranspose:
    case OpKind::kSlice:
      return 1;
    case OpKind::kConcat:
      return op.inputs.size() >= 32 ? 0 : (1U << op.inputs.size()) - 1;
    default:
      return 0;
  }
}

const OutsideInput* GraphOrder::TakenBy(OpId id) const {
  const auto found = std::find_if(outside.begin(), outside.end(), [id](const OutsideInput& input) {
    return input.rows > 0 && input.copy == id;
  });
  return found == outside.end() ? nullptr : &*found;
}

ChainBuilder::ChainBuilder(const Graph& graph, const GraphOrder& order, int64_t first,
                           SplitDimension dimension)
    : graph_(graph), order_(order) {
  chain_.first = first;
  chain_.dimension = dimension;
}

int32_t ChainBuilder::TensorOf(TensorId id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? -1 : found->second;
}

/// Every operand that the chain makes is needed along the axis that it is cut along.
bool ChainBuilder::Fits(const Op& op, const std::vector<InputSplit>& needs) const {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t tensor = TensorOf(op.inputs[i]);
    if (tensor >= 0 && chain_.tensors[static_cast<size_t>(tensor)].axis != needs[i].axis) {
      return false;
    }
  }
  return true;
}

bool ChainBuilder::Add() {
  if (chain_.end() >= static_cast<int64_t>(order_.ops.size())) return false;
  const OpId id = order_.ops[static_cast<size_t>(chain_.end())];
  const Op& op = graph_.op(id);
  if (op.outputs.size() != 1) return false;
  const OpCallView view(graph_, op);
  const OpCall& call = view.call();
  if (call.Output().Elements() == 0) return false;
  const OpSplit& row = GetOpHostRow(op.kind).split;
  const bool continues = std::any_of(op.inputs.begin(), op.inputs.end(),
                                     [this](TensorId input) { return TensorOf(input) >= 0; });
  const int32_t wanted = row.axis(call, chain_.dimension);
  const int32_t rank = call.Output().rank;
  std::vector<InputSplit> needs(op.inputs.size());
  // Prefers the same dimension; else takes the one to which the op moves the rows (pixel shuffles).
  for (int32_t i = -1; i < (continues ? rank : 0); ++i) {
    const int32_t axis = i < 0 ? wanted : i;
    if (axis < 0 || axis >= rank || (i >= 0 && axis == wanted)) continue;
    std::fill(needs.begin(), needs.end(), InputSplit{});
    int32_t granularity = 1;
    if (!row.along(call, axis, needs.data(), &granularity) || !Fits(op, needs)) continue;
    if (const OutsideInput* input = order_.TakenBy(id)) {
      if (axis != kRowAxis) continue;
      granularity = input->rows;
    }
    Append(id, call, axis, needs, granularity);
    return true;
  }
  return false;
}

bool ChainBuilder::Accumulate(const Graph& graph, const GraphOrder& order, Chain& chain) {
  if (chain.ops.empty() || chain.end() >= static_cast<int64_t>(order.ops.size())) return false;
  const Op& op = graph.op(order.ops[static_cast<size_t>(chain.end())]);
  const ChainTensor& rows = chain.tensors.back();
  if (op.kind != OpKind::kQuantizedAveragePool || op.inputs.size() != 1 ||
      op.inputs[0] != rows.id || rows.last_use != chain.end() || rows.axis != 2) {
    return false;
  }
  const auto attributes = op.attributes.As<QuantizedAveragePoolAttributes>();
  const PoolAttributes& pool = attributes.pool;
  const Shape& y = graph.tensor(op.outputs[0]).shape;
  const bool padded =
      std::any_of(std::begin(pool.pads), std::end(pool.pads), [](int32_t pad) { return pad != 0; });
  if (pool.kernel[0] != rows.rows || y[2] != 1 || padded || pool.dilations[0] != 1 ||
      pool.dilations[1] != 1 || pool.ceil_mode != 0 ||
      DTypeBytes(static_cast<DType>(attributes.output.to)) != 1) {
    return false;
  }
  chain.accumulator = order.ops[static_cast<size_t>(chain.end())];
  // A sum of so few differences from the zero point, of 8 bits and a sign each, fits 16 bits.
  constexpr int32_t kMostOf16Bits = 128;
  const bool is_small = int64_t{pool.kernel[0]} * pool.kernel[1] <= kMostOf16Bits;
  chain.sum_dtype = is_small ? DType::kI16 : DType::kI32;
  chain.sum_bytes = y.Elements() * DTypeBytes(chain.sum_dtype);
  return true;
}

void ChainBuilder::FindSource(const Graph& graph, const GraphOrder& order,
                              const std::function<bool(TensorId source)>& is_last, Chain& chain) {
  if (chain.dimension != SplitDimension::kHeight || chain.accumulator != kNone) return;
  for (size_t t = 0; t < chain.tensors.size(); ++t) {
    const bool is_last_tensor = t + 1 == chain.tensors.size();
    if (chain.IsExit(t) != is_last_tensor) return;
  }
  if (!AreRuns(graph, order, chain.tensors.back().id, chain.tensors.back().axis)) return;
  std::vector<ChainSource> sources;
  for (size_t k = 0; k < chain.ops.size(); ++k) {
    const Op& op = graph.op(chain.ops[k].id);
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const ChainInput& input = chain.ops[k].inputs[i];
      const TensorId id = op.inputs[i];
      if (input.tensor >= 0 || input.need.axis < 0 || id == kNone ||
          graph.tensor(id).IsConstant() || !AreRuns(graph, order, id, input.need.axis) ||
          !is_last(id)) {
        continue;
      }
      auto found = std::find_if(sources.begin(), sources.end(),
                                [id](const ChainSource& source) { return source.id == id; });
      if (found == sources.end()) {
        const Tensor& tensor = graph.tensor(id);
        const int32_t rows = tensor.shape[input.need.axis];
        found = sources.insert(found, {id, rows, tensor.ByteSize() / std::max(rows, 1), {}});
      }
      found->readers.emplace_back(static_cast<int32_t>(k), input.need);
    }
  }
  for (const ChainSource& source : sources) {
    const auto bytes = [](const ChainSource& s) { return s.rows * s.row_bytes; };
    if (bytes(source) > bytes(chain.source)) chain.source = source;
  }
}

bool ChainBuilder::AddColumns(const Graph& graph, const GraphOrder& order, Chain& chain) {
  if (chain.dimension != SplitDimension::kHeight || chain.accumulator != kNone) return false;
  ChainBuilder builder(graph, order, chain.first, SplitDimension::kWidth);
  for (size_t k = 0; k < chain.ops.size(); ++k) {
    if (chain.ops[k].once || !builder.Add()) return false;
    if (builder.chain().tensors[k].axis == chain.tensors[k].axis) return false;
    const std::vector<ChainInput>& by_rows = chain.ops[k].inputs;
    const std::vector<ChainInput>& by_columns = builder.chain().ops[k].inputs;
    for (size_t i = 0; i < by_rows.size(); ++i) {
      const int32_t axis = by_rows[i].need.axis;
      if (axis >= 0 && axis == by_columns[i].need.axis) return false;
    }
  }
  chain.columns = std::make_shared<const Chain>(builder.chain());
  return true;
}

void ChainBuilder::Append(OpId id, const OpCall& call, int32_t axis,
                          const std::vector<InputSplit>& needs, int32_t granularity) {
  const Op& op = graph_.op(id);
  const Tensor& output = graph_.tensor(op.outputs[0]);
  const auto index = static_cast<int32_t>(chain_.ops.size());
  const OpWork work = GetOpHostRow(op.kind).work(call);
  ChainOp added;
  added.id = id;
  added.output = index;
  added.granularity = granularity;
  added.work = work.multiply_accumulates + work.elementary_ops;
  added.views = order_.ViewInputs(graph_, op);
  added.once = order_.TakenBy(id) != nullptr;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t tensor = TensorOf(op.inputs[i]);
    added.inputs.push_back({tensor, needs[i]});
    if (tensor < 0) continue;
    std::vector<int32_t>& readers = chain_.tensors[static_cast<size_t>(tensor)].readers;
    if (readers.empty() || readers.back() != index) readers.push_back(index);
    const Tensor& input = graph_.tensor(op.inputs[i]);
    // In a patch, only operands that are read row by row have the output's size.
    const uint32_t allowed = order_.in_place_inputs[static_cast<size_t>(chain_.end())];
    const bool possible = i < 32 && (allowed >> i & 1U) != 0;
    const bool by_rows = needs[i] == InputSplit{needs[i].axis, 1, 1, 0, 1};
    if (possible && by_rows && input.shape == output.shape && input.dtype == output.dtype) {
      added.in_place |= 1U << i;
    }
  }
  ChainTensor made;
  made.id = op.outputs[0];
  made.axis = axis;
  made.rows = output.shape[axis];
  made.row_bytes = output.ByteSize() / std::max<int32_t>(made.rows, 1);
  made.producer = index;
  made.last_use = order_.last_use[static_cast<size_t>(made.id)];
  index_.emplace(made.id, index);
  chain_.ops.push_back(std::move(added));
  chain_.tensors.push_back(std::move(made));
}

}  // namespace tenon::converter
