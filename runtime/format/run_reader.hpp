// Reads an opened plan as a run of one worker does: step by step, and of an op what its kernel is
// called with, in as few instructions as can be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Memory that a storage lies in, whatever the plan says; null: where the plan says.
struct BoundStorage {
  uint8_t* data;
  uint32_t storage;
};

/// Where a run finds what storages lie in. All borrowed.
struct RunMemory {
  /// By StorageHome: the start of each arena, of each section. Null: there are none yet. Kernels do
  /// not write to sections: the plan check has proven it.
  uint8_t* const* homes[2];
  Span<const BoundStorage> bound;  ///< looked at for every operand: few
};

/// Buffers for the operands of one op: inputs, outputs and workspace.
struct OperandRoom {
  TensorView* views;
  int32_t* ids;
};
inline constexpr size_t kOperandRoomBytes = sizeof(TensorView) + sizeof(int32_t);
/// In memory for `operands` of them that is aligned as a view is.
[[nodiscard]] inline OperandRoom RoomAt(uint8_t* memory, size_t operands) {
  auto* const views = reinterpret_cast<TensorView*>(memory);
  static_assert(alignof(TensorView) >= alignof(int32_t));
  return {views, reinterpret_cast<int32_t*>(views + operands)};
}

/// A program of a plan that firmware's check has passed, for one run at a time. Borrows the plan
/// and what its fields name.
struct RunReader {
  ProgramView program;
  RunMemory memory;
  OperandRoom room;  ///< for the op with the most operands

  /// Looks up the remaining fields.
  void Open();

  /// Returns where a storage begins, or null if it has no memory.
  [[nodiscard]] uint8_t* PlaceOf(uint32_t storage) const;

  /// Makes `call` the op's: describes inputs and outputs in the room, to which it then refers, for
  /// as long as no other op is read. What lies nowhere has no data. Returns the workspace; empty if
  /// the op has none.
  Span<uint8_t> Read(size_t op, OpCall* call) const;

 private:
  /// In the room from `place` on; -1 stays what it is.
  void Describe(const int32_t* tensors, size_t count, size_t place) const;

  // Vectors: of offsets, each from where it stands to a table, and of the storages themselves.
  const uint32_t* tensors_;
  const uint32_t* storages_;
};

}  // namespace tenon
