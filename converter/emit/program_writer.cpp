#include "converter/emit/program_writer.hpp"

#include <algorithm>

#include "runtime/base/crc32c.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

namespace fb = tenon::plan;

const Schedule& NoSchedule() {
  static const Schedule kNone;
  return kNone;
}

uint8_t LayoutCode(const Shape& shape, const std::vector<int32_t>& strides) {
  TensorView view;
  view.dims = shape.dims;
  view.strides = strides.data();
  view.rank = static_cast<uint8_t>(shape.rank);
  if (view.IsRowMajor()) return 0;
  return view.IsChannelsLast() ? 1 : 2;
}

}  // namespace

ProgramWriter::ProgramWriter(const ProgramToEmit& program, PlanTables& tables)
    : program_(program),
      graph_(*program.graph),
      locations_(*program.locations),
      arena_(*program.arena),
      schedule_(program.schedule != nullptr ? *program.schedule : NoSchedule()),
      tables_(tables),
      builder_(tables.builder) {}

// --- workers and spaces
// ---------------------------------------------------------------------------

/// Finds each op's index and worker.
Status ProgramWriter::NumberWorkers() {
  const size_t steps = arena_.steps.size();
  for (size_t i = 0; i < steps; ++i) index_of_op_[arena_.steps[i]] = static_cast<uint32_t>(i);
  const size_t workers = std::max<size_t>(schedule_.workers.size(), 1);
  if (workers > kMaxWorkers) {
    return InternalError("the plan would have {} workers: {} at most", workers, kMaxWorkers);
  }
  if (schedule_.workers.empty()) {
    worker_of_op_.assign(steps, 0);
    return {};
  }
  constexpr uint16_t kNoWorker = UINT16_MAX;
  worker_of_op_.assign(steps, kNoWorker);
  size_t scheduled = 0;
  for (size_t worker = 0; worker < workers; ++worker) {
    for (const ScheduledStep& step : schedule_.workers[worker]) {
      const auto found = index_of_op_.find(step.op);
      if (found == index_of_op_.end() || worker_of_op_[found->second] != kNoWorker) {
        return InternalError("worker {} runs an op that is no step, or runs twice", worker);
      }
      worker_of_op_[found->second] = static_cast<uint16_t>(worker);
      ++scheduled;
    }
  }
  if (scheduled == steps) return {};
  return InternalError("the workers run {} of {} steps", scheduled, steps);
}

/// The graph's input that is this tensor.
const Graph::Port& ProgramWriter::PortOf(TensorId input) const {
  const std::vector<Graph::Port>& ports = graph_.inputs();
  return *std::find_if(ports.begin(), ports.end(),
                       [input](const Graph::Port& port) { return port.tensor == input; });
}

void ProgramWriter::NameSpaces() {
  arenas_ = arena_.arenas;
  if (arenas_.empty()) arenas_ = {{"", arena_.bytes, arena_.lower_bound, false}};
  for (const OutsideInput& input : arena_.outside) {
    const int64_t bytes = graph_.tensor(input.tensor).ByteSize();
    const char* const kind = input.rows > 0 ? "rows:" : "input:";
    arenas_.push_back({kind + PortOf(input.tensor).name, bytes, bytes, true});
  }
  for (const PlannedArena& arena : arenas_) tables_.SpaceIndex(arena.space);
  tables_.SpaceIndex(tables_.constants_space);
}

// --- storages and tensors
// -------------------------------------------------------------------------

