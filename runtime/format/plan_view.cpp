#include "runtime/format/plan_view.hpp"

#include <plan_generated.h>

#include "runtime/format/table_fields.hpp"

namespace tenon {
namespace {

// Plans are little-endian, numbers and constants alike, and both are used where they lie.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "Tenon runs on little-endian targets only");

// Every accessor is a few calls of these, out of line: the generated ones inline a look-up in the
// table's list of fields each time, which makes this file twice as large.

[[gnu::noinline]] const uint8_t* Field(const void* table, flatbuffers::voffset_t field) {
  return static_cast<const flatbuffers::Table*>(table)->GetAddressOf(field);
}

template <typename T>
T Scalar(const void* table, flatbuffers::voffset_t field, T absent = 0) {
  const uint8_t* at = Field(table, field);
  return at != nullptr ? flatbuffers::ReadScalar<T>(at) : absent;
}

/// Bytes of an arena or the file, as far as this build can count them. `words`: lower half first.
[[gnu::noinline]] PlanBytes BytesOf(const uint32_t* words) {
  if constexpr (sizeof(PlanBytes) == sizeof(uint64_t)) return uint64_t{words[1]} << 32 | words[0];
  return words[1] != 0 ? static_cast<PlanBytes>(-1) : words[0];
}

[[gnu::noinline]] PlanBytes Bytes(const void* table, flatbuffers::voffset_t field) {
  const uint8_t* at = Field(table, field);
  return at != nullptr ? BytesOf(reinterpret_cast<const uint32_t*>(at)) : 0;
}

/// What the offset in a field leads to, or null.
[[gnu::noinline]] const uint8_t* Target(const void* table, flatbuffers::voffset_t field) {
  const uint8_t* at = Field(table, field);
  return at != nullptr ? at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at) : nullptr;
}

[[gnu::noinline]] const char* Text(const void* table, flatbuffers::voffset_t field) {
  const uint8_t* text = Target(table, field);
  return text != nullptr ? reinterpret_cast<const flatbuffers::String*>(text)->c_str() : "";
}

using format::Vector;

/// A vector of 4-byte numbers.
template <typename T = uint32_t>
Span<const T> Words(const void* table, flatbuffers::voffset_t field) {
  const uint32_t* words = Vector(table, field);
  return {reinterpret_cast<const T*>(words), words[-1]};
}

[[gnu::noinline]] size_t Count(const void* table, flatbuffers::voffset_t field) {
  return Vector(table, field)[-1];
}

/// The table or string that element `index` of a vector leads to. The vector is there: the index is
/// below its length.
[[gnu::noinline]] const uint8_t* Element(const void* table, flatbuffers::voffset_t field,
                                         size_t index) {
  const auto* fields = static_cast<const flatbuffers::Table*>(table)->GetVTable();
  const uint8_t* at = static_cast<const uint8_t*>(table) +
                      flatbuffers::ReadScalar<flatbuffers::voffset_t>(fields + field);
  const auto* vector =
      reinterpret_cast<const uint32_t*>(at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at));
  const uint32_t* element = vector + 1 + index;
  return reinterpret_cast<const uint8_t*>(element) + *element;
}

const char* TextElement(const void* table, flatbuffers::voffset_t field, size_t index) {
  return reinterpret_cast<const flatbuffers::String*>(Element(table, field, index))->c_str();
}

const void* Root(Span<const uint8_t> file) { return plan::GetPlan(file.data()); }

PortInfo Port(const void* program, flatbuffers::voffset_t field, size_t index) {
  const void* port = Element(program, field, index);
  return {Text(port, plan::Port::VT_NAME), Scalar<uint32_t>(port, plan::Port::VT_TENSOR),
          Scalar<float>(port, plan::Port::VT_SCALE),
          Scalar<int32_t>(port, plan::Port::VT_ZERO_POINT)};
}

}  // namespace

namespace format {

[[gnu::noinline]] const uint32_t* Vector(const void* table, flatbuffers::voffset_t field) {
  static constexpr uint32_t kNone[1] = {0};
  const uint8_t* vector = Target(table, field);
  return (vector != nullptr ? reinterpret_cast<const uint32_t*>(vector) : kNone) + 1;
}

}  // namespace format

using plan::Plan;
using plan::Program;

