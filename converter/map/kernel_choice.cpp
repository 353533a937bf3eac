#include "converter/map/kernel_choice.hpp"

#include <string_view>

#include "runtime/ops/op_table.hpp"

namespace tenon::converter {
namespace {

/// The first kernel that takes the op, with the reasons of those before it.
const cpu::KernelCaps* FirstSupporting(const OpCall& call, OpKind kind, bool portable_only,
                                       MappedOp& mapped) {
  for (const cpu::KernelCaps& caps : cpu::Kernels()) {
    if (caps.kind != kind || (portable_only && !cpu::IsPortable(caps))) continue;
    const char* reason = caps.supports(call);
    mapped.candidates.push_back({caps.id, reason != nullptr ? reason : ""});
    if (reason == nullptr) return &caps;
  }
  return nullptr;
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

Result<std::vector<MappedOp>> ChooseKernels(Graph& graph, const KernelChoiceOptions& options) {
  std::vector<MappedOp> mapping;
  Error refused{ErrorKind::kInput, "", {}};
  for (const OpId id : graph.OpOrder()) {
    Op& op = graph.op(id);
    MappedOp mapped{op.name, "cpu", {}};
    const OpCallView view(graph, op);
    const cpu::KernelCaps* caps =
        FirstSupporting(view.call(), op.kind, options.portable_only, mapped);
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
    op.workspace_bytes =
        caps->workspace_bytes == nullptr
            ? 0
            : static_cast<int64_t>(caps->workspace_bytes(view.call(), options.threads));
    mapping.push_back(std::move(mapped));
  }
  if (!refused.details.empty()) {
    refused.message = fmt::format("no kernel runs {} op(s) of this model", refused.details.size());
    return refused;
  }
  return mapping;
}

}  // namespace tenon::converter