void ProgramWriter::NumberStorages() {
  for (const PlannedStorage& storage : arena_.storages) {
    const auto index = static_cast<uint32_t>(storages_.size());
    if (storage.root != kNone) storage_of_root_[storage.root] = index;
    if (storage.workspace_of != kNone) workspace_storage_[storage.workspace_of] = index;
    for (const OpId op : storage.fallback_of) fallback_storage_[op] = index;
    const bool on_chip = storage.on_chip;
    storages_.emplace_back(
        static_cast<uint64_t>(on_chip ? 0 : storage.offset), static_cast<uint64_t>(storage.bytes),
        on_chip ? SegmentWith(storage.root) : static_cast<uint16_t>(storage.arena),
        on_chip ? fb::StorageHome::device : fb::StorageHome::arena);
  }
  size_t arena = arenas_.size() - arena_.outside.size();
  for (const OutsideInput& input : arena_.outside) {
    storage_of_root_[input.tensor] = static_cast<uint32_t>(storages_.size());
    storages_.emplace_back(uint64_t{0}, static_cast<uint64_t>(arenas_[arena].bytes),
                           static_cast<uint16_t>(arena), fb::StorageHome::arena);
    ++arena;
  }
}

/// The segment whose ops write the storage of a root.
uint16_t ProgramWriter::SegmentWith(TensorId root) const {
  for (size_t s = 0; s < segments_.size(); ++s) {
    for (const OpId id : segments_[s].ops) {
      for (const TensorId output : graph_.op(id).outputs) {
        if (locations_.at(output).root == root) return static_cast<uint16_t>(s);
      }
    }
  }
  return UINT16_MAX;
}

uint32_t ProgramWriter::StorageOfRoot(TensorId root) {
  const auto found = storage_of_root_.find(root);
  if (found != storage_of_root_.end()) return found->second;
  const Tensor& tensor = graph_.tensor(root);  // a constant: all others have been numbered
  const uint64_t offset = tables_.constants.Add(*tensor.constant);
  const auto index = static_cast<uint32_t>(storages_.size());
  storages_.emplace_back(offset, tensor.constant->size(), 0, fb::StorageHome::section);
  storage_of_root_[root] = index;
  return index;
}

/// The inputs of an op as the plan has them. Code has its constants packed in a section: those of
/// ops that no kernel runs, not even where the device fails, would only be there a second time.
std::vector<TensorId> ProgramWriter::OperandsOf(OpId id) const {
  std::vector<TensorId> inputs = graph_.op(id).inputs;
  if (!coded_.contains(id) || !graph_.op(id).fallback_kernel.empty()) return inputs;
  for (TensorId& input : inputs) {
    if (input != kNone && graph_.tensor(locations_.at(input).root).IsConstant()) input = kNone;
  }
  return inputs;
}

void ProgramWriter::NumberTensors() {
  for (const DeviceCode& code : program_.code) coded_.insert(code.ops.begin(), code.ops.end());
  for (const Graph::Port& port : graph_.inputs()) AddTensor(port.tensor);
  for (const OpId id : arena_.steps) {
    const Op& op = graph_.op(id);
    for (const TensorId input : OperandsOf(id)) {
      if (input != kNone) AddTensor(input);
    }
    for (const TensorId output : op.outputs) AddTensor(output);
    if (const auto storage = workspace_storage_.find(id); storage != workspace_storage_.end()) {
      workspace_tensor_[id] =
          AddScratch(op.name + ".workspace",
                     static_cast<int64_t>(storages_[storage->second].bytes()), storage->second);
    }
    if (const auto storage = fallback_storage_.find(id); storage != fallback_storage_.end()) {
      fallback_tensor_[id] =
          AddScratch(op.name + ".fallback_workspace", op.fallback_workspace_bytes, storage->second);
    }
  }
  for (const Graph::Port& port : graph_.outputs()) AddTensor(port.tensor);
}

void ProgramWriter::AddTensor(TensorId id) {
  if (index_of_tensor_.contains(id)) return;
  const Tensor& tensor = graph_.tensor(id);
  const Location& location = locations_.at(id);
  const uint32_t storage = StorageOfRoot(location.root);
  index_of_tensor_[id] = static_cast<int32_t>(tensors_.size());
  tensors_.push_back(WriteTensor(tensor.name, tensor.dtype, tensor.shape, location.strides, storage,
                                 static_cast<uint64_t>(location.offset)));
}

