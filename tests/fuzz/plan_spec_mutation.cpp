#include "tests/fuzz/plan_spec_mutation.hpp"

#include <iterator>

#include "runtime/ops/op_kind.hpp"

namespace tenon::test {
namespace {

template <typename T>
std::vector<T> ToVector(Span<const T> span) {
  return std::vector<T>(span.begin(), span.end());
}

void ReadSections(const PlanView& view, PlanSpec& spec) {
  for (size_t i = 0; i < view.section_count(); ++i) {
    const SectionInfo info = view.section(i);
    const uint8_t* data = view.section_data(i);
    spec.sections.push_back(
        {std::vector<uint8_t>(data, data + info.bytes), info.alignment, info.space});
  }
}

void ReadProgram(const ProgramView& program, PlanSpec& spec) {
  for (size_t i = 0; i < program.arena_count(); ++i) {
    const ArenaInfo info = program.arena(i);
    spec.arenas.push_back(
        {info.bytes, info.alignment, info.space, info.slots, program.arena_use(i)});
  }
  for (size_t i = 0; i < program.storage_count(); ++i) {
    const StorageInfo info = program.storage(i);
    spec.storages.push_back({info.offset, info.bytes, info.home == StorageHome::kSection,
                             info.index, info.home == StorageHome::kDevice});
  }
  for (size_t i = 0; i < program.tensor_count(); ++i) {
    const TensorInfo info = program.tensor(i);
    spec.tensors.push_back({info.name, info.storage, info.offset, ToVector(info.dims),
                            ToVector(info.strides), static_cast<uint8_t>(info.dtype)});
  }
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpInfo info = program.op(i);
    spec.ops.push_back({info.name, ToVector(info.inputs), ToVector(info.outputs), info.kind,
                        info.kernel, ToVector(info.attributes), info.workspace, info.in_place,
                        info.fallback_kernel, info.fallback_workspace, program.op_condition(i)});
  }
  spec.mode = program.mode();
  spec.workers.assign(program.worker_count(), {});
  for (size_t worker = 0; worker < program.worker_count(); ++worker) {
    for (size_t i = 0; i < program.step_count(worker); ++i) {
      StepSpec step{program.step(worker, i).op, {}};
      for (size_t k = 0; k < program.step(worker, i).wait_count; ++k) {
        step.waits.push_back(program.wait(worker, i, k));
      }
      spec.workers[worker].push_back(std::move(step));
    }
  }
  spec.stages.clear();
  for (size_t i = 0; i < program.stage_count(); ++i) spec.stages.push_back(program.stage_worker(i));
  for (size_t i = 0; i < program.channel_count(); ++i) {
    const ChannelInfo info = program.channel(i);
    spec.channels.push_back({info.from, info.to, ToVector(info.tensors), info.depth, info.arena});
  }
  for (size_t i = 0; i < program.segment_count(); ++i) {
    const SegmentInfo info = program.segment(i);
    spec.segments.push_back({ToVector(info.ops), info.backend, info.stage, ToVector(info.reads),
                             ToVector(info.writes)});
  }
  for (size_t i = 0; i < program.input_count(); ++i) {
    const PortInfo port = program.input(i);
    spec.inputs.push_back({port.name, port.tensor, port.scale, port.zero_point});
  }
  for (size_t i = 0; i < program.output_count(); ++i) {
    const PortInfo port = program.output(i);
    spec.outputs.push_back({port.name, port.tensor, port.scale, port.zero_point});
  }
  for (size_t i = 0; i < program.state_count(); ++i) spec.states.push_back(program.state(i));
}

/// Values that sit on edges: where a reader counts, compares, multiplies or wraps.
template <typename T>
T Edge(std::mt19937& random) {
  constexpr uint64_t kValues[] = {0,
                                  1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  16,
                                  64,
                                  255,
                                  256,
                                  0x7FFF,
                                  0xFFFF,
                                  0x10000,
                                  1U << 27,
                                  (1U << 28) - 1,
                                  1U << 28,
                                  0x7FFFFFFF,
                                  0x80000000,
                                  0xFFFFFFFF,
                                  uint64_t{1} << 60,
                                  uint64_t{1} << 62,
                                  UINT64_MAX};
  return static_cast<T>(kValues[random() % std::size(kValues)]);
}

/// A new value for a number: an edge, a small one, or a neighbour of what it was.
template <typename T>
void Change(T& value, std::mt19937& random) {
  switch (random() % 4) {
    case 0:
      value = Edge<T>(random);
      break;
    case 1:
      value = static_cast<T>(random() % 20);
      break;
    case 2:
      value = static_cast<T>(static_cast<uint64_t>(value) + random() % 9 - 4);
      break;
    default:
      // Twice as much, whether that fits or not.
      value = random() % 2 == 0 ? static_cast<T>(static_cast<uint64_t>(value) * 2)
                                : static_cast<T>(value / 2);
      break;
  }
}

template <typename T>
T& Pick(std::vector<T>& values, std::mt19937& random) {
  return values[random() % values.size()];
}

void ChangeOne(std::vector<int32_t>& values, std::mt19937& random) {
  if (!values.empty()) Change(Pick(values, random), random);
}

void ChangeTensor(PlanSpec& spec, std::mt19937& random) {
  TensorSpec& tensor = Pick(spec.tensors, random);
  switch (random() % 7) {
    case 0:
      ChangeOne(tensor.dims, random);
      break;
    case 1:
      ChangeOne(tensor.strides, random);
      break;
    case 2:
      Change(tensor.offset, random);
      break;
    case 3:
      tensor.storage = static_cast<uint32_t>(random() % spec.storages.size());
      break;
    case 4:
      tensor.dtype = static_cast<uint8_t>(random() % (kDTypeCount + 1));
      break;
    case 5:  // repeats one element
      for (int32_t& stride : tensor.strides) stride = 0;
      break;
    default: {  // another tensor's window
      const TensorSpec& other = Pick(spec.tensors, random);
      tensor.dims = other.dims;
      tensor.strides = other.strides;
      break;
    }
  }
}

void ChangeOp(PlanSpec& spec, std::mt19937& random) {
  OpSpec& op = Pick(spec.ops, random);
  const auto any_tensor = [&] { return static_cast<int32_t>(random() % spec.tensors.size()); };
  switch (random() % 11) {
    case 0:
    case 1:
      ChangeOne(op.attributes, random);
      break;
    case 8:
      op.fallback_kernel = static_cast<int32_t>(random() % (spec.kernels.size() + 1)) - 1;
      break;
    case 9:
      op.fallback_workspace = random() % 2 == 0 ? -1 : any_tensor();
      break;
    case 10:
      op.condition = {random() % 2 == 0 ? op.condition.tensor : any_tensor(), random() % 2 == 0};
      break;
    case 2:
      if (!op.inputs.empty()) Pick(op.inputs, random) = any_tensor();
      break;
    case 3:
      Pick(op.outputs, random) = any_tensor();
      break;
    case 4:
      op.kernel = static_cast<uint16_t>(random() % spec.kernels.size());
      break;
    case 5:
      op.workspace = random() % 2 == 0 ? -1 : any_tensor();
      break;
    case 6:
      op.kind = static_cast<uint16_t>(random() % (kOpKindCount + 1));
      break;
    default:
      op.in_place = static_cast<int32_t>(random() % (op.inputs.size() + 1)) - 1;
      break;
  }
}

/// The arena grown so much that tensors of any size fit, one tensor after the other.
void Spread(PlanSpec& spec, uint64_t gap) {
  uint64_t offset = 0;
  for (StorageSpec& storage : spec.storages) {
    if (storage.constant) continue;
    storage.offset = offset;
    storage.bytes += gap;
    offset += (storage.bytes + 63) / 64 * 64;
  }
  if (!spec.arenas.empty()) spec.arenas[0].bytes = offset;
}

void ChangeStorage(PlanSpec& spec, std::mt19937& random) {
  StorageSpec& storage = Pick(spec.storages, random);
  switch (random() % 6) {
    case 5:
      if (!spec.arenas.empty()) Change(Pick(spec.arenas, random).slots, random);
      break;
    case 0:
      Change(storage.offset, random);
      break;
    case 1:
      Change(storage.bytes, random);
      break;
    case 2:
      storage.constant = !storage.constant;
      break;
    case 3:
      if (!spec.arenas.empty()) Change(spec.arenas[0].bytes, random);
      break;
    default:
      if (!spec.arenas.empty()) Change(spec.arenas[0].alignment, random);
      break;
  }
}

/// A list of tensors or ops with one more, one less, another one, or two that change places.
void ChangeList(std::vector<uint32_t>& list, size_t below, std::mt19937& random) {
  const auto any = static_cast<uint32_t>(random() % (below + 1));
  if (list.empty() || random() % 3 == 0) {
    list.insert(list.begin() + static_cast<ptrdiff_t>(random() % (list.size() + 1)), any);
  } else if (random() % 3 == 0) {
    list.erase(list.begin() + static_cast<ptrdiff_t>(random() % list.size()));
  } else if (random() % 2 == 0) {
    Pick(list, random) = any;
  } else {
    std::swap(Pick(list, random), Pick(list, random));
  }
}

void ChangeWaits(PlanSpec& spec, std::mt19937& random) {
  std::vector<StepSpec>& steps = Pick(spec.workers, random);
  if (steps.empty()) return;
  std::vector<WaitInfo>& waits = Pick(steps, random).waits;
  if (!waits.empty() && random() % 2 == 0) {
    waits.pop_back();
  } else {
    waits.push_back({static_cast<uint16_t>(random() % (spec.workers.size() + 1)),
                     static_cast<uint32_t>(random() % (spec.ops.size() + 1))});
  }
}

void ChangeState(PlanSpec& spec, std::mt19937& random) {
  StateInfo& state = Pick(spec.states, random);
  const auto any_tensor = [&] {
    return static_cast<uint32_t>(random() % (spec.tensors.size() + 1));
  };
  switch (random() % 5) {
    case 0:
      state.read = any_tensor();
      return;
    case 1:
      state.write = any_tensor();
      return;
    case 2:
      state.initial = static_cast<int32_t>(random() % (spec.storages.size() + 2)) - 1;
      return;
    case 3:
      Change(state.initial, random);
      return;
    default:
      std::swap(state.read, state.write);
      return;
  }
}

}  // namespace

