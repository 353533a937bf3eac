#include "runtime/engine/addresses.hpp"

#include "runtime/engine/memory_block.hpp"
#include "runtime/engine/plan_memory.hpp"

namespace tenon {
namespace {

bool IsRing(const ProgramView& program, uint32_t storage) {
  const StorageInfo info = program.storage(storage);
  return info.home == StorageHome::kArena && program.arena(info.index).slots > 1;
}

size_t CountRingStorages(const ProgramView& program) {
  size_t count = 0;
  for (uint32_t s = 0; s < program.storage_count(); ++s) count += IsRing(program, s) ? 1 : 0;
  return count;
}

}  // namespace

size_t Addresses::StateBytes(const LoadedPlan& plan) {
  const ProgramView& program = plan.program();
  const size_t views = plan.has_devices() ? 2 : 1;
  const size_t words =
      program.storage_count() + 1 + program.tensor_count() + CountRingStorages(program);
  return views * program.tensor_count() * sizeof(TensorView) +
         program.arena_count() * sizeof(ArenaMemory) + words * sizeof(uint32_t) +
         alignof(TensorView);
}

Status Addresses::Open(const LoadedPlan& plan, const ArenaMemory* arenas, Span<uint8_t> state) {
  const ProgramView& program = plan.program();
  const size_t tensors = program.tensor_count();
  MemoryBlock block(state);
  auto* host = block.Take<TensorView>(tensors);
  auto* planned = plan.has_devices() ? block.Take<TensorView>(tensors) : host;
  auto* memory = block.Take<ArenaMemory>(program.arena_count());
  auto* first = block.Take<uint32_t>(program.storage_count() + 1);
  auto* by_storage = block.Take<uint32_t>(tensors);
  const size_t rings = CountRingStorages(program);
  auto* ring_storages = block.Take<uint32_t>(rings);
  TENON_ENSURE(host != nullptr && planned != nullptr && memory != nullptr && first != nullptr &&
                   by_storage != nullptr && ring_storages != nullptr,
               kOutOfMemory, "session state: {0} bytes given, {1} needed for addresses",
               static_cast<int64_t>(state.size()), static_cast<int64_t>(StateBytes(plan)));
  plan_ = &plan;
  host_ = Span<TensorView>(host, tensors);
  planned_ = Span<TensorView>(planned, tensors);
  arenas_ = Span<ArenaMemory>(memory, program.arena_count());
  first_ = Span<uint32_t>(first, program.storage_count() + 1);
  tensor_ = Span<uint32_t>(by_storage, tensors);
  ring_storage_ = Span<uint32_t>(ring_storages, rings);
  for (size_t i = 0; i < arenas_.size(); ++i) {
    const ArenaInfo info = program.arena(i);
    const auto address = reinterpret_cast<uintptr_t>(arenas[i].base);
    const bool may_be_missing = info.bytes == 0 || program.arena_use(i) == ArenaUse::kRows;
    TENON_ENSURE(arenas[i].base != nullptr || may_be_missing, kInvalidArgument,
                 "arena {0} is null: give {1} bytes", static_cast<int64_t>(i),
                 static_cast<int64_t>(ArenaBytes(info)));
    TENON_ENSURE(address % info.alignment == 0, kInvalidArgument,
                 "arena {0} is misaligned: it must start at a multiple of {1}",
                 static_cast<int64_t>(i), info.alignment);
    arenas_[i].base = arenas[i].base;
    arenas_[i].bytes = static_cast<size_t>(ArenaBytes(info));
  }
  DescribeTensors(plan.view(), program, host);
  if (planned != host) DescribeTensors(plan.view(), program, planned);
  GroupTensors();
  for (uint32_t s = 0; s < program.storage_count(); ++s) {
    if (program.storage(s).home == StorageHome::kArena) Move(s, InArena(s, 0), InArena(s, 0));
  }
  return OkStatus();
}

/// Sorts tensors by storage (counting).
void Addresses::GroupTensors() {
  const ProgramView& program = plan_->program();
  size_t ring = 0;
  for (uint32_t s = 0; s < program.storage_count(); ++s) {
    if (IsRing(program, s)) ring_storage_[ring++] = s;
  }
  for (uint32_t& first : first_) first = 0;
  for (size_t t = 0; t < tensor_.size(); ++t) ++first_[program.tensor(t).storage];
  // From counts to ends; filling backwards then leaves begins.
  for (size_t s = 1; s < first_.size(); ++s) first_[s] += first_[s - 1];
  for (uint32_t t = 0; t < tensor_.size(); ++t) {
    tensor_[--first_[program.tensor(t).storage]] = t;
  }
}

uint8_t* Addresses::InArena(uint32_t storage, uint64_t slot) const {
  const StorageInfo info = plan_->program().storage(storage);
  const ArenaInfo arena = plan_->program().arena(info.index);
  return static_cast<uint8_t*>(arenas_[info.index].base) + slot * SlotStride(arena) + info.offset;
}

void* Addresses::InUse(size_t arena, uint64_t offset) const {
  const ArenaInfo info = plan_->program().arena(arena);
  const uint64_t slot = info.slots > 1 ? input_ % info.slots : 0;
  return static_cast<uint8_t*>(arenas_[arena].base) + slot * SlotStride(info) + offset;
}

void Addresses::Move(uint32_t storage, uint8_t* host, uint8_t* planned) {
  for (size_t i = first_[storage]; i < first_[storage + 1]; ++i) {
    const uint64_t offset = plan_->program().tensor(tensor_[i]).offset;
    planned_[tensor_[i]].data = planned == nullptr ? nullptr : planned + offset;
    // The same views where there are no devices.
    host_[tensor_[i]].data = host == nullptr ? nullptr : host + offset;
  }
}

void Addresses::BindStorage(uint32_t storage, void* data) {
  uint8_t* planned = InArena(storage, 0);
  Move(storage, data != nullptr ? static_cast<uint8_t*>(data) : planned, planned);
}

void Addresses::BindInput(size_t index, void* data) {
  const ProgramView& program = plan_->program();
  BindStorage(program.tensor(program.input(index).tensor).storage, data);
}

void Addresses::BindOutput(size_t index, void* data) {
  const ProgramView& program = plan_->program();
  BindStorage(program.tensor(program.output(index).tensor).storage, data);
}

uint8_t* Addresses::PlaceInArena(uint32_t tensor) const {
  const TensorInfo info = plan_->program().tensor(tensor);
  return InArena(info.storage, 0) + info.offset;
}

/// Of a storage that no caller has bound: a state's, or a constant.
uint8_t* Addresses::PlaceOf(uint32_t storage) const {
  const StorageInfo info = plan_->program().storage(storage);
  if (info.home == StorageHome::kArena) return InArena(storage, 0);
  return const_cast<uint8_t*>(plan_->view().section_data(info.index)) + info.offset;
}

void Addresses::ResetStates() {
  tenon::ResetStates(plan_->program(), [this](uint32_t storage) { return PlaceOf(storage); });
}

// As the function of that name of plan_memory.hpp, by the addresses that are known here.
void Addresses::KeepStates() {
  const ProgramView& program = plan_->program();
  const size_t count = program.state_count();
  for (size_t i = 0; i < count; ++i) {
    const StateInfo state = program.state(i);
    const TensorView& kept = host_[state.read];
    std::memmove(
        kept.data, host_[state.write].data,
        static_cast<size_t>(kept.Elements()) * static_cast<size_t>(DTypeBytes(kept.dtype)));
  }
}

void Addresses::UseSlots(uint64_t input) {
  input_ = input;
  const ProgramView& program = plan_->program();
  for (const uint32_t storage : ring_storage_) {
    const uint16_t slots = program.arena(program.storage(storage).index).slots;
    uint8_t* place = InArena(storage, input % slots);
    Move(storage, place, place);
  }
}

}  // namespace tenon