/// A tensor of bytes, and its index.
int32_t ProgramWriter::AddScratch(const std::string& name, int64_t bytes, uint32_t storage) {
  const auto index = static_cast<int32_t>(tensors_.size());
  tensors_.push_back(
      WriteTensor(name, DType::kU8, Shape({static_cast<int32_t>(bytes)}), {1}, storage, 0));
  return index;
}

flatbuffers::Offset<fb::Tensor> ProgramWriter::WriteTensor(const std::string& name, DType dtype,
                                                           const Shape& shape,
                                                           const std::vector<int32_t>& strides,
                                                           uint32_t storage, uint64_t offset) {
  const std::vector<int32_t> dims(shape.dims, shape.dims + shape.rank);
  return fb::CreateTensor(builder_, builder_.CreateSharedString(name), static_cast<uint8_t>(dtype),
                          LayoutCode(shape, strides), storage, offset, builder_.CreateVector(dims),
                          builder_.CreateVector(strides));
}

// --- ops, steps, segments, channels
// ---------------------------------------------------------------

std::vector<int32_t> ProgramWriter::Indices(const std::vector<TensorId>& ids) const {
  std::vector<int32_t> indices;
  for (const TensorId id : ids) indices.push_back(id == kNone ? -1 : index_of_tensor_.at(id));
  return indices;
}

flatbuffers::Offset<fb::Op> ProgramWriter::WriteOp(OpId id) {
  const Op& op = graph_.op(id);
  const auto scratch = [id](const std::unordered_map<OpId, int32_t>& tensors) {
    const auto found = tensors.find(id);
    return found == tensors.end() ? -1 : found->second;
  };
  const int32_t fallback = op.fallback_kernel.empty()
                               ? -1
                               : static_cast<int32_t>(tables_.kernels.Index(op.fallback_kernel));
  const auto found = conditions_.find(id);
  const int32_t condition =
      found == conditions_.end() ? -1 : index_of_tensor_.at(found->second.tensor);
  return fb::CreateOp(
      builder_, builder_.CreateSharedString(op.name), static_cast<uint16_t>(op.kind),
      static_cast<uint16_t>(tables_.kernels.Index(op.kernel)),
      builder_.CreateVector(Indices(OperandsOf(id))), builder_.CreateVector(Indices(op.outputs)),
      builder_.CreateVector(op.attributes.words()), scratch(workspace_tensor_),
      arena_.in_place[static_cast<size_t>(id)], fallback, scratch(fallback_tensor_), condition,
      condition >= 0 && found->second.runs_if);
}

Status ProgramWriter::FindSegments() {
  for (std::vector<OpId>& segment : SegmentsOf(program_)) {
    segments_.push_back({std::move(segment), "", 0, 0, {}, {}});
  }
  size_t steps = 0;
  for (EmittedSegment& segment : segments_) {
    if (segment.ops.empty()) return InternalError("a segment has no ops");
    steps += segment.ops.size();
    segment.backend = graph_.op(segment.ops.front()).backend;
    for (const OpId id : segment.ops) {
      const auto found = index_of_op_.find(id);
      if (found == index_of_op_.end() || graph_.op(id).backend != segment.backend) {
        return InternalError("a segment of '{}' has an op that is no step or not of it",
                             segment.backend);
      }
    }
    segment.worker = worker_of_op_[index_of_op_.at(segment.ops.front())];
    segment.stage = StageOfWorker(segment.worker);
  }
  if (steps != arena_.steps.size()) {
    return InternalError("the segments have {} of {} steps", steps, arena_.steps.size());
  }
  FindBoundaries(graph_, locations_, segments_);
  return {};
}

int32_t ProgramWriter::StageOfWorker(int32_t worker) const {
  const std::vector<int32_t>& stages = schedule_.stage_of_worker;
  const auto index = static_cast<size_t>(worker);
  return index < stages.size() ? stages[index] : worker;
}