void MutateSchedule(PlanSpec& spec, std::mt19937& random) {
  SegmentSpec& segment = Pick(spec.segments, random);
  switch (random() % 9) {
    case 0:
      return ChangeList(segment.reads, spec.tensors.size(), random);
    case 1:
      return ChangeList(segment.writes, spec.tensors.size(), random);
    case 2:
      return ChangeList(segment.ops, spec.ops.size(), random);
    case 3:
      segment.backend = static_cast<uint16_t>(random() % (spec.backends.size() + 1));
      return;
    case 4:
      segment.stage = static_cast<uint16_t>(random() % (spec.stages.size() + 1));
      return;
    case 5:
      return ChangeWaits(spec, random);
    case 6:
      spec.mode = static_cast<uint8_t>(random() % 5);
      return;
    case 7: {
      Pick(spec.storages, random).index = static_cast<uint16_t>(random() % spec.arenas.size());
      return;
    }
    default:
      break;
  }
  if (spec.channels.empty()) return;
  ChannelSpec& channel = Pick(spec.channels, random);
  switch (random() % 5) {
    case 0:
      Change(channel.from, random);
      return;
    case 1:
      Change(channel.to, random);
      return;
    case 2:
      Change(channel.depth, random);
      return;
    case 3:
      Change(channel.arena, random);
      return;
    default:
      return ChangeList(channel.tensors, spec.tensors.size(), random);
  }
}

