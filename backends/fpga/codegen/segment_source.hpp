// A segment as its caller gives it to the code generator: ops on tensors, which are windows on
// blocks of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/shape.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::fpga {

/// A block of memory that tensors are windows on: a storage of the plan. It has the shape of the
/// whole, of which tensors may be slices or parts.
struct SourceBlock {
  std::string name;
  DType dtype = DType::kI8;
  Shape shape;
  std::vector<int32_t> strides;  ///< in elements, as it lies in memory
  bool is_read = false;          ///< holds values before the segment starts
  bool is_written = false;       ///< somebody reads it after the segment
  /// The memory that it lies in, and how far from its start: blocks of one memory are reached
  /// through one base register. -1: it is not known.
  int memory = -1;
  int64_t place = 0;
};

struct SourceTensor {
  std::string name;
  DType dtype = DType::kI8;
  Shape shape;
  std::vector<int32_t> strides;    ///< in elements
  int block = -1;                  ///< index of its SourceBlock; -1: a constant
  int64_t offset = 0;              ///< bytes from the start of the block
  const void* constant = nullptr;  ///< of a constant: its elements
};

struct SourceOp {
  std::string name;
  OpKind kind = OpKind::kCopy;
  const void* attributes = nullptr;
  std::vector<int32_t> inputs;  ///< tensors; -1: absent
  std::vector<int32_t> outputs;
};

/// Ops in the order in which they run.
struct SegmentSource {
  std::vector<SourceBlock> blocks;
  std::vector<SourceTensor> tensors;
  std::vector<SourceOp> ops;
};

/// The tensors as views, for OpCalls; borrowed from the source. Constants have data.
[[nodiscard]] std::vector<TensorView> ViewsOf(const SegmentSource& source);
[[nodiscard]] OpCall CallOf(const SourceOp& op, const std::vector<TensorView>& views);

}  // namespace tenon::fpga
