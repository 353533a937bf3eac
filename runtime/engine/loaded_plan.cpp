#include "runtime/engine/loaded_plan.hpp"

#include <cstring>
#include <new>

#include "runtime/engine/memory_block.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/rank_set.hpp"

namespace tenon {
namespace {

bool IsWholeStorage(const ProgramView& program, const TensorInfo& tensor) {
  const StorageInfo storage = program.storage(tensor.storage);
  TensorView view;
  view.dims = tensor.dims.data();
  view.strides = tensor.strides.data();
  view.rank = static_cast<uint8_t>(tensor.dims.size());
  const auto bytes = static_cast<uint64_t>(view.Elements() * DTypeBytes(tensor.dtype));
  return storage.home == StorageHome::kArena && tensor.offset == 0 && view.IsRowMajor() &&
         storage.bytes == bytes;
}

}  // namespace

size_t LoadedPlan::StateBytes(const PlanView& plan) {
  return plan.program(0).op_count() * sizeof(BoundOp) + alignof(BoundOp);
}

size_t LoadedPlan::ScratchBytes(const PlanView& plan) {
  const size_t check = PlanCheckScratchBytes(plan);
  const size_t views = plan.program(0).tensor_count() * sizeof(TensorView) + alignof(TensorView);
  const size_t binding = views + (plan.program(0).op_count() + 1) * sizeof(uint64_t);
  return check > binding ? check : binding;
}

void DescribeTensors(const PlanView& plan, const ProgramView& program, TensorView* views) {
  for (size_t i = 0; i < program.tensor_count(); ++i) {
    const TensorInfo info = program.tensor(i);
    TensorView& view = views[i];
    view = TensorView{};
    view.dims = info.dims.data();
    view.strides = info.strides.data();
    view.dtype = info.dtype;
    view.rank = static_cast<uint8_t>(info.dims.size());
    const StorageInfo storage = program.storage(info.storage);
    if (storage.home == StorageHome::kSection) {
      // Kernels never write constants: the plan check has proven it.
      view.data =
          const_cast<uint8_t*>(plan.section_data(storage.index)) + storage.offset + info.offset;
    }
  }
}

Status LoadedPlan::Load(const PlanView& plan, Span<const Backend* const> backends, int threads,
                        Span<uint8_t> state, Span<uint8_t> scratch) {
  TENON_ENSURE(threads >= 1 && threads <= kMostThreads, kInvalidArgument,
               "{0} threads asked for: give 1 to {1}", threads, kMostThreads);
  TENON_ENSURE(plan.program_count() > 0, kCorruptPlan, "the plan holds no program");
  TENON_RETURN_IF_ERROR(CheckPlan(plan, scratch));
  view_ = plan;
  program_ = plan.program(0);
  threads_ = threads;
  TENON_RETURN_IF_ERROR(CheckArenas());
  // The plan check is done with its scratch, which has more than a byte for each storage.
  TENON_RETURN_IF_ERROR(CheckPorts(scratch.data()));
  TENON_RETURN_IF_ERROR(FindBackends(backends));

  MemoryBlock state_block(state);
  BoundOp* ops = state_block.Take<BoundOp>(program_.op_count());
  TENON_ENSURE(ops != nullptr, kOutOfMemory, "plan state: {0} bytes given, {1} needed",
               static_cast<int64_t>(state.size()), static_cast<int64_t>(StateBytes(plan)));
  MemoryBlock scratch_block(scratch);
  TensorView* views = scratch_block.Take<TensorView>(program_.tensor_count());
  uint64_t* keys = scratch_block.Take<uint64_t>(program_.op_count());
  TENON_ENSURE(views != nullptr && keys != nullptr, kOutOfMemory,
               "scratch: {0} bytes given, {1} needed", static_cast<int64_t>(scratch.size()),
               static_cast<int64_t>(ScratchBytes(plan)));
  ops_ = Span<BoundOp>(ops, program_.op_count());
  DescribeTensors(view_, program_, views);

  for (size_t s = 0; s < program_.segment_count(); ++s) {
    const SegmentInfo segment = program_.segment(s);
    for (const uint32_t op : segment.ops) ops_[op].backend = segment.backend;
  }
  for (size_t worker = 0; worker < program_.worker_count(); ++worker) {
    for (size_t i = 0; i < program_.step_count(worker); ++i) {
      ops_[program_.step(worker, i).op].worker = static_cast<uint8_t>(worker);
    }
  }
  for (size_t i = 0; i < ops_.size(); ++i) TENON_RETURN_IF_ERROR(BindOp(i, views));
  return LoadKernels(views, keys);
}

void LoadedPlan::Unload() {
  for (BoundOp& op : ops_) {
    if (op.owns_shared && op.kernel->unload != nullptr) op.kernel->unload(op.shared);
    op = BoundOp{};
  }
  ops_ = {};
  for (size_t i = 0; i < kMaxBackends; ++i) {
    if (backends_[i] != nullptr && backends_[i]->free_runner != nullptr) {
      backends_[i]->free_runner(runners_[i]);
    }
    backends_[i] = nullptr;
  }
}

size_t LoadedPlan::PackedBytes() const {
  size_t bytes = 0;
  for (const BoundOp& op : ops_) {
    if (op.owns_shared && op.kernel->held_bytes != nullptr)
      bytes += op.kernel->held_bytes(op.shared, nullptr);
  }
  return bytes;
}

Status LoadedPlan::FindBackends(Span<const Backend* const> backends) {
  TENON_ENSURE(view_.backend_count() <= kMaxBackends, kUnsupported,
               "the plan uses {0} backends, this runtime takes {1}",
               static_cast<int64_t>(view_.backend_count()), kMaxBackends);
  for (size_t i = 0; i < view_.backend_count(); ++i) {
    for (const Backend* candidate : backends) {
      TENON_ENSURE(candidate != nullptr, kInvalidArgument, "a backend in the list is NULL");
      if (std::strcmp(candidate->name, view_.backend(i)) == 0) backends_[i] = candidate;
    }
    if (backends_[i] == nullptr) {
      return Status(StatusCode::kUnsupported,
                    "the plan needs backend '{s}', which this program was built without")
          .About(view_.backend(i));
    }
    if (backends_[i]->make_runner != nullptr) runners_[i] = backends_[i]->make_runner(threads_);
  }
  return OkStatus();
}

/// All arenas together can be addressed, with room for their alignment: sums of their sizes do not
/// wrap.
Status LoadedPlan::CheckArenas() const {
  uint64_t left = PTRDIFF_MAX;
  for (size_t i = 0; i < program_.arena_count(); ++i) {
    const ArenaInfo arena = program_.arena(i);
    TENON_ENSURE(arena.alignment <= left && arena.bytes <= left - arena.alignment, kOutOfMemory,
                 "arena {0} has more bytes than this processor can address",
                 static_cast<int64_t>(i));
    left -= arena.bytes + arena.alignment;
  }
  return OkStatus();
}

/// Inputs and outputs are handed to the user as plain arrays, or taken from the user's memory: each
/// must be exactly a storage of its own in row-major order, or a run would reach beyond it.
///
/// `marks` has a byte per storage.
Status LoadedPlan::CheckPorts(uint8_t* marks) const {
  std::memset(marks, 0, program_.storage_count());
  const auto check = [&](const PortInfo& port, const char* message) {
    const TensorInfo tensor = program_.tensor(port.tensor);
    const bool is_alone = marks[tensor.storage] == 0 && IsWholeStorage(program_, tensor);
    marks[tensor.storage] = 1;
    return is_alone ? OkStatus() : Status(StatusCode::kCorruptPlan, message).About(port.name);
  };
  for (size_t i = 0; i < program_.input_count(); ++i) {
    TENON_RETURN_IF_ERROR(
        check(program_.input(i), "input '{s}' is not a row-major array of its own"));
  }
  for (size_t i = 0; i < program_.output_count(); ++i) {
    TENON_RETURN_IF_ERROR(
        check(program_.output(i), "output '{s}' is not a row-major array of its own"));
  }
  return OkStatus();
}

Status LoadedPlan::BindOp(size_t index, const TensorView* tensors) {
  const OpInfo info = program_.op(index);
  BoundOp& op = ops_[index];
  op.inputs = info.inputs;
  op.outputs = info.outputs;
  op.attributes = info.attributes.data();
  op.workspace = info.workspace;

  if (op.workspace >= 0) {
    const TensorInfo workspace = program_.tensor(static_cast<size_t>(op.workspace));
    const StorageInfo storage = program_.storage(workspace.storage);
    if (program_.arena(storage.index).alignment < kWorkspaceAlignment ||
        (storage.offset + workspace.offset) % kWorkspaceAlignment != 0) {
      return Status(StatusCode::kCorruptPlan, "the workspace is not aligned to {0} bytes",
                    kWorkspaceAlignment)
          .About(info.name);
    }
  }
  return ChooseKernel(info, SetupOf(index, tensors), op).About(info.name);
}

KernelSetup LoadedPlan::SetupOf(size_t index, const TensorView* tensors) const {
  const BoundOp& op = ops_[index];
  KernelSetup setup;
  setup.op = op.Call(tensors);
  setup.threads = threads_;
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
Status LoadedPlan::LoadKernels(const TensorView* tensors, uint64_t* keys) {
  size_t count = 0;
  for (size_t i = 0; i < ops_.size(); ++i) {
    const KernelEntry& kernel = *ops_[i].kernel;
    if (kernel.load == nullptr) continue;
    if (kernel.packing_key == nullptr) {
      TENON_RETURN_IF_ERROR(LoadKernel(i, tensors));
      continue;
    }
    PackingKey key;
    kernel.packing_key(ops_[i].Call(tensors), &key);
    keys[count++] = uint64_t{key.Hash()} << 32 | i;
  }
  SortKeys(
      keys, count, [](const void*, uint64_t a, uint64_t b) { return a < b; }, nullptr);
  PackingKey loaded_key;
  const BoundOp* loaded = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint32_t>(keys[i]);
    BoundOp& op = ops_[index];
    PackingKey key;
    op.kernel->packing_key(op.Call(tensors), &key);
    if (loaded != nullptr && loaded->kernel->load == op.kernel->load && key.Equals(loaded_key)) {
      op.shared = loaded->shared;
      continue;
    }
    TENON_RETURN_IF_ERROR(LoadKernel(index, tensors));
    loaded = &op;
    loaded_key = key;
  }
  return OkStatus();
}

Status LoadedPlan::LoadKernel(size_t index, const TensorView* tensors) {
  BoundOp& op = ops_[index];
  const Status status = op.kernel->load(SetupOf(index, tensors), &op.shared);
  op.owns_shared = status.ok() && op.shared != nullptr;
  return status.ok() ? status : status.About(program_.op(index).name);
}

/// The plan check has proven that what the op takes over is exactly what it writes; only the op's
/// row knows whether every kernel reads each element before it writes the one in its place.
Status LoadedPlan::CheckInPlace(const OpRow& row, const OpInfo& info) const {
  if (info.in_place < 0) return OkStatus();
  const auto storage_of = [&](int32_t tensor) {
    return program_.tensor(static_cast<size_t>(tensor)).storage;
  };
  const uint32_t taken = storage_of(info.inputs[static_cast<size_t>(info.in_place)]);
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    if (info.inputs[i] < 0 || storage_of(info.inputs[i]) != taken) continue;
    TENON_ENSURE(i < 32 && (row.in_place_inputs >> i & 1U) != 0, kCorruptPlan,
                 "the output takes over the memory of input {0}, which this op reads again",
                 static_cast<int64_t>(i));
  }
  return OkStatus();
}