PlanSpec ReadSpec(const std::vector<uint8_t>& file) {
  const Result<PlanView> view = PlanView::Open(Span<const uint8_t>(file.data(), file.size()));
  PlanSpec spec;
  if (!view.ok()) return spec;
  spec.spaces.clear();
  spec.backends.clear();
  spec.kernels.clear();
  spec.arenas.clear();
  spec.segments.clear();
  for (size_t i = 0; i < view->space_count(); ++i) spec.spaces.emplace_back(view->space_name(i));
  for (size_t i = 0; i < view->backend_count(); ++i) spec.backends.emplace_back(view->backend(i));
  for (size_t i = 0; i < view->kernel_count(); ++i) spec.kernels.emplace_back(view->kernel(i));
  ReadSections(*view, spec);
  ReadProgram(view->program(0), spec);
  return spec;
}

void MutateAnything(PlanSpec& spec, std::mt19937& random) {
  if (!spec.states.empty() && random() % 4 == 0) return ChangeState(spec, random);
  switch (random() % 12) {
    case 0:
    case 1:
    case 2:
      return ChangeTensor(spec, random);
    case 3:
    case 4:
    case 5:
    case 6:
      return ChangeOp(spec, random);
    case 7:
      return ChangeStorage(spec, random);
    case 8:
      return Spread(spec, uint64_t{64} << (random() % 16));
    case 9:
      if (!spec.sections.empty() && !spec.sections[0].data.empty()) {
        Pick(spec.sections[0].data, random) = static_cast<uint8_t>(random());
      }
      return;
    case 10:
      if (!spec.inputs.empty() && random() % 2 == 0) {
        Pick(spec.inputs, random).tensor = static_cast<uint32_t>(random() % spec.tensors.size());
      } else {
        Pick(spec.outputs, random).tensor = static_cast<uint32_t>(random() % spec.tensors.size());
      }
      return;
    default:
      return MutatePlacement(spec, random);
  }
}

