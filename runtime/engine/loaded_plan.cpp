#include "runtime/engine/loaded_plan.hpp"

#include <cstring>
#include <new>

#include "runtime/engine/memory_block.hpp"
#include "runtime/engine/plan_memory.hpp"
#include "runtime/format/plan_check.hpp"

namespace tenon {
namespace {

constexpr char kCpu[] = "cpu";

bool HasFallback(const ProgramView& program) {
  for (size_t i = 0; i < program.op_count(); ++i) {
    if (program.op(i).fallback_kernel >= 0) return true;
  }
  return false;
}

/// Segments, if some of them have code; else 0.
size_t CodeCount(const ProgramView& program) {
  for (size_t s = 0; s < program.segment_count(); ++s) {
    if (program.segment_code_count(s) > 0) return program.segment_count();
  }
  return 0;
}

/// Groups, if some of them have a source; else 0.
size_t GroupCount(const ProgramView& program) {
  for (size_t g = 0; g < program.group_count(); ++g) {
    if (program.group(g).source[0] != '\0') return program.group_count();
  }
  return 0;
}

}  // namespace

size_t LoadedPlan::StateBytes(const PlanView& plan, size_t program) {
  const ProgramView view = plan.program(program);
  const size_t forms = HasFallback(view) ? 2 : 1;
  return forms * view.op_count() * sizeof(BoundOp) + alignof(BoundOp) +
         (CodeCount(view) + GroupCount(view)) * sizeof(void*) + 2 * alignof(void*);
}

size_t LoadedPlan::ScratchBytes(const PlanView& plan, size_t program) {
  const size_t check = PlanCheckScratchBytes(plan);
  if (plan.program_count() == 0) return check;
  const ProgramView view = plan.program(program);
  const size_t views = view.tensor_count() * sizeof(TensorView) + alignof(TensorView);
  const size_t binding = views + (view.op_count() + 1) * sizeof(uint64_t);
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

Status LoadedPlan::Load(const PlanView& plan, size_t program, Span<const Backend* const> backends,
                        int threads, Span<uint8_t> state, Span<uint8_t> scratch) {
  TENON_ENSURE(threads >= 1 && threads <= kMostThreads, kInvalidArgument,
               "{0} threads asked for: give 1 to {1}", threads, kMostThreads);
  TENON_ENSURE(plan.program_count() > 0, kCorruptPlan, "the plan holds no program");
  TENON_ENSURE(program < plan.program_count(), kInvalidArgument,
               "program {0} asked for: the plan has {1}", static_cast<int64_t>(program),
               static_cast<int64_t>(plan.program_count()));
  TENON_RETURN_IF_ERROR(CheckPlan(plan, scratch));
  view_ = plan;
  program_ = plan.program(program);
  program_index_ = program;
  threads_ = threads;
  TENON_RETURN_IF_ERROR(CheckArenas(program_));
  // The plan check is done with its scratch, which has more than a byte for each storage.
  TENON_RETURN_IF_ERROR(CheckPorts(program_, scratch.data()));
  TENON_RETURN_IF_ERROR(TakeState(state));
  MemoryBlock scratch_block(scratch);
  TensorView* views = scratch_block.Take<TensorView>(program_.tensor_count());
  uint64_t* keys = scratch_block.Take<uint64_t>(program_.op_count());
  TENON_ENSURE(views != nullptr && keys != nullptr, kOutOfMemory,
               "scratch: {0} bytes given, {1} needed", static_cast<int64_t>(scratch.size()),
               static_cast<int64_t>(ScratchBytes(plan, program)));
  DescribeTensors(view_, program_, views);
  PlaceOps();
  FindStages();
  TENON_RETURN_IF_ERROR(FindBackends(backends));
  for (;;) {
    size_t failed = kNoBackend;
    const Status status = BindAll(views, keys, &failed);
    // Each round replaces one more backend.
    if (status.ok()) LoadGroups(views);
    if (status.ok() || failed == kNoBackend || !Replace(failed, status)) return status;
    UnloadKernels();
  }
}

void LoadedPlan::Unload() {
  // A forked process has no driver that could take back what it lent: it stays until the end.
  if (has_devices() && !home_.IsHere()) return;
  UnloadCodes();
  UnloadGroups();
  UnloadKernels();
  codes_ = {};
  groups_ = {};
  ops_ = {};
  fallback_ops_ = {};
  for (size_t i = 0; i <= kMaxBackends; ++i) CloseBackend(i);
}

void LoadedPlan::CloseBackend(size_t index) {
  const Backend* backend = backends_[index];
  if (backend == nullptr) return;
  if (backend->free_runner != nullptr) backend->free_runner(runners_[index]);
  if (devices_[index] != nullptr) backend->device->close(devices_[index]);
  runners_[index] = ParallelRunner{};
  devices_[index] = nullptr;
  backends_[index] = nullptr;
}

Status LoadedPlan::TakeState(Span<uint8_t> state) {
  MemoryBlock block(state);
  const size_t count = program_.op_count();
  BoundOp* ops = block.Take<BoundOp>(count);
  const bool twice = HasFallback(program_);
  BoundOp* fallback_ops = twice ? block.Take<BoundOp>(count) : nullptr;
  const size_t codes = CodeCount(program_);
  void** code = block.Take<void*>(codes);
  const size_t groups = GroupCount(program_);
  void** group = block.Take<void*>(groups);
  TENON_ENSURE(
      ops != nullptr && (fallback_ops != nullptr || !twice) && code != nullptr && group != nullptr,
      kOutOfMemory, "plan state: {0} bytes given, more are needed",
      static_cast<int64_t>(state.size()));
  ops_ = Span<BoundOp>(ops, count);
  if (twice) fallback_ops_ = Span<BoundOp>(fallback_ops, count);
  codes_ = Span<void*>(code, codes);
  groups_ = Span<void*>(group, groups);
  return OkStatus();
}

/// Finds each op's segment, group and worker, and who is waited for: of a group, its last op.
void LoadedPlan::PlaceOps() {
  for (size_t s = 0; s < program_.segment_count(); ++s) {
    for (const uint32_t op : program_.segment(s).ops) ops_[op].segment = static_cast<uint32_t>(s);
  }
  for (size_t worker = 0; worker < program_.worker_count(); ++worker) {
    for (size_t i = 0; i < program_.step_count(worker); ++i) {
      const StepInfo step = program_.step(worker, i);
      ops_[step.op].worker = static_cast<uint8_t>(worker);
      for (size_t k = 0; k < step.wait_count; ++k) {
        const WaitInfo wait = program_.wait(worker, i, k);
        if (wait.worker != worker) ops_[program_.step(wait.worker, wait.step).op].is_awaited = true;
      }
    }
  }
  for (size_t g = 0; g < program_.group_count(); ++g) {
    const Span<const uint32_t> group = program_.group(g).ops;
    bool is_awaited = false;
    for (const uint32_t op : group) is_awaited |= ops_[op].is_awaited;
    ops_[group[group.size() - 1]].is_awaited = is_awaited;
    ops_[group[0]].group_size = static_cast<uint8_t>(group.size());
    ops_[group[0]].group = static_cast<uint32_t>(g);
  }
}

/// As the plan check has found them: the first workers of a pipeline are a stage each, those beyond
/// are of the stage that their ops' segments are of.
void LoadedPlan::FindStages() {
  if (program_.mode() != static_cast<uint8_t>(ProgramMode::kPipeline)) return;
  stages_ = program_.stage_count();
  for (size_t worker = 0; worker < program_.worker_count(); ++worker) {
    const bool helps = worker >= stages_;
    const size_t stage =
        helps ? program_.segment(ops_[program_.step(worker, 0).op].segment).stage : worker;
    stage_of_worker_[worker] = static_cast<uint8_t>(stage);
  }
}

/// Those that the program uses: others may be missing.
Status LoadedPlan::FindBackends(Span<const Backend* const> backends) {
  const size_t count = view_.backend_count();
  TENON_ENSURE(count <= kMaxBackends, kUnsupported,
               "the plan uses {0} backends, this runtime takes {1}", static_cast<int64_t>(count),
               kMaxBackends);
  for (const Backend* candidate : backends) {
    TENON_ENSURE(candidate != nullptr, kInvalidArgument, "a backend in the list is NULL");
  }
  if (!fallback_ops_.empty()) {
    cpu_ = count;
    for (size_t i = 0; i < count; ++i) {
      if (std::strcmp(view_.backend(i), kCpu) == 0) cpu_ = i;
    }
    if (!FindBackend(cpu_, kCpu, backends).ok()) fallback_ops_ = {};
  }
  for (size_t s = 0; s < program_.segment_count(); ++s) {
    const size_t index = program_.segment(s).backend;
    if (backends_[index] != nullptr || replaced_[index]) continue;
    const Status status = FindBackend(index, view_.backend(index), backends);
    if (!status.ok() && !Replace(index, status)) return status;
  }
  return OkStatus();
}

Status LoadedPlan::FindBackend(size_t index, const char* name,
                               Span<const Backend* const> backends) {
  const Backend* found = nullptr;
  for (const Backend* candidate : backends) {
    if (std::strcmp(candidate->name, name) == 0) found = candidate;
  }
  if (found == nullptr) {
    return Status(StatusCode::kUnsupported,
                  "the plan needs backend '{s}', which this program was built without")
        .About(name);
  }
  if (found->device != nullptr) {
    const Status status = found->device->open(threads_, &devices_[index]);
    if (!status.ok()) {
      devices_[index] = nullptr;
      return status.In(found->name);
    }
    has_devices_ = true;
  }
  backends_[index] = found;
  if (found->make_runner != nullptr) runners_[index] = found->make_runner(threads_);
  return OkStatus();
}

OpNames LoadedPlan::names(size_t op) const {
  const KernelEntry* kernel = ops_[op].kernel;
  if (kernel != nullptr) return {kernel->row->name, kernel->id};
  const OpInfo planned = program_.op(op);
  return {OpName(static_cast<OpKind>(planned.kind)), view_.kernel(planned.kernel)};
}

/// Lets the CPU stand in for a backend. False if it cannot, for some op.
bool LoadedPlan::Replace(size_t backend, const Status& reason) {
  if (fallback_ops_.empty() || replaced_[backend] || backend == cpu_) return false;
  for (size_t s = 0; s < program_.segment_count(); ++s) {
    const SegmentInfo segment = program_.segment(s);
    if (segment.backend != backend) continue;
    for (const uint32_t op : segment.ops) {
      if (program_.op(op).fallback_kernel < 0) return false;
    }
  }
  CloseBackend(backend);
  replaced_[backend] = true;
  Note(reason, "; its ops run on the CPU");
  return true;
}

/// Adds a reason and what follows from it to the notice, as far as there is room.
void LoadedPlan::Note(const Status& reason, const char* consequence) {
  const size_t length = std::strlen(consequence) + 1;
  size_t used = std::strlen(notice_);
  // Room for what follows the reason, which may be long.
  used += reason.Format(Span<char>(notice_ + used, sizeof notice_ - used));
  if (used > sizeof notice_ - length) used = sizeof notice_ - length;
  std::memcpy(notice_ + used, consequence, length);
}

size_t LoadedPlan::PackedBytes() const {
  size_t bytes = 0;
  const Span<BoundOp> forms[] = {ops_, fallback_ops_};
  for (const Span<BoundOp> ops : forms) {
    for (const BoundOp& op : ops) {
      if (op.owns_shared && op.kernel->held_bytes != nullptr) {
        bytes += op.kernel->held_bytes(op.shared, nullptr);
      }
    }
  }
  return bytes;
}

}  // namespace tenon
