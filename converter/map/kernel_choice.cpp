#include "converter/map/kernel_choice.hpp"

#include <set>
#include <string_view>
#include <utility>

#include "runtime/ops/op_table.hpp"

namespace tenon::converter {
namespace {

int64_t WorkspaceBytes(const cpu::KernelCaps& caps, const OpCall& call, int threads) {
  return caps.workspace_bytes == nullptr
             ? 0
             : static_cast<int64_t>(caps.workspace_bytes(call, threads));
}

int64_t PackedBytes(const cpu::KernelCaps& caps, const OpCall& call) {
  return caps.packed_bytes == nullptr ? 0 : static_cast<int64_t>(caps.packed_bytes(call));
}

/// Why the kernel is not to run the op; empty if it may.
std::string Refusal(const cpu::KernelCaps& caps, const OpCall& call,
                    const KernelChoiceOptions& options) {
  if (const char* reason = caps.supports(call)) return reason;
  if (options.workspace_limit.has_value()) {
    const int64_t bytes = WorkspaceBytes(caps, call, options.threads);
    if (bytes > *options.workspace_limit) {
      return fmt::format("workspace of {} bytes is over the limit of {}", bytes,
                         *options.workspace_limit);
    }
  }
  if (options.packed_limit.has_value()) {
    const int64_t bytes = PackedBytes(caps, call);
    if (bytes > *options.packed_limit) {
      return fmt::format("packed weights of {} bytes are over the limit of {}", bytes,
                         *options.packed_limit);
    }
  }
  return {};
}

/// The first kernel that takes the op, with the reasons of those before it.
const cpu::KernelCaps* FirstSupporting(const OpCall& call, OpKind kind,
                                       const KernelChoiceOptions& options, MappedOp& mapped) {
  for (const cpu::KernelCaps& caps : cpu::Kernels()) {
    if (caps.kind != kind || (options.portable_only && !cpu::IsPortable(caps))) continue;
    mapped.candidates.push_back({caps.id, Refusal(caps, call, options)});
    if (mapped.candidates.back().reason.empty()) return &caps;
  }
  return nullptr;
}

/// Kernels with the same number pack alike.
size_t PackingForm(const cpu::KernelCaps& caps) {
  const Span<const cpu::KernelCaps> all = cpu::Kernels();
  size_t form = 0;
  while (form < all.size() && all[form].packed_bytes != caps.packed_bytes) ++form;
  return form;
}

}  // namespace

const cpu::KernelCaps& CapsOf(const Op& op) {
  const Span<const cpu::KernelCaps> all = cpu::Kernels();
  for (const cpu::KernelCaps& caps : all) {
    if (op.kernel == caps.id) return caps;
  }
  return all[0];  // ChooseKernels gives no other ids
}

void UsePortableKernel(Op& op) {
  for (const cpu::KernelCaps& caps : cpu::Kernels()) {
    if (caps.kind == op.kind && cpu::IsPortable(caps)) {
      op.backend = "cpu";
      op.kernel = caps.id;
    }
  }
}

int64_t PackedBytes(const Graph& graph) {
  std::set<std::pair<size_t, PackingKey>> known;
  int64_t bytes = 0;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const cpu::KernelCaps& caps = CapsOf(op);
    if (caps.packed_bytes == nullptr) continue;
    const OpCallView view(graph, op);
    if (caps.packing_key != nullptr) {
      PackingKey key;
      caps.packing_key(view.call(), &key);
      if (!known.emplace(PackingForm(caps), key).second) continue;
    }
    bytes += PackedBytes(caps, view.call());
  }
  return bytes;
}

Result<std::vector<MappedOp>> ChooseKernels(Graph& graph, const KernelChoiceOptions& options) {
  std::vector<MappedOp> mapping;
  Error refused{ErrorKind::kInput, "", {}};
  for (const OpId id : graph.OpOrder()) {
    Op& op = graph.op(id);
    MappedOp mapped{op.name, "cpu", {}};
    const OpCallView view(graph, op);
    const cpu::KernelCaps* caps = FirstSupporting(view.call(), op.kind, options, mapped);
    if (caps == nullptr) {
      std::string line = fmt::format("{} ({}):", op.name, GetOpRow(op.kind).name);
      for (const Candidate& candidate : mapped.candidates) {
        line += fmt::format(" {}: {};", candidate.kernel, candidate.reason);
      }
      refused.details.push_back(line);
      continue;
    }
    op.backend = "cpu";
    op.kernel = caps->id;
    op.workspace_bytes = WorkspaceBytes(*caps, view.call(), options.threads);
    mapping.push_back(std::move(mapped));
  }
  if (!refused.details.empty()) {
    refused.message = fmt::format("no kernel runs {} op(s) of this model", refused.details.size());
    return refused;
  }
  return mapping;
}

}  // namespace tenon::converter