std::vector<uint32_t> ProgramWriter::TensorIndices(const std::vector<TensorId>& ids) const {
  std::vector<uint32_t> indices;
  for (const int32_t index : Indices(ids)) indices.push_back(static_cast<uint32_t>(index));
  return indices;
}

ProgramWriter::Offsets<fb::Segment> ProgramWriter::WriteSegments() {
  Offsets<fb::Segment> segments;
  for (const EmittedSegment& segment : segments_) {
    std::vector<uint32_t> indices;
    for (const OpId id : segment.ops) indices.push_back(index_of_op_.at(id));
    const auto write = [&](const std::vector<TensorId>& tensors)
        -> flatbuffers::Offset<flatbuffers::Vector<uint32_t>> {
      if (tensors.empty()) return 0;
      return builder_.CreateVector(TensorIndices(tensors));
    };
    const auto reads = write(segment.reads);
    const auto writes = write(segment.writes);
    const size_t backend = tables_.backends.Index(segment.backend);
    const auto code = WriteCode(segment);
    segments.push_back(
        fb::CreateSegment(builder_, static_cast<uint16_t>(backend), builder_.CreateVector(indices),
                          static_cast<uint16_t>(segment.stage), reads, writes, code));
  }
  return segments;
}

/// Writes the code of a segment, which is in the section behind that of the ops' constants.
ProgramWriter::CodeOffset ProgramWriter::WriteCode(const EmittedSegment& segment) {
  const auto found = std::find_if(program_.code.begin(), program_.code.end(),
                                  [&](const DeviceCode& code) { return code.ops == segment.ops; });
  if (found == program_.code.end()) return 0;
  std::vector<fb::Relocation> relocations;
  for (const DeviceCode::Relocation& relocation : found->relocations) {
    const auto base_register = static_cast<uint8_t>(relocation.base_register);
    if (relocation.root == kNone && !relocation.is_scratch) {
      relocations.emplace_back(tables_.code.Add(found->constants), found->constants.size(),
                               kCodeSection, fb::StorageHome::section, base_register, uint8_t{0});
      continue;
    }
    const fb::Storage& storage =
        storages_[relocation.is_scratch ? workspace_storage_.at(segment.ops.front())
                                        : storage_of_root_.at(relocation.root)];
    relocations.emplace_back(storage.offset(), storage.bytes(), storage.index(), storage.home(),
                             base_register, static_cast<uint8_t>(relocation.writes ? 1 : 0));
  }
  const uint64_t offset = tables_.code.Add(found->instructions);
  const std::vector<flatbuffers::Offset<fb::SegmentCode>> codes = {
      fb::CreateSegmentCode(builder_, kCodeSection, offset, found->instructions.size(),
                            builder_.CreateSharedString(found->accelerator), found->version,
                            builder_.CreateVector(found->parameters),
                            found->image.empty() ? 0 : builder_.CreateVector(found->image),
                            builder_.CreateVectorOfStructs(relocations))};
  return builder_.CreateVector(codes);
}

/// Writes channels. The segments at a channel's ends are the last of each stage that touches its
/// tensors.
Result<ProgramWriter::Offsets<fb::Channel>> ProgramWriter::WriteChannels() {
  Offsets<fb::Channel> channels;
  for (const PlannedChannel& channel : program_.channels) {
    std::vector<TensorId> roots;
    for (const TensorId id : channel.tensors) roots.push_back(locations_.at(id).root);
    const auto carries = [&](TensorId id) {
      return id != kNone &&
             std::find(roots.begin(), roots.end(), locations_.at(id).root) != roots.end();
    };
    size_t from = segments_.size();
    size_t to = segments_.size();
    for (size_t s = 0; s < segments_.size(); ++s) {
      const int32_t stage = segments_[s].stage;
      if (stage != channel.from && stage != channel.to) continue;
      for (const OpId id : segments_[s].ops) {
        const Op& op = graph_.op(id);
        const bool writes = stage == channel.from;
        const std::vector<TensorId>& operands = writes ? op.outputs : op.inputs;
        if (std::any_of(operands.begin(), operands.end(), carries)) (writes ? from : to) = s;
      }
    }
    if (from == segments_.size() || to == segments_.size()) {
      return InternalError("the channel from stage {} to stage {} carries nothing between them",
                           channel.from, channel.to);
    }
    const std::vector<uint32_t> tensors = TensorIndices(channel.tensors);
    const int32_t depth = arenas_.at(static_cast<size_t>(channel.arena)).slots;
    channels.push_back(fb::CreateChannel(builder_, static_cast<uint16_t>(from),
                                         static_cast<uint16_t>(to), builder_.CreateVector(tensors),
                                         static_cast<uint16_t>(depth),
                                         static_cast<uint16_t>(channel.arena)));
  }
  return channels;
}

