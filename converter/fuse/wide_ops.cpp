#include "converter/fuse/wide_ops.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

bool IsConstantOrAbsent(const Graph& graph, TensorId id) {
  return id == kNone || graph.tensor(id).IsConstant();
}

}  // namespace

std::string MergeKey(const Graph& graph, const Op& op) {
  if (!TraitsOf(op.kind).IsFloatGemm()) return {};
  if (op.inputs.size() > 3) return {};  // a residual, or scales of stored weights
  const TensorId x = op.inputs[GemmInput::kX];
  const TensorId weights = op.inputs[GemmInput::kWeights];
  const TensorId bias = op.InputOrNone(GemmInput::kBias);
  if (graph.tensor(x).IsConstant() || !graph.tensor(weights).IsConstant()) return {};
  if (!IsConstantOrAbsent(graph, bias) || graph.tensor(weights).dtype != DType::kF32) return {};
  const Shape& shape = graph.tensor(weights).shape;
  std::vector<int32_t> rest(shape.dims, shape.dims + shape.rank);
  if (op.kind == OpKind::kConv) {
    if (op.attributes.As<ConvAttributes>().group != 1) return {};
    rest.erase(rest.begin());
  } else {
    const bool is_plain = rest.size() == 2 && (bias == kNone || graph.tensor(bias).shape.rank == 1);
    if (!is_plain || op.attributes.As<MatMulAttributes>().transpose_b != 0) return {};
    rest.pop_back();
  }
  return fmt::format("{} {} {} {} {}", x, static_cast<int>(op.kind), bias != kNone,
                     fmt::join(op.attributes.words(), ","), fmt::join(rest, ","));
}

std::vector<WideOp> WideOpsOf(const Graph& graph, const std::vector<OpId>& ops) {
  std::map<std::string, int32_t> classes;
  std::vector<WideOp> wide;
  for (const OpId id : ops) {
    const Op& op = graph.op(id);
    const OpCallView view(graph, op);
    const OpWork work = GetOpHostRow(op.kind).work(view.call());
    WideOp entry;
    for (const TensorId output : op.outputs) {
      entry.elements += graph.tensor(output).shape.Elements();
    }
    entry.flops = static_cast<double>(2 * work.multiply_accumulates + work.elementary_ops);
    entry.bytes = static_cast<double>(work.bytes_read + work.bytes_written);
    if (const std::string key = MergeKey(graph, op); !key.empty()) {
      entry.merge_class =
          classes.try_emplace(key, static_cast<int32_t>(classes.size())).first->second;
      entry.shared_bytes = static_cast<double>(graph.tensor(op.inputs[GemmInput::kX]).ByteSize());
    }
    wide.push_back(entry);
  }
  return wide;
}

}  // namespace tenon::converter