HeaderInfo PlanView::header() const {
  const uint8_t* at = Field(Root(file_), Plan::VT_HEADER);
  return {flatbuffers::ReadScalar<uint32_t>(at), flatbuffers::ReadScalar<uint32_t>(at + 4),
          static_cast<size_t>(at - file_.data()) + 4};
}
uint16_t PlanView::version_major() const {
  return Scalar<uint16_t>(Root(file_), Plan::VT_VERSION_MAJOR);
}
uint16_t PlanView::version_minor() const {
  return Scalar<uint16_t>(Root(file_), Plan::VT_VERSION_MINOR);
}
const char* PlanView::producer() const { return Text(Root(file_), Plan::VT_PRODUCER); }
const char* PlanView::board() const { return Text(Root(file_), Plan::VT_BOARD); }
uint64_t PlanView::board_fingerprint() const {
  return Scalar<uint64_t>(Root(file_), Plan::VT_BOARD_FINGERPRINT);
}

size_t PlanView::option_count() const { return Count(Root(file_), Plan::VT_OPTIONS); }
const char* PlanView::option_name(size_t index) const {
  return Text(Element(Root(file_), Plan::VT_OPTIONS, index), plan::Option::VT_NAME);
}
const char* PlanView::option_value(size_t index) const {
  return Text(Element(Root(file_), Plan::VT_OPTIONS, index), plan::Option::VT_VALUE);
}

size_t PlanView::space_count() const { return Count(Root(file_), Plan::VT_SPACES); }
const char* PlanView::space_name(size_t index) const {
  return Text(Element(Root(file_), Plan::VT_SPACES, index), plan::MemorySpace::VT_NAME);
}

size_t PlanView::section_count() const { return Count(Root(file_), Plan::VT_SECTIONS); }
SectionInfo PlanView::section(size_t index) const {
  using plan::Section;
  const void* section = Element(Root(file_), Plan::VT_SECTIONS, index);
  return {kHasWords ? Text(section, Section::VT_NAME) : "",
          Scalar<uint16_t>(section, Section::VT_SPACE),
          Bytes(section, Section::VT_FILE_OFFSET),
          Bytes(section, Section::VT_BYTES),
          Scalar<uint32_t>(section, Section::VT_ALIGNMENT),
          Scalar<uint32_t>(section, Section::VT_CRC32C)};
}
const uint8_t* PlanView::section_data(size_t index) const {
  const void* section = Element(Root(file_), Plan::VT_SECTIONS, index);
  return file_.data() + static_cast<size_t>(Bytes(section, plan::Section::VT_FILE_OFFSET));
}

size_t PlanView::backend_count() const { return Count(Root(file_), Plan::VT_BACKENDS); }
const char* PlanView::backend(size_t index) const {
  return TextElement(Root(file_), Plan::VT_BACKENDS, index);
}
size_t PlanView::kernel_count() const { return Count(Root(file_), Plan::VT_KERNELS); }
const char* PlanView::kernel(size_t index) const {
  return TextElement(Root(file_), Plan::VT_KERNELS, index);
}

size_t PlanView::program_count() const { return Count(Root(file_), Plan::VT_PROGRAMS); }
ProgramView PlanView::program(size_t index) const {
  return ProgramView(Element(Root(file_), Plan::VT_PROGRAMS, index));
}

const char* ProgramView::name() const { return Text(table_, Program::VT_NAME); }
uint8_t ProgramView::mode() const { return Scalar<uint8_t>(table_, Program::VT_MODE); }

size_t ProgramView::arena_count() const { return Count(table_, Program::VT_ARENAS); }
ArenaInfo ProgramView::arena(size_t index) const {
  using plan::Arena;
  const void* arena = Element(table_, Program::VT_ARENAS, index);
  return {Scalar<uint16_t>(arena, Arena::VT_SPACE), Bytes(arena, Arena::VT_BYTES),
          Scalar<uint32_t>(arena, Arena::VT_ALIGNMENT),
          kHasWorkers ? Bytes(arena, Arena::VT_LOWER_BOUND) : 0,
          Scalar<uint16_t>(arena, Arena::VT_SLOTS, 1)};
}

ArenaUse ProgramView::arena_use(size_t index) const {
  return static_cast<ArenaUse>(
      Scalar<uint8_t>(Element(table_, Program::VT_ARENAS, index), plan::Arena::VT_USE));
}

