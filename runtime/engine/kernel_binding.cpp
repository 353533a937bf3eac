// Binds a loaded plan's ops to their kernels.
#include "runtime/engine/find_kernel.hpp"
#include "runtime/engine/loaded_plan.hpp"
#include "runtime/format/rank_set.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon {
namespace {

/// What the result of the op's `load` depends on.
void AddPackingKey(const BoundOp& op, const TensorView* tensors, PackingKey& key) {
  op.kernel->packing_key(op.Call(tensors), &key);
  key.AddText(op.variant);
}

/// How many elements may be packed for each byte of the file. Most are packed once; ops of
/// different shapes, and fall-back kernels, may pack the same again. Without a bound, strides of 0
/// and many ops on one constant would let a small file take all memory.
constexpr int64_t kMostPackings = 16;

}  // namespace

/// `keys` has a word per op. Where a backend other than the CPU is at fault, `failed` says which.
Status LoadedPlan::BindAll(const TensorView* tensors, uint64_t* keys, size_t* failed) {
  packable_ = kMostPackings * static_cast<int64_t>(view_.file().size());
  for (size_t i = 0; i < ops_.size(); ++i) {
    const size_t planned = program_.segment(ops_[i].segment).backend;
    const bool is_replaced = replaced_[planned];
    ops_[i].backend = static_cast<uint16_t>(is_replaced ? cpu_ : planned);
    if (is_replaced) ops_[i].group_size = 1;  // fall-back kernels of a segment share a workspace
    if (const Status status = BindOp(i, is_replaced, tensors, ops_[i]); !status.ok()) {
      if (!is_replaced && planned != cpu_) *failed = planned;
      return status;
    }
    const bool has_fallback = program_.op(i).fallback_kernel >= 0;
    if (fallback_ops_.empty() || is_replaced || !has_fallback) continue;
    fallback_ops_[i].segment = ops_[i].segment;
    fallback_ops_[i].worker = ops_[i].worker;
    fallback_ops_[i].backend = static_cast<uint16_t>(cpu_);
    TENON_RETURN_IF_ERROR(BindOp(i, /*fallback=*/true, tensors, fallback_ops_[i]));
  }
  TENON_RETURN_IF_ERROR(LoadKernels(ops_, tensors, keys, failed));
  TENON_RETURN_IF_ERROR(LoadKernels(fallback_ops_, tensors, keys, failed));
  return LoadCodes(failed);
}

void LoadedPlan::UnloadKernels() {
  const Span<BoundOp> forms[] = {ops_, fallback_ops_};
  for (const Span<BoundOp> ops : forms) {
    for (BoundOp& op : ops) {
      if (op.owns_shared && op.kernel->unload != nullptr) op.kernel->unload(op.shared);
      op.owns_shared = false;
      op.shared = nullptr;
      op.kernel = nullptr;
    }
  }
}

Status LoadedPlan::BindOp(size_t index, bool fallback, const TensorView* tensors, BoundOp& op) {
  const OpInfo info = program_.op(index);
  op.inputs = info.inputs;
  op.outputs = info.outputs;
  op.attributes = info.attributes.data();
  op.workspace = fallback ? info.fallback_workspace : info.workspace;
  op.in_place = info.in_place;
  op.condition = program_.op_condition(index);
  op.variant = nullptr;
  if (IsRunByCode(op)) return OkStatus();
  if (const Status status = CheckWorkspace(program_, op.workspace); !status.ok()) {
    return status.About(info.name);
  }
  const size_t kernel = fallback ? static_cast<size_t>(info.fallback_kernel) : info.kernel;
  const KernelSetup setup = SetupOf(op, tensors);
  const KernelQuery query{program_, info, view_.kernel(kernel), setup, view_.board()};
  const KernelList& kernels = backends_[op.backend]->kernels;
  size_t chosen = 0;
  const Status status = ChooseKernel(query, kernels, &chosen);
  if (!status.ok()) return status.In(info.name);
  op.kernel = &kernels[chosen];
  if (NamesKernel(query.name, op.kernel->id)) op.variant = VariantIn(query.name);
  return OkStatus();
}

KernelSetup LoadedPlan::SetupOf(const BoundOp& op, const TensorView* tensors) const {
  KernelSetup setup;
  setup.op = op.Call(tensors);
  setup.threads = threads_;
  setup.device = devices_[op.backend];
  setup.variant = op.variant;
  setup.in_place = op.in_place;
  if (op.workspace >= 0) {
    setup.workspace_bytes = static_cast<size_t>(tensors[op.workspace].Elements());
  }
  return setup;
}

/// Ops that pack the same stand next to each other once sorted by a hash of what they pack. Where
/// different ones have the same hash, some are loaded more often than they need be: never wrong,
/// and no list of hashes can make it slow.
///
/// `keys` has a word per op.
Status LoadedPlan::LoadKernels(Span<BoundOp> ops, const TensorView* tensors, uint64_t* keys,
                               size_t* failed) {
  size_t count = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    const KernelEntry* kernel = ops[i].kernel;
    if (kernel == nullptr || kernel->load == nullptr) continue;
    if (kernel->packing_key == nullptr) {
      TENON_RETURN_IF_ERROR(LoadKernel(ops[i], i, tensors, failed));
      continue;
    }
    PackingKey key;
    AddPackingKey(ops[i], tensors, key);
    keys[count++] = uint64_t{key.Hash()} << 32 | i;
  }
  SortKeys(
      keys, count, [](const void*, uint64_t a, uint64_t b) { return a < b; }, nullptr);
  PackingKey loaded_key;
  const BoundOp* loaded = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint32_t>(keys[i]);
    BoundOp& op = ops[index];
    PackingKey key;
    AddPackingKey(op, tensors, key);
    if (loaded != nullptr && loaded->kernel->load == op.kernel->load && key.Equals(loaded_key)) {
      op.shared = loaded->shared;
      continue;
    }
    for (const int32_t input : op.inputs) {
      if (input >= 0 && tensors[input].data != nullptr) packable_ -= tensors[input].Elements();
    }
    TENON_ENSURE(packable_ >= 0, kCorruptPlan, "packs more than the file holds");
    TENON_RETURN_IF_ERROR(LoadKernel(op, index, tensors, failed));
    loaded = &op;
    loaded_key = key;
  }
  return OkStatus();
}

Status LoadedPlan::LoadKernel(BoundOp& op, size_t index, const TensorView* tensors,
                              size_t* failed) {
  const Status status = op.kernel->load(SetupOf(op, tensors), &op.shared);
  op.owns_shared = status.ok() && op.shared != nullptr;
  if (status.ok()) return status;
  op.shared = nullptr;
  const char* name = program_.op(index).name;
  if (!IsDevice(op.backend)) return status.About(name);
  *failed = op.backend;
  return status.In(name).In(backends_[op.backend]->name);
}

}  // namespace tenon
