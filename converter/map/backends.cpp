#include "converter/map/backends.hpp"

#include <cstdio>
#include <cstdlib>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/fpga/caps/fpga_caps.hpp"
#ifdef TENON_HAS_OPENCL_CAPS
#include "backends/opencl/caps/opencl_caps.hpp"
#endif
#include "runtime/ops/kernel_name.hpp"

namespace tenon::converter {
namespace {

/// Finds the backend's kernel that runs any operands of this op that its rule allows.
const KernelCaps* AnyStridesKernel(const BackendCaps& backend, const Graph& graph, const Op& op) {
  const OpCallView view(graph, op);
  for (const KernelCaps& caps : backend.kernels) {
    if (caps.kind == op.kind && caps.activations == LayoutNeed::kAny &&
        caps.workspace_bytes == nullptr && caps.supports(view.call()) == nullptr) {
      return &caps;
    }
  }
  return nullptr;
}

bool TakeKernelOf(Graph& graph, OpId copy, OpId neighbour) {
  if (neighbour == kNone) return false;
  const std::string name = graph.op(neighbour).backend;
  const std::string unit = graph.op(neighbour).unit;
  if (name == "cpu") {
    UsePortableKernel(graph.MutableOp(copy));
    graph.MutableOp(copy).unit = unit;
    return true;
  }
  const BackendCaps* backend = FindBackend(graph.backends, name);
  if (backend == nullptr) return false;
  const KernelCaps* caps = AnyStridesKernel(*backend, graph, graph.op(copy));
  if (caps == nullptr) return false;
  UseKernel(graph.MutableOp(copy), name, *caps);
  graph.MutableOp(copy).unit = unit;
  return true;
}

}  // namespace

std::vector<BackendCaps> BuiltInBackends() {
  std::vector<BackendCaps> backends = {cpu::CpuCaps()};
#ifdef TENON_HAS_OPENCL_CAPS
  backends.push_back(opencl::OpenclCaps());
#endif
  backends.push_back(fpga::FpgaCaps());
  return backends;
}

const BackendCaps* FindBackend(const std::vector<BackendCaps>& backends, std::string_view name) {
  for (const BackendCaps& backend : backends) {
    if (name == backend.name) return &backend;
  }
  return nullptr;
}

const KernelCaps& CapsOf(const Op& op) {
  if (op.caps != nullptr && NamesKernel(op.kernel.c_str(), op.caps->id)) return *op.caps;
  const KernelCaps* caps = cpu::CapsNamed(op.kernel.c_str());
  if (caps == nullptr) {
    std::fprintf(stderr, "op '%s' has no known kernel: '%s'\n", op.name.c_str(), op.kernel.c_str());
    std::abort();
  }
  return *caps;
}

void UseKernel(Op& op, std::string_view backend, const KernelCaps& caps) {
  op.backend = backend;
  op.kernel = caps.id;
  op.caps = &caps;
}

void UsePortableKernel(Op& op) {
  for (const KernelCaps& caps : cpu::Kernels()) {
    if (caps.kind != op.kind || caps.in_place_only) continue;
    if (caps.portable) UseKernel(op, "cpu", caps);
  }
}

void UseKernelOfNeighbour(Graph& graph, OpId copy, OpId reader) {
  const Op& op = graph.op(copy);
  const OpId producer = graph.tensor(op.inputs[0]).producer;
  if (TakeKernelOf(graph, copy, producer)) return;
  std::vector<OpId> readers = graph.Consumers(op.outputs[0]);
  if (reader != kNone) readers.insert(readers.begin(), reader);
  for (const OpId id : readers) {
    if (TakeKernelOf(graph, copy, id)) return;
  }
  UsePortableKernel(graph.MutableOp(copy));
}

}  // namespace tenon::converter