ProgramWriter::Offsets<fb::Group> ProgramWriter::WriteGroups() {
  Offsets<fb::Group> groups;
  for (const std::vector<OpId>& group : arena_.groups) {
    std::vector<uint32_t> indices;
    for (const OpId id : group) indices.push_back(index_of_op_.at(id));
    const auto ops = builder_.CreateVector(indices);
    const auto found = std::find_if(program_.group_sources.begin(), program_.group_sources.end(),
                                    [&](const GroupSource& source) { return source.ops == group; });
    if (found == program_.group_sources.end()) {
      groups.push_back(fb::CreateGroup(builder_, ops));
      continue;
    }
    const auto source = builder_.CreateSharedString(found->source);
    const uint32_t crc = Crc32c(found->source.data(), found->source.size());
    groups.push_back(
        fb::CreateGroup(builder_, ops, source, crc, builder_.CreateVector(found->arguments)));
  }
  return groups;
}

flatbuffers::Offset<fb::Step> ProgramWriter::WriteStep(const ScheduledStep& step) {
  std::vector<fb::Wait> waits;
  for (const ScheduledWait& wait : step.waits) {
    waits.emplace_back(static_cast<uint16_t>(wait.worker), static_cast<uint32_t>(wait.step));
  }
  const uint32_t op = index_of_op_.at(step.op);
  return waits.empty() ? fb::CreateStep(builder_, op)
                       : fb::CreateStep(builder_, op, builder_.CreateVectorOfStructs(waits));
}

ProgramWriter::Offsets<fb::Worker> ProgramWriter::WriteWorkers(const Steps& in_order) {
  Offsets<fb::Worker> workers;
  if (schedule_.workers.empty()) {
    workers.push_back(fb::CreateWorker(builder_, builder_.CreateVector(in_order)));
  }
  for (size_t worker = 0; worker < schedule_.workers.size(); ++worker) {
    Steps steps;
    for (const ScheduledStep& step : schedule_.workers[worker]) steps.push_back(WriteStep(step));
    const bool named = worker < program_.worker_names.size();
    workers.push_back(
        fb::CreateWorker(builder_, builder_.CreateVector(steps),
                         named ? builder_.CreateString(program_.worker_names[worker]) : 0));
  }
  return workers;
}

ProgramWriter::Offsets<fb::Arena> ProgramWriter::WriteArenas() {
  Offsets<fb::Arena> arenas;
  const size_t planned = arenas_.size() - arena_.outside.size();
  for (const PlannedArena& arena : arenas_) {
    fb::ArenaUse use = fb::ArenaUse::planned;
    uint32_t alignment = tables_.arena_alignment;
    if (arenas.size() >= planned) {  // as memory that is bound to a port
      const OutsideInput& input = arena_.outside[arenas.size() - planned];
      use = input.rows > 0 ? fb::ArenaUse::rows : fb::ArenaUse::input;
      alignment = static_cast<uint32_t>(DTypeBytes(graph_.tensor(input.tensor).dtype));
    }
    arenas.push_back(fb::CreateArena(
        builder_, tables_.SpaceIndex(arena.space), static_cast<uint64_t>(arena.bytes), alignment,
        static_cast<uint64_t>(arena.lower_bound), static_cast<uint16_t>(arena.slots), use));
  }
  return arenas;
}

