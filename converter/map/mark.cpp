#include "converter/map/mark.hpp"

#include <algorithm>

#include "converter/map/priority_table.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

int64_t WorkspaceBytes(const KernelCaps& caps, const OpCall& call, const MarkOptions& options) {
  if (options.least_workspace && options.threads == 1 && caps.least_workspace_bytes != nullptr) {
    return static_cast<int64_t>(caps.least_workspace_bytes(call));
  }
  return caps.workspace_bytes == nullptr
             ? 0
             : static_cast<int64_t>(caps.workspace_bytes(call, options.threads));
}

/// Returns why the kernel must not run the op; empty if it may.
std::string Refusal(const KernelCaps& caps, const OpCall& call, const MarkOptions& options) {
  if (const char* reason = caps.supports(call)) return reason;
  if (caps.spares_byte_products && options.board != nullptr) {
    const Unit* unit = ComputeUnit(*options.board);
    if (unit != nullptr && MultipliesBytes(*unit)) {
      return "the processor has instructions for products of bytes, which are faster";
    }
  }
  if (options.workspace_limit.has_value()) {
    const int64_t bytes = WorkspaceBytes(caps, call, options);
    if (bytes > *options.workspace_limit) {
      return fmt::format("workspace of {} bytes is over the limit of {}", bytes,
                         *options.workspace_limit);
    }
  }
  if (options.packed_limit.has_value() && caps.packed_bytes != nullptr) {
    const auto bytes = static_cast<int64_t>(caps.packed_bytes(call));
    if (bytes > *options.packed_limit) {
      return fmt::format("packed weights of {} bytes are over the limit of {}", bytes,
                         *options.packed_limit);
    }
  }
  return {};
}

/// Returns the set of kernels that the board names for a backend's unit: an instruction set, or a
/// kind of device. Empty: none.
std::string_view KernelSetOf(std::string_view backend, const MarkOptions& options) {
  if (backend == "cpu" || options.board == nullptr) return options.kernel_set;
  for (const Unit& unit : options.board->units) {
    if (unit.backend == backend) return unit.kernel_set;
  }
  return {};
}

/// Returns the kernels that may run an op, best first: those of the unit's set, then the others.
/// Kernels that work in place have a list of their own.
std::vector<const KernelCaps*> KernelsFor(const BackendCaps& backend, OpKind kind,
                                          const MarkOptions& options, bool in_place = false) {
  std::vector<const KernelCaps*> kernels;
  const auto add = [&](const KernelCaps& caps) {
    const bool wanted = in_place ? caps.in_place_inputs != 0 : !caps.in_place_only;
    if (caps.kind == kind && wanted) kernels.push_back(&caps);
  };
  const std::string set(KernelSetOf(backend.name, options));
  if (!set.empty() && backend.kernels_of_set != nullptr) {
    for (const KernelCaps& caps : backend.kernels_of_set(set.c_str())) add(caps);
  }
  const bool portable_only = options.portable_only && std::string_view(backend.name) == "cpu";
  for (const KernelCaps& caps : backend.kernels) {
    if (portable_only && !caps.portable) continue;
    add(caps);
  }
  return kernels;
}

/// Returns why the backend has turned this op down; null if it has not.
const std::string* FindRefusal(const Op& op, const std::string& backend,
                               const MarkOptions& options) {
  for (const RefusedOp& refused : options.refused) {
    if (refused.backend == backend && refused.op == op.name) return &refused.reason;
  }
  return nullptr;
}

/// Finds the first kernel that takes the op, with the reasons of those before it.
void FindKernel(const BackendCaps& backend, const OpCall& call, OpKind kind,
                const MarkOptions& options, Mark& mark) {
  for (const KernelCaps* caps : KernelsFor(backend, kind, options)) {
    std::string refusal = Refusal(*caps, call, options);
    if (refusal.empty()) {
      mark.kernel = caps;
      mark.workspace_bytes = WorkspaceBytes(*caps, call, options);
      return;
    }
    mark.refused.emplace_back(caps->id, std::move(refusal));
  }
  mark.reason = mark.refused.empty()
                    ? fmt::format("'{}' has no kernel for {}", backend.name, GetOpRow(kind).name)
                    : mark.refused.back().second;
}