size_t ProgramView::storage_count() const { return Count(table_, Program::VT_STORAGES); }
StorageInfo ProgramView::storage(size_t index) const {
  static_assert(sizeof(plan::Storage) == sizeof(format::StorageWords));
  const uint32_t* storages = Vector(table_, Program::VT_STORAGES);
  const auto& storage = reinterpret_cast<const format::StorageWords*>(storages)[index];
  return {static_cast<StorageHome>(storage.home), storage.index, BytesOf(storage.offset),
          BytesOf(storage.bytes)};
}

size_t ProgramView::tensor_count() const { return Count(table_, Program::VT_TENSORS); }
TensorInfo ProgramView::tensor(size_t index) const {
  using plan::Tensor;
  const void* tensor = Element(table_, Program::VT_TENSORS, index);
  return {kHasWords ? Text(tensor, Tensor::VT_NAME) : "",
          static_cast<DType>(Scalar<uint8_t>(tensor, Tensor::VT_DTYPE)),
          kHasWorkers ? Scalar<uint8_t>(tensor, Tensor::VT_LAYOUT) : uint8_t{0},
          Scalar<uint32_t>(tensor, Tensor::VT_STORAGE),
          Bytes(tensor, Tensor::VT_OFFSET),
          Words<int32_t>(tensor, Tensor::VT_DIMS),
          Words<int32_t>(tensor, Tensor::VT_STRIDES)};
}
uint32_t ProgramView::tensor_storage(size_t index) const {
  return Scalar<uint32_t>(Element(table_, Program::VT_TENSORS, index), plan::Tensor::VT_STORAGE);
}

size_t ProgramView::op_count() const { return Count(table_, Program::VT_OPS); }
OpInfo ProgramView::op(size_t index) const {
  using plan::Op;
  const void* op = Element(table_, Program::VT_OPS, index);
  return {op_operands(index),
          Text(op, Op::VT_NAME),
          Scalar<uint16_t>(op, Op::VT_KIND),
          Scalar<uint16_t>(op, Op::VT_KERNEL),
          Scalar<int32_t>(op, Op::VT_IN_PLACE, -1),
          kHasDevices ? Scalar<int32_t>(op, Op::VT_FALLBACK_KERNEL, -1) : -1,
          kHasDevices ? Scalar<int32_t>(op, Op::VT_FALLBACK_WORKSPACE, -1) : -1};
}
OpCondition ProgramView::op_condition(size_t index) const {
  using plan::Op;
  const void* op = Element(table_, Program::VT_OPS, index);
  return {Scalar<int32_t>(op, Op::VT_CONDITION, -1), Scalar<uint8_t>(op, Op::VT_RUNS_IF) != 0};
}
OpOperands ProgramView::op_operands(size_t index) const {
  using plan::Op;
  const void* op = Element(table_, Program::VT_OPS, index);
  return {Words<int32_t>(op, Op::VT_INPUTS), Words<int32_t>(op, Op::VT_OUTPUTS),
          Words<int32_t>(op, Op::VT_ATTRIBUTES), Scalar<int32_t>(op, Op::VT_WORKSPACE, -1)};
}

size_t ProgramView::worker_count() const { return Count(table_, Program::VT_WORKERS); }
const char* ProgramView::worker_name(size_t worker) const {
  return Text(Element(table_, Program::VT_WORKERS, worker), plan::Worker::VT_NAME);
}
size_t ProgramView::step_count(size_t worker) const {
  return Count(Element(table_, Program::VT_WORKERS, worker), plan::Worker::VT_STEPS);
}
uint32_t ProgramView::step_op(size_t worker, size_t index) const {
  const void* steps = Element(table_, Program::VT_WORKERS, worker);
  return Scalar<uint32_t>(Element(steps, plan::Worker::VT_STEPS, index), plan::Step::VT_OP);
}
StepInfo ProgramView::step(size_t worker, size_t index) const {
  const void* steps = Element(table_, Program::VT_WORKERS, worker);
  const void* step = Element(steps, plan::Worker::VT_STEPS, index);
  return {Scalar<uint32_t>(step, plan::Step::VT_OP),
          static_cast<uint32_t>(Count(step, plan::Step::VT_WAITS))};
}
WaitInfo ProgramView::wait(size_t worker, size_t step, size_t index) const {
  const void* steps = Element(table_, Program::VT_WORKERS, worker);
  const uint8_t* waits = Target(Element(steps, plan::Worker::VT_STEPS, step), plan::Step::VT_WAITS);
  const auto& wait = reinterpret_cast<const plan::Wait*>(waits + sizeof(uint32_t))[index];
  return {wait.worker(), wait.step()};
}