/// What a state is kept in is nobody's to read or write but the runtime's.
bool ProgramWriter::IsOfState(bool output, const Graph::Port& port) const {
  return std::any_of(graph_.states.begin(), graph_.states.end(), [&](const Graph::State& state) {
    if (output && port.name == state.output) return true;
    return graph_.FindPort(/*output=*/false, state.input)->tensor == port.tensor;
  });
}

std::vector<fb::State> ProgramWriter::States() {
  std::vector<fb::State> states;
  for (const Graph::State& state : graph_.states) {
    const auto tensor = [&](bool output, const std::string& name) {
      return static_cast<uint32_t>(index_of_tensor_.at(graph_.FindPort(output, name)->tensor));
    };
    int32_t initial = -1;
    if (state.initial != nullptr) {
      initial = static_cast<int32_t>(storages_.size());
      storages_.emplace_back(tables_.constants.Add(*state.initial), state.initial->size(),
                             kConstantsSection, fb::StorageHome::section);
    }
    states.emplace_back(tensor(false, state.input), tensor(true, state.output), initial);
  }
  return states;
}

ProgramWriter::Ports ProgramWriter::WritePorts(bool outputs) {
  Offsets<fb::Port> written;
  for (const Graph::Port& port : outputs ? graph_.outputs() : graph_.inputs()) {
    if (IsOfState(outputs, port)) continue;
    written.push_back(fb::CreatePort(builder_, builder_.CreateString(port.name),
                                     static_cast<uint32_t>(index_of_tensor_.at(port.tensor)),
                                     port.scale, port.zero_point));
  }
  return builder_.CreateVector(written);
}

Result<flatbuffers::Offset<fb::Program>> ProgramWriter::Write() {
  TENON_RETURN_IF_ERROR(NumberWorkers());
  TENON_RETURN_IF_ERROR(FindSegments());
  NameSpaces();
  NumberStorages();
  NumberTensors();
  if (schedule_.workers.empty()) {
    conditions_ = FindConditions(graph_, locations_, arena_.steps, arena_.outside);
  }
  Offsets<fb::Op> ops;
  Steps steps;
  for (size_t i = 0; i < arena_.steps.size(); ++i) {
    ops.push_back(WriteOp(arena_.steps[i]));
    if (schedule_.workers.empty()) {
      steps.push_back(fb::CreateStep(builder_, static_cast<uint32_t>(i)));
    }
  }
  const auto segments = WriteSegments();
  TENON_ASSIGN_OR_RETURN(const auto channels, WriteChannels());
  const auto workers = WriteWorkers(steps);
  Offsets<fb::Stage> stages;
  for (size_t worker = 0; worker < workers.size(); ++worker) {
    const auto stage = static_cast<size_t>(StageOfWorker(static_cast<int32_t>(worker)));
    if (stage == worker) stages.push_back(fb::CreateStage(builder_, static_cast<uint16_t>(worker)));
  }
  const auto arenas = WriteArenas();
  const std::vector<fb::State> states = States();
  const auto groups = WriteGroups();
  return fb::CreateProgram(
      builder_, builder_.CreateString(program_.name), static_cast<fb::ProgramMode>(program_.mode),
      builder_.CreateVector(arenas), builder_.CreateVectorOfStructs(storages_),
      builder_.CreateVector(tensors_), builder_.CreateVector(ops), builder_.CreateVector(workers),
      builder_.CreateVector(segments), channels.empty() ? 0 : builder_.CreateVector(channels),
      builder_.CreateVector(stages), WritePorts(/*outputs=*/false), WritePorts(/*outputs=*/true),
      states.empty() ? 0 : builder_.CreateVectorOfStructs(states),
      groups.empty() ? 0 : builder_.CreateVector(groups));
}

}  // namespace tenon::converter
