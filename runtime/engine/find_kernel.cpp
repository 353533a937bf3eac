#include "runtime/engine/find_kernel.hpp"

#include "runtime/base/config.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon {
namespace {

/// The plan check has proven that what the op takes over is exactly what it writes; only the op's
/// row and the kernel know whether each element is read before the one in its place is written.
Status CheckInPlace(const KernelQuery& query, const KernelEntry& kernel) {
  const OpInfo& info = query.info;
  if (info.in_place < 0) return OkStatus();
  const uint32_t allowed = kernel.row->in_place_inputs | kernel.in_place_inputs;
  const auto storage_of = [&](int32_t tensor) {
    return query.program.tensor_storage(static_cast<size_t>(tensor));
  };
  const uint32_t taken = storage_of(info.inputs[static_cast<size_t>(info.in_place)]);
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    if (info.inputs[i] < 0 || storage_of(info.inputs[i]) != taken) continue;
    TENON_ENSURE(i < 32 && (allowed >> i & 1U) != 0, kCorruptPlan,
                 "the output takes over input {0}, which the kernel reads again",
                 static_cast<int64_t>(i));
  }
  return OkStatus();
}

/// Checks that this kernel can run the op as the plan describes it.
[[gnu::noinline]] Status CheckKernel(const KernelQuery& query, const KernelEntry& kernel) {
  if constexpr (!kHasWorkers) {
    TENON_ENSURE(kernel.load == nullptr && kernel.open == nullptr, kUnsupported,
                 "the kernel needs a heap, which firmware lacks: name another in the backend");
  }
  TENON_RETURN_IF_ERROR(CheckInPlace(query, kernel));
  return kernel.check(query.setup);
}

Status CheckOperands(const KernelQuery& query, const OpRow& row) {
  TENON_ENSURE(query.info.attributes.size() == row.attribute_words, kCorruptPlan,
               "{0} attribute words, {1} expected",
               static_cast<int64_t>(query.info.attributes.size()),
               static_cast<int64_t>(row.attribute_words));
  const Status status = CheckOpCall(row, query.setup.op);
  // What is wrong with the operands is the plan's fault here, not the caller's.
  return status.ok() ? status : status.As(StatusCode::kCorruptPlan);
}

/// Returns the error for an op that no available kernel can run.
Status NoKernel(const KernelQuery& query) {
  return Status(StatusCode::kUnsupported,
                "no kernel here runs the op: link the plan's kernels, or convert for this "
                "board, not '{s}'")
      .About(query.board);
}

}  // namespace

Status CheckWorkspace(const ProgramView& program, int32_t workspace) {
  if (workspace < 0) return OkStatus();
  const TensorInfo tensor = program.tensor(static_cast<size_t>(workspace));
  const StorageInfo storage = program.storage(tensor.storage);
  TENON_ENSURE(program.arena(storage.index).alignment >= kWorkspaceAlignment &&
                   (storage.offset + tensor.offset) % kWorkspaceAlignment == 0,
               kCorruptPlan, "the workspace is not aligned to {0} bytes", kWorkspaceAlignment);
  return OkStatus();
}

Status ChooseKernel(const KernelQuery& query, const KernelList& kernels, size_t* chosen) {
  const OpRow* row = nullptr;
  Status reason = NoKernel(query);
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kernels.size(); ++i) {
      const KernelEntry& kernel = kernels[i];
      if (kernel.row->kind != static_cast<OpKind>(query.info.kind)) continue;
      if (row == nullptr) TENON_RETURN_IF_ERROR(CheckOperands(query, *kernel.row));
      row = kernel.row;
      const bool is_named = NamesKernel(query.name, kernel.id);
      if (round == 0 && !is_named) continue;
      const Status status = CheckKernel(query, kernel);
      *chosen = i;
      // No other kernel makes right what is wrong with the plan for the one that was planned.
      if (status.ok() || (is_named && status.code() == StatusCode::kCorruptPlan)) return status;
      if (is_named) reason = status;
    }
  }
  return reason;
}

}  // namespace tenon