size_t ProgramView::segment_count() const { return Count(table_, Program::VT_SEGMENTS); }
SegmentInfo ProgramView::segment(size_t index) const {
  using plan::Segment;
  const void* segment = Element(table_, Program::VT_SEGMENTS, index);
  return {Scalar<uint16_t>(segment, Segment::VT_BACKEND), Words(segment, Segment::VT_OPS),
          Scalar<uint16_t>(segment, Segment::VT_STAGE), Words(segment, Segment::VT_READS),
          Words(segment, Segment::VT_WRITES)};
}

size_t ProgramView::segment_code_count(size_t segment) const {
  return Count(Element(table_, Program::VT_SEGMENTS, segment), plan::Segment::VT_CODE);
}
SegmentCodeInfo ProgramView::segment_code(size_t segment) const {
  using plan::SegmentCode;
  const void* code =
      Element(Element(table_, Program::VT_SEGMENTS, segment), plan::Segment::VT_CODE, 0);
  return {Scalar<uint16_t>(code, SegmentCode::VT_SECTION),
          Bytes(code, SegmentCode::VT_OFFSET),
          Bytes(code, SegmentCode::VT_BYTES),
          Text(code, SegmentCode::VT_ACCELERATOR),
          Scalar<uint32_t>(code, SegmentCode::VT_VERSION),
          Words(code, SegmentCode::VT_PARAMETERS),
          Words(code, SegmentCode::VT_IMAGE),
          Count(code, SegmentCode::VT_RELOCATIONS)};
}
RelocationInfo ProgramView::segment_relocation(size_t segment, size_t index) const {
  using plan::SegmentCode;
  const void* code =
      Element(Element(table_, Program::VT_SEGMENTS, segment), plan::Segment::VT_CODE, 0);
  static_assert(sizeof(plan::Relocation) == sizeof(format::RelocationWords));
  const uint32_t* relocations = Vector(code, SegmentCode::VT_RELOCATIONS);
  const auto& words = reinterpret_cast<const format::RelocationWords*>(relocations)[index];
  return {static_cast<StorageHome>(words.home),
          words.index,
          BytesOf(words.offset),
          BytesOf(words.bytes),
          words.base_register,
          words.writes != 0};
}

size_t ProgramView::group_count() const { return Count(table_, Program::VT_GROUPS); }
GroupInfo ProgramView::group(size_t index) const {
  using plan::Group;
  const void* group = Element(table_, Program::VT_GROUPS, index);
  return {Words(group, Group::VT_OPS), Text(group, Group::VT_SOURCE),
          Scalar<uint32_t>(group, Group::VT_SOURCE_CRC32C), Words(group, Group::VT_ARGUMENTS)};
}

size_t ProgramView::channel_count() const { return Count(table_, Program::VT_CHANNELS); }
ChannelInfo ProgramView::channel(size_t index) const {
  using plan::Channel;
  const void* channel = Element(table_, Program::VT_CHANNELS, index);
  return {Scalar<uint16_t>(channel, Channel::VT_FROM), Scalar<uint16_t>(channel, Channel::VT_TO),
          Words(channel, Channel::VT_TENSORS), Scalar<uint16_t>(channel, Channel::VT_DEPTH),
          Scalar<uint16_t>(channel, Channel::VT_ARENA)};
}

size_t ProgramView::stage_count() const { return Count(table_, Program::VT_STAGES); }
uint16_t ProgramView::stage_worker(size_t index) const {
  return Scalar<uint16_t>(Element(table_, Program::VT_STAGES, index), plan::Stage::VT_WORKER);
}

size_t ProgramView::input_count() const { return Count(table_, Program::VT_INPUTS); }
PortInfo ProgramView::input(size_t index) const { return Port(table_, Program::VT_INPUTS, index); }
size_t ProgramView::output_count() const { return Count(table_, Program::VT_OUTPUTS); }
PortInfo ProgramView::output(size_t index) const {
  return Port(table_, Program::VT_OUTPUTS, index);
}
size_t ProgramView::state_count() const { return Count(table_, Program::VT_STATES); }
StateInfo ProgramView::state(size_t index) const {
  static_assert(sizeof(plan::State) == sizeof(StateInfo));
  const uint32_t* states = Vector(table_, Program::VT_STATES);
  return reinterpret_cast<const StateInfo*>(states)[index];
}

}  // namespace tenon