void MutatePlacement(PlanSpec& spec, std::mt19937& random) {
  OpSpec& op = Pick(spec.ops, random);
  // Null of what is no tensor, or on no storage: changes are made of hostile plans too.
  const auto storage_of = [&](int32_t tensor) -> StorageSpec* {
    if (tensor < 0 || static_cast<size_t>(tensor) >= spec.tensors.size()) return nullptr;
    const uint32_t storage = spec.tensors[static_cast<size_t>(tensor)].storage;
    return storage < spec.storages.size() ? &spec.storages[storage] : nullptr;
  };
  switch (random() % 7) {
    case 0: {  // an op that works in place, whether it can or not
      if (op.inputs.empty()) return;
      const auto input = static_cast<int32_t>(random() % op.inputs.size());
      const int32_t taken = op.inputs[static_cast<size_t>(input)];
      op.in_place = input;
      const StorageSpec* const from = storage_of(taken);
      StorageSpec* const to = storage_of(op.outputs[0]);
      if (from != nullptr && to != nullptr) to->offset = from->offset;
      return;
    }
    case 1:
      op.in_place = static_cast<int32_t>(random() % (op.inputs.size() + 1)) - 1;
      return;
    case 2:
      op.workspace = -1;
      return;
    case 3: {
      StorageSpec& storage = Pick(spec.storages, random);
      const StorageSpec& other = Pick(spec.storages, random);
      if (!storage.constant && !other.constant) storage.offset = other.offset;
      return;
    }
    case 4:
      std::swap(Pick(spec.workers[0], random), Pick(spec.workers[0], random));
      return;
    case 5: {  // an odd place, for all that need not be aligned
      StorageSpec& storage = Pick(spec.storages, random);
      const uint64_t places = spec.arenas[0].bytes + 1;  // 0: of the largest arena there is
      if (!storage.constant && places != 0) storage.offset = random() % places;
      return;
    }
    default:
      op.kernel = static_cast<uint16_t>(random() % spec.kernels.size());
      return;
  }
}

}  // namespace tenon::test