/// The kernel that the plan names; where this build or processor lacks it, the best other one of
/// the same backend that takes the same operands and no more workspace.
Status LoadedPlan::ChooseKernel(const OpInfo& info, const KernelSetup& setup, BoundOp& op) const {
  const Backend& backend = *backends_[op.backend];
  const char* id = view_.kernel(info.kernel);
  const KernelEntry* named = nullptr;
  const KernelEntry* sibling = nullptr;
  for (const KernelEntry& entry : backend.kernels) {
    if (entry.row->kind != static_cast<OpKind>(info.kind)) continue;
    if (sibling == nullptr) sibling = &entry;
    if (std::strcmp(entry.id, id) == 0) named = &entry;
  }
  if (sibling == nullptr) {
    return Status(StatusCode::kUnsupported,
                  "backend has no kernel for op kind {0}: build it with the op's kernels",
                  info.kind);
  }
  const OpRow& row = *sibling->row;
  TENON_ENSURE(info.attributes.size() == row.attribute_words, kCorruptPlan,
               "{0} attribute words, {1} expected", static_cast<int64_t>(info.attributes.size()),
               static_cast<int64_t>(row.attribute_words));
  if (const Status status = CheckOpCall(row, setup.op); !status.ok()) {
    // What is wrong with the operands is the plan's fault here, not the caller's.
    return Status(StatusCode::kCorruptPlan, status.message(), status.argument(0),
                  status.argument(1), status.argument(2));
  }
  TENON_RETURN_IF_ERROR(CheckInPlace(row, info));
  Status reason(StatusCode::kUnsupported, "this program was built without the kernel it needs");
  if (named != nullptr) {
    reason = named->check(setup);
    if (reason.ok()) {
      op.kernel = named;
      return reason;
    }
  }
  for (const KernelEntry& entry : backend.kernels) {
    if (entry.row->kind == row.kind && entry.check(setup).ok()) {
      op.kernel = &entry;
      return OkStatus();
    }
  }
  return reason;
}

}  // namespace tenon
