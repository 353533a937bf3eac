#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/layout/layouts.hpp"
#include "converter/map/backends.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

using Strides = std::vector<int32_t>;

bool IsDense(const Shape& shape, const Strides& strides, Layout layout) {
  return SameStrides(shape, strides, DenseStrides(shape, layout));
}

/// Returns true for weights and biases: kernels know their role and read them in their own order.
bool IsParameter(const Op& op, size_t input) {
  return (TraitsOf(op.kind).convolution || TraitsOf(op.kind).matrix_product) &&
         (input == GemmInput::kWeights || input == GemmInput::kBias);
}

/// Returns why the kernel cannot take the operands as they are; null if it can.
const char* Refusal(const KernelCaps& caps, const Graph& graph, const Locations& locations,
                    const Op& op, const OpCall& call) {
  if (const char* reason = caps.supports(call)) return reason;
  if (caps.portable) return nullptr;
  bool all_row_major = true;
  bool all_channels_last = true;
  for (const auto* operands : {&op.inputs, &op.outputs}) {
    for (size_t i = 0; i < operands->size(); ++i) {
      const TensorId id = (*operands)[i];
      if (id == kNone) continue;
      const Tensor& tensor = graph.tensor(id);
      const Strides& strides = locations.at(id).strides;
      if (operands == &op.inputs && IsParameter(op, i) && tensor.IsConstant()) {
        const bool in_order = tensor.layout == Layout::kRowMajor ||
                              (i == 1 && tensor.layout == Layout::kOutputsLast &&
                               caps.weights == WeightsOrder::kOutputsLast);
        if (!in_order) return "it reads weights in another order";
        continue;
      }
      if (!TakesAsItLies(caps.activations, tensor.shape, strides)) {
        return "it does not take the operands' strides";
      }
      if (tensor.shape.rank != 4) continue;
      all_row_major = all_row_major && IsDense(tensor.shape, strides, Layout::kRowMajor);
      all_channels_last =
          all_channels_last && IsDense(tensor.shape, strides, Layout::kChannelsLast);
    }
  }
  if (caps.activations == LayoutNeed::kDense && !all_row_major && !all_channels_last) {
    return "its operands lie in different orders";
  }
  return nullptr;
}

}  // namespace

bool TakesAsItLies(LayoutNeed need, const Shape& shape, const std::vector<int32_t>& strides) {
  const bool is_image = shape.rank == 4;
  switch (need) {
    case LayoutNeed::kAny:
      return true;
    case LayoutNeed::kDense:
      return IsDense(shape, strides, Layout::kRowMajor) ||
             (is_image && IsDense(shape, strides, Layout::kChannelsLast));
    case LayoutNeed::kRowMajor:
      return IsDense(shape, strides, Layout::kRowMajor);
    case LayoutNeed::kChannelsLast:
      return IsDense(shape, strides, is_image ? Layout::kChannelsLast : Layout::kRowMajor);
    case LayoutNeed::kChannelsLastStrided:
      if (!is_image) return IsDense(shape, strides, Layout::kRowMajor);
      return (shape[1] == 1 || strides[1] == 1) &&
             (shape[2] == 1 || strides[2] == strides[3] * shape[3]) &&
             (shape[0] == 1 || strides[0] == strides[3] * shape[3] * shape[2]);
    case LayoutNeed::kChannelsLastRows:
      if (!is_image) return IsDense(shape, strides, Layout::kRowMajor);
      return shape[1] == 1 || strides[1] == 1;
  }
  return false;
}

Status ChooseFallbackKernels(Graph& graph, const Locations& locations, int threads,
                             bool portable_only) {
  Error refused{ErrorKind::kInput, "", {}};
  for (const OpId id : graph.OpOrder()) {
    Op& op = graph.MutableOp(id);
    if (op.backend == "cpu" || locations.elided[static_cast<size_t>(id)]) continue;
    const OpCallView view(graph, op);
    const KernelCaps* found = nullptr;
    std::string reasons;
    for (const KernelCaps& caps : cpu::Kernels()) {
      if (caps.kind != op.kind || caps.in_place_only) continue;
      if (portable_only && !caps.portable) continue;
      const char* reason = Refusal(caps, graph, locations, op, view.call());
      if (reason == nullptr) {
        found = &caps;
        break;
      }
      reasons += fmt::format(" {}: {};", caps.id, reason);
    }
    if (found == nullptr) {
      refused.details.push_back(
          fmt::format("{} ({}):{}", op.name, GetOpRow(op.kind).name, reasons));
      continue;
    }
    op.fallback_kernel = found->id;
    op.fallback_workspace_bytes =
        found->workspace_bytes == nullptr
            ? 0
            : static_cast<int64_t>(found->workspace_bytes(view.call(), threads));
  }
  if (refused.details.empty()) return {};
  refused.message = fmt::format("no kernel of the CPU can stand in for {} op(s) on devices",
                                refused.details.size());
  return refused;
}

}  // namespace tenon::converter
