#include "runtime/format/plan_view.hpp"

#include <plan_generated.h>

namespace tenon {
namespace {

const plan::Plan& Root(Span<const uint8_t> file) { return *plan::GetPlan(file.data()); }

const plan::Program& Cast(const void* table) { return *static_cast<const plan::Program*>(table); }

const char* Text(const flatbuffers::String* text) { return text != nullptr ? text->c_str() : ""; }

template <typename T>
size_t Count(const flatbuffers::Vector<T>* vector) {
  return vector != nullptr ? vector->size() : 0;
}

template <typename T>
Span<const T> Values(const flatbuffers::Vector<T>* vector) {
  return vector != nullptr ? Span<const T>(vector->data(), vector->size()) : Span<const T>();
}

template <typename T>
auto At(const flatbuffers::Vector<T>* vector, size_t index) {
  return vector->Get(static_cast<flatbuffers::uoffset_t>(index));
}

}  // namespace

uint16_t PlanView::version_major() const { return Root(file_).version_major(); }
uint16_t PlanView::version_minor() const { return Root(file_).version_minor(); }
const char* PlanView::producer() const { return Text(Root(file_).producer()); }
const char* PlanView::board() const { return Text(Root(file_).board()); }
uint64_t PlanView::board_fingerprint() const { return Root(file_).board_fingerprint(); }

size_t PlanView::option_count() const { return Count(Root(file_).options()); }
const char* PlanView::option_name(size_t index) const {
  return Text(At(Root(file_).options(), index)->name());
}
const char* PlanView::option_value(size_t index) const {
  return Text(At(Root(file_).options(), index)->value());
}

size_t PlanView::space_count() const { return Count(Root(file_).spaces()); }
const char* PlanView::space_name(size_t index) const {
  return Text(At(Root(file_).spaces(), index)->name());
}

size_t PlanView::section_count() const { return Count(Root(file_).sections()); }
SectionInfo PlanView::section(size_t index) const {
  const auto* section = At(Root(file_).sections(), index);
  return {Text(section->name()), section->space(),     section->file_offset(),
          section->bytes(),      section->alignment(), section->crc32c()};
}
const uint8_t* PlanView::section_data(size_t index) const {
  return file_.data() + static_cast<size_t>(At(Root(file_).sections(), index)->file_offset());
}

size_t PlanView::backend_count() const { return Count(Root(file_).backends()); }
const char* PlanView::backend(size_t index) const {
  return Text(At(Root(file_).backends(), index));
}
size_t PlanView::kernel_count() const { return Count(Root(file_).kernels()); }
const char* PlanView::kernel(size_t index) const { return Text(At(Root(file_).kernels(), index)); }

size_t PlanView::program_count() const { return Count(Root(file_).programs()); }
ProgramView PlanView::program(size_t index) const {
  return ProgramView(At(Root(file_).programs(), index));
}

const char* ProgramView::name() const { return Text(Cast(table_).name()); }
uint8_t ProgramView::mode() const { return static_cast<uint8_t>(Cast(table_).mode()); }

size_t ProgramView::arena_count() const { return Count(Cast(table_).arenas()); }
ArenaInfo ProgramView::arena(size_t index) const {
  const auto* arena = At(Cast(table_).arenas(), index);
  return {arena->space(), arena->bytes(), arena->alignment(), arena->lower_bound()};
}

size_t ProgramView::storage_count() const { return Count(Cast(table_).storages()); }
StorageInfo ProgramView::storage(size_t index) const {
  const auto* storage = At(Cast(table_).storages(), index);
  return {static_cast<StorageHome>(storage->home()), storage->index(), storage->offset(),
          storage->bytes()};
}

size_t ProgramView::tensor_count() const { return Count(Cast(table_).tensors()); }
TensorInfo ProgramView::tensor(size_t index) const {
  const auto* tensor = At(Cast(table_).tensors(), index);
  return {Text(tensor->name()),     static_cast<DType>(tensor->dtype()),
          tensor->layout(),         tensor->storage(),
          tensor->offset(),         Values(tensor->dims()),
          Values(tensor->strides())};
}

size_t ProgramView::op_count() const { return Count(Cast(table_).ops()); }
OpInfo ProgramView::op(size_t index) const {
  const auto* op = At(Cast(table_).ops(), index);
  return {Text(op->name()),      op->kind(),
          op->kernel(),          Values(op->inputs()),
          Values(op->outputs()), Values(op->attributes()),
          op->workspace(),       op->in_place()};
}

size_t ProgramView::worker_count() const { return Count(Cast(table_).workers()); }
size_t ProgramView::step_count(size_t worker) const {
  return Count(At(Cast(table_).workers(), worker)->steps());
}
StepInfo ProgramView::step(size_t worker, size_t index) const {
  const auto* step = At(At(Cast(table_).workers(), worker)->steps(), index);
  return {step->op(), static_cast<uint32_t>(Count(step->waits()))};
}
WaitInfo ProgramView::wait(size_t worker, size_t step, size_t index) const {
  const auto* wait = At(At(At(Cast(table_).workers(), worker)->steps(), step)->waits(), index);
  return {wait->worker(), wait->step()};
}

size_t ProgramView::segment_count() const { return Count(Cast(table_).segments()); }
SegmentInfo ProgramView::segment(size_t index) const {
  const auto* segment = At(Cast(table_).segments(), index);
  return {segment->backend(), Values(segment->ops()), segment->stage()};
}

size_t ProgramView::channel_count() const { return Count(Cast(table_).channels()); }
ChannelInfo ProgramView::channel(size_t index) const {
  const auto* channel = At(Cast(table_).channels(), index);
  return {channel->from(), channel->to(), Values(channel->tensors()), channel->depth()};
}

size_t ProgramView::stage_count() const { return Count(Cast(table_).stages()); }
uint16_t ProgramView::stage_worker(size_t index) const {
  return At(Cast(table_).stages(), index)->worker();
}

size_t ProgramView::input_count() const { return Count(Cast(table_).inputs()); }
PortInfo ProgramView::input(size_t index) const {
  const auto* port = At(Cast(table_).inputs(), index);
  return {Text(port->name()), port->tensor()};
}
size_t ProgramView::output_count() const { return Count(Cast(table_).outputs()); }
PortInfo ProgramView::output(size_t index) const {
  const auto* port = At(Cast(table_).outputs(), index);
  return {Text(port->name()), port->tensor()};
}

}  // namespace tenon