/// Returns the op as it would be on the marked backend.
Op OnBackend(const Op& op, const Mark& mark) {
  Op mapped = op;
  mapped.backend = mark.backend;
  if (mark.kernel != nullptr) UseKernel(mapped, mark.backend, *mark.kernel);
  return mapped;
}

Mark MarkBackend(const Graph& graph, const Op& op, const OpCall& call, const std::string& name,
                 const MarkOptions& options) {
  Mark mark;
  mark.backend = name;
  const BackendCaps* backend = FindBackend(options.backends, name);
  if (backend == nullptr) {
    mark.reason = fmt::format("this converter does not know the kernels of '{}'", name);
    return mark;
  }
  mark.priority = 1;
  if (options.board != nullptr) {
    Ranking ranking = RankingOf(*options.board, name, graph, op);
    mark.priority = ranking.priority;
    mark.reason = std::move(ranking.reason);
    if (UnitFor(*options.board, OnBackend(op, mark)) == nullptr) {
      mark.reason = fmt::format("no unit of '{}' runs {}", name, GetOpRow(op.kind).name);
      return mark;
    }
  }
  if (const std::string* refusal = FindRefusal(op, name, options)) {
    mark.reason = *refusal;
    return mark;
  }
  FindKernel(*backend, call, op.kind, options, mark);
  if (mark.kernel != nullptr && options.costs != nullptr && options.board != nullptr) {
    const Op mapped = OnBackend(op, mark);
    const Unit& unit = *UnitFor(*options.board, mapped);
    mark.time =
        options.costs->TimeOf(graph, mapped, unit).Alone(options.board->PortBytesPerSecond(unit));
  }
  return mark;
}

/// Returns true if the graph lets output 0 take the memory of an input among `inputs` (bit mask).
bool CouldTakeOver(const Graph& graph, const Op& op, uint32_t inputs) {
  const Tensor& output = graph.tensor(op.outputs[0]);
  for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
    const TensorId id = op.inputs[i];
    if ((inputs >> i & 1U) == 0 || id == kNone) continue;
    const Tensor& input = graph.tensor(id);
    if (!input.IsConstant() && !graph.IsOutput(id) && input.shape == output.shape &&
        input.dtype == output.dtype && graph.Consumers(id).size() == 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

InPlaceKernel FindInPlaceKernel(const Graph& graph, const Op& op, const MarkOptions& options) {
  const BackendCaps* backend =
      FindBackend(options.backends, op.backend.empty() ? "cpu" : op.backend);
  if (backend == nullptr || op.outputs.size() != 1) return {};
  const OpCallView view(graph, op);
  Mark otherwise;
  FindKernel(*backend, view.call(), op.kind, options, otherwise);
  const int64_t most = graph.tensor(op.outputs[0]).ByteSize() + otherwise.workspace_bytes;
  for (const KernelCaps* caps : KernelsFor(*backend, op.kind, options, /*in_place=*/true)) {
    if (!CouldTakeOver(graph, op, caps->in_place_inputs)) continue;
    if (caps->supports(view.call()) != nullptr) continue;
    const int64_t bytes = WorkspaceBytes(*caps, view.call(), options);
    if (bytes < most) return {caps, bytes};
  }
  return {};
}

std::vector<Mark> MarkOp(const Graph& graph, const Op& op, const MarkOptions& options) {
  std::vector<std::string> names;
  if (options.board == nullptr) {
    for (const BackendCaps& backend : options.backends) names.emplace_back(backend.name);
  } else {
    for (const Unit& unit : options.board->units) {
      if (!unit.IsTransferOnly() &&
          std::find(names.begin(), names.end(), unit.backend) == names.end()) {
        names.push_back(unit.backend);
      }
    }
  }
  const OpCallView view(graph, op);
  std::vector<Mark> marks;
  marks.reserve(names.size());
  for (const std::string& name : names) {
    marks.push_back(MarkBackend(graph, op, view.call(), name, options));
  }
  return marks;
}

}  // namespace tenon::converter
