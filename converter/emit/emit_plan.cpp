#include "converter/emit/emit_plan.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "converter/emit/plan_tables.hpp"
#include "plan_generated.h"
#include "runtime/base/crc32c.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

namespace fb = tenon::plan;

class Emitter {
 public:
  Emitter(const Graph& graph, const Locations& locations, const ArenaPlan& arena,
          const Schedule& schedule, const EmitOptions& options)
      : graph_(graph),
        locations_(locations),
        arena_(arena),
        schedule_(schedule),
        options_(options) {}

  Result<std::vector<uint8_t>> Run() {
    if (Status status = NumberWorkers(); !status.ok()) return status.error();
    NameSpaces();
    NumberStorages();
    NumberTensors();
    const auto program = WriteProgram();
    if (kernels_.names().size() > UINT16_MAX) {
      return InternalError("the plan would name {} kernels: 65535 at most",
                           kernels_.names().size());
    }
    WritePlan(program);
    return Assemble();
  }

 private:
  // --- workers and spaces -------------------------------------------------------------------

  /// Finds each op's index and worker.
  Status NumberWorkers() {
    const size_t steps = arena_.steps.size();
    for (size_t i = 0; i < steps; ++i) {
      index_of_op_[arena_.steps[i]] = static_cast<uint32_t>(i);
    }
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

  void NameSpaces() {
    arenas_ = arena_.arenas;
    if (arenas_.empty()) arenas_ = {{"", arena_.bytes, arena_.lower_bound, false}};
    for (const PlannedArena& arena : arenas_) SpaceIndex(arena.space);
    SpaceIndex(options_.constants_space);
  }

  uint16_t SpaceIndex(const std::string& space) {
    return static_cast<uint16_t>(spaces_.Index(space.empty() ? options_.memory_space : space));
  }

  // --- storages and tensors -----------------------------------------------------------------

  void NumberStorages() {
    for (const PlannedStorage& storage : arena_.storages) {
      const auto index = static_cast<uint32_t>(storages_.size());
      if (storage.root != kNone) storage_of_root_[storage.root] = index;
      if (storage.workspace_of != kNone) workspace_storage_[storage.workspace_of] = index;
      storages_.push_back(fb::CreateStorage(
          builder_, fb::StorageHome::arena, static_cast<uint16_t>(storage.arena),
          static_cast<uint64_t>(storage.offset), static_cast<uint64_t>(storage.bytes)));
    }
  }

  uint32_t StorageOfRoot(TensorId root) {
    const auto found = storage_of_root_.find(root);
    if (found != storage_of_root_.end()) return found->second;
    const Tensor& tensor = graph_.tensor(root);  // a constant: all others have been numbered
    const uint64_t offset = constants_.Add(*tensor.constant);
    const auto index = static_cast<uint32_t>(storages_.size());
    storages_.push_back(
        fb::CreateStorage(builder_, fb::StorageHome::section, 0, offset, tensor.constant->size()));
    storage_of_root_[root] = index;
    return index;
  }

  void NumberTensors() {
    for (const Graph::Port& port : graph_.inputs()) AddTensor(port.tensor);
    for (const OpId id : arena_.steps) {
      const Op& op = graph_.op(id);
      for (const TensorId input : op.inputs) {
        if (input != kNone) AddTensor(input);
      }
      for (const TensorId output : op.outputs) AddTensor(output);
      if (workspace_storage_.contains(id)) AddWorkspace(id);
    }
    for (const Graph::Port& port : graph_.outputs()) AddTensor(port.tensor);
  }

  void AddTensor(TensorId id) {
    if (index_of_tensor_.contains(id)) return;
    const Tensor& tensor = graph_.tensor(id);
    const Location& location = locations_.at(id);
    const uint32_t storage = StorageOfRoot(location.root);
    index_of_tensor_[id] = static_cast<int32_t>(tensors_.size());
    tensors_.push_back(WriteTensor(tensor.name, tensor.dtype, tensor.shape, location.strides,
                                   storage, static_cast<uint64_t>(location.offset)));
  }

  void AddWorkspace(OpId id) {
    const Op& op = graph_.op(id);
    const int32_t bytes = static_cast<int32_t>(op.workspace_bytes);
    const Shape shape({bytes});
    workspace_tensor_[id] = static_cast<int32_t>(tensors_.size());
    tensors_.push_back(
        WriteTensor(op.name + ".workspace", DType::kU8, shape, {1}, workspace_storage_.at(id), 0));
  }

  flatbuffers::Offset<fb::Tensor> WriteTensor(const std::string& name, DType dtype,
                                              const Shape& shape,
                                              const std::vector<int32_t>& strides, uint32_t storage,
                                              uint64_t offset) {
    const std::vector<int32_t> dims(shape.dims, shape.dims + shape.rank);
    return fb::CreateTensor(builder_, builder_.CreateSharedString(name),
                            static_cast<uint8_t>(dtype), LayoutCode(shape, strides), storage,
                            offset, builder_.CreateVector(dims), builder_.CreateVector(strides));
  }

  static uint8_t LayoutCode(const Shape& shape, const std::vector<int32_t>& strides) {
    TensorView view;
    view.dims = shape.dims;
    view.strides = strides.data();
    view.rank = static_cast<uint8_t>(shape.rank);
    if (view.IsRowMajor()) return 0;
    return view.IsChannelsLast() ? 1 : 2;
  }

  // --- program ------------------------------------------------------------------------------

  [[nodiscard]] std::vector<int32_t> Indices(const std::vector<TensorId>& ids) const {
    std::vector<int32_t> indices;
    for (const TensorId id : ids) indices.push_back(id == kNone ? -1 : index_of_tensor_.at(id));
    return indices;
  }

  flatbuffers::Offset<fb::Op> WriteOp(OpId id) {
    const Op& op = graph_.op(id);
    const auto workspace = workspace_tensor_.find(id);
    return fb::CreateOp(
        builder_, builder_.CreateSharedString(op.name), static_cast<uint16_t>(op.kind),
        static_cast<uint16_t>(kernels_.Index(op.kernel)), builder_.CreateVector(Indices(op.inputs)),
        builder_.CreateVector(Indices(op.outputs)), builder_.CreateVector(op.attributes.words()),
        workspace == workspace_tensor_.end() ? -1 : workspace->second,
        arena_.in_place[static_cast<size_t>(id)]);
  }

  using Steps = std::vector<flatbuffers::Offset<fb::Step>>;

  /// A run of neighbouring ops of one backend and worker is a segment: in a topological order such
  /// runs cannot wait for each other in a circle.
  [[nodiscard]] bool EndsSegment(size_t step) const {
    if (step + 1 == arena_.steps.size()) return true;
    const Op& op = graph_.op(arena_.steps[step]);
    return graph_.op(arena_.steps[step + 1]).backend != op.backend ||
           worker_of_op_[step + 1] != worker_of_op_[step];
  }

  flatbuffers::Offset<fb::Step> WriteStep(const ScheduledStep& step) {
    std::vector<fb::Wait> waits;
    for (const ScheduledWait& wait : step.waits) {
      waits.emplace_back(static_cast<uint16_t>(wait.worker), static_cast<uint32_t>(wait.step));
    }
    const uint32_t op = index_of_op_.at(step.op);
    return waits.empty() ? fb::CreateStep(builder_, op)
                         : fb::CreateStep(builder_, op, builder_.CreateVectorOfStructs(waits));
  }

  std::vector<flatbuffers::Offset<fb::Worker>> WriteWorkers(const Steps& in_order) {
    std::vector<flatbuffers::Offset<fb::Worker>> workers;
    if (schedule_.workers.empty()) {
      workers.push_back(fb::CreateWorker(builder_, builder_.CreateVector(in_order)));
    }
    for (size_t worker = 0; worker < schedule_.workers.size(); ++worker) {
      Steps steps;
      for (const ScheduledStep& step : schedule_.workers[worker]) steps.push_back(WriteStep(step));
      const bool named = worker < options_.worker_names.size();
      workers.push_back(
          fb::CreateWorker(builder_, builder_.CreateVector(steps),
                           named ? builder_.CreateString(options_.worker_names[worker]) : 0));
    }
    return workers;
  }

  std::vector<flatbuffers::Offset<fb::Arena>> WriteArenas() {
    std::vector<flatbuffers::Offset<fb::Arena>> arenas;
    for (const PlannedArena& arena : arenas_) {
      arenas.push_back(fb::CreateArena(
          builder_, SpaceIndex(arena.space), static_cast<uint64_t>(arena.bytes),
          static_cast<uint32_t>(kStorageAlignment), static_cast<uint64_t>(arena.lower_bound)));
    }
    return arenas;
  }

  flatbuffers::Offset<fb::Program> WriteProgram() {
    std::vector<flatbuffers::Offset<fb::Op>> ops;
    Steps steps;
    std::vector<flatbuffers::Offset<fb::Segment>> segments;
    std::vector<uint32_t> segment_ops;
    for (size_t i = 0; i < arena_.steps.size(); ++i) {
      const auto index = static_cast<uint32_t>(i);
      const OpId id = arena_.steps[i];
      ops.push_back(WriteOp(id));
      if (schedule_.workers.empty()) steps.push_back(fb::CreateStep(builder_, index));
      segment_ops.push_back(index);
      if (!EndsSegment(i)) continue;
      segments.push_back(
          fb::CreateSegment(builder_, static_cast<uint16_t>(backends_.Index(graph_.op(id).backend)),
                            builder_.CreateVector(segment_ops), worker_of_op_[i]));
      segment_ops.clear();
    }
    const auto workers = WriteWorkers(steps);
    std::vector<flatbuffers::Offset<fb::Stage>> stages;
    for (size_t worker = 0; worker < workers.size(); ++worker) {
      stages.push_back(fb::CreateStage(builder_, static_cast<uint16_t>(worker)));
    }
    const auto arenas = WriteArenas();
    return fb::CreateProgram(builder_, builder_.CreateString("sequential"),
                             fb::ProgramMode::sequential, builder_.CreateVector(arenas),
                             builder_.CreateVector(storages_), builder_.CreateVector(tensors_),
                             builder_.CreateVector(ops), builder_.CreateVector(workers),
                             builder_.CreateVector(segments), 0, builder_.CreateVector(stages),
                             WritePorts(graph_.inputs()), WritePorts(graph_.outputs()));
  }

  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Port>>> WritePorts(
      const std::vector<Graph::Port>& ports) {
    std::vector<flatbuffers::Offset<fb::Port>> written;
    for (const Graph::Port& port : ports) {
      written.push_back(fb::CreatePort(builder_, builder_.CreateString(port.name),
                                       static_cast<uint32_t>(index_of_tensor_.at(port.tensor))));
    }
    return builder_.CreateVector(written);
  }

  // --- file ---------------------------------------------------------------------------------

  void WritePlan(flatbuffers::Offset<fb::Program> program) {
    std::vector<flatbuffers::Offset<fb::Option>> options;
    for (const auto& [name, value] : options_.options) {
      options.push_back(
          fb::CreateOption(builder_, builder_.CreateString(name), builder_.CreateString(value)));
    }
    std::vector<flatbuffers::Offset<fb::MemorySpace>> spaces;
    for (const std::string& space : spaces_.names()) {
      spaces.push_back(fb::CreateMemorySpace(builder_, builder_.CreateString(space)));
    }
    std::vector<flatbuffers::Offset<fb::Section>> sections;
    const std::vector<uint8_t>& data = constants_.data();
    if (constants_.IsUsed()) {
      // Defaults are not stored: the offset is patched below and must have its own bytes.
      builder_.ForceDefaults(true);
      sections.push_back(fb::CreateSection(
          builder_, builder_.CreateString("constants"), SpaceIndex(options_.constants_space), 0,
          data.size(), options_.section_alignment, Crc32c(data.data(), data.size())));
      builder_.ForceDefaults(false);
    }
    const fb::FileHeader header(0, 0);  // patched when the size is known
    const std::vector programs{program};
    const auto plan = fb::CreatePlan(
        builder_, &header, kPlanVersionMajor, kPlanVersionMinor,
        builder_.CreateString("tenon " TENON_VERSION), builder_.CreateString(options_.board),
        options_.board_fingerprint, builder_.CreateVector(options), builder_.CreateVector(spaces),
        builder_.CreateVector(sections), builder_.CreateVectorOfStrings(backends_.names()),
        builder_.CreateVectorOfStrings(kernels_.names()), builder_.CreateVector(programs));
    fb::FinishPlanBuffer(builder_, plan);
  }

  /// The FlatBuffer, then the constants; patches what could not be known before: where the section
  /// lies, the FlatBuffer's size and its check sum.
  [[nodiscard]] Result<std::vector<uint8_t>> Assemble() const {
    std::vector<uint8_t> file(builder_.GetBufferPointer(),
                              builder_.GetBufferPointer() + builder_.GetSize());
    const size_t header_bytes = RoundUp(file.size(), kPlanAlignment);
    if (header_bytes > INT32_MAX) {
      return InternalError("the plan without its constants has {} bytes: 2 GB at most",
                           header_bytes);
    }
    file.resize(header_bytes, 0);
    const std::vector<uint8_t>& data = constants_.data();
    if (constants_.IsUsed()) {
      const size_t offset = RoundUp(header_bytes, options_.section_alignment);
      auto* section = const_cast<fb::Section*>(fb::GetPlan(file.data())->sections()->Get(0));
      if (!reinterpret_cast<flatbuffers::Table*>(section)->SetField<uint64_t>(
              fb::Section::VT_FILE_OFFSET, offset, 0)) {
        return InternalError("the section offset has no place in the FlatBuffer");
      }
      file.reserve(offset + data.size());
      file.resize(offset, 0);
      file.insert(file.end(), data.begin(), data.end());
    }
    auto* header = const_cast<fb::FileHeader*>(fb::GetPlan(file.data())->header());
    *header = fb::FileHeader(static_cast<uint32_t>(header_bytes), 0);
    *header =
        fb::FileHeader(static_cast<uint32_t>(header_bytes), Crc32c(file.data(), header_bytes));
    return file;
  }

  static size_t RoundUp(size_t value, size_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
  }

  const Graph& graph_;
  const Locations& locations_;
  const ArenaPlan& arena_;
  const Schedule& schedule_;
  const EmitOptions& options_;
  flatbuffers::FlatBufferBuilder builder_;
  SectionBuilder constants_;
  std::vector<PlannedArena> arenas_;
  std::vector<uint16_t> worker_of_op_;  ///< by index in the plan
  NameTable spaces_;
  NameTable kernels_;
  NameTable backends_;
  std::vector<flatbuffers::Offset<fb::Storage>> storages_;
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors_;
  std::unordered_map<OpId, uint32_t> index_of_op_;
  std::unordered_map<TensorId, uint32_t> storage_of_root_;
  std::unordered_map<OpId, uint32_t> workspace_storage_;
  std::unordered_map<OpId, int32_t> workspace_tensor_;
  std::unordered_map<TensorId, int32_t> index_of_tensor_;
};

}  // namespace

Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                      const ArenaPlan& arena, const Schedule& schedule,
                                      const EmitOptions& options) {
  return Emitter(graph, locations, arena, schedule, options).Run();
}

Result<std::vector<uint8_t>> EmitPlan(const Graph& graph, const Locations& locations,
                                      const ArenaPlan& arena, const EmitOptions& options) {
  return EmitPlan(graph, locations, arena, Schedule(), options);
}

}  // namespace tenon::converter
