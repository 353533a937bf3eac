// The host part of the op table: facts about ops that only the converter needs.
#pragma once

#include <cstdint>

#include "runtime/ops/op_row.hpp"

namespace tenon {

/// How an op's output may relate to its input's memory without any work being done.
enum class ViewKind : uint8_t {
  kNone,
  kOutputInsideInput,   ///< slice, expand: the output is a window on input 0
  kInputsInsideOutput,  ///< concat: each input can be written straight into its part
  kSameElements,        ///< reshape, transpose, copy: same bytes, other dims or strides
};

struct OpWork {
  int64_t multiply_accumulates = 0;
  int64_t elementary_ops = 0;  ///< everything else (npu-3unit's weights: softmax 8, ...)
  int64_t bytes_read = 0;      ///< inputs and weights, once each
  int64_t bytes_written = 0;
};

struct OpHostRow {
  OpKind kind;
  ViewKind view;
  OpWork (*work)(const OpCall& call);
};

[[nodiscard]] const OpHostRow& GetOpHostRow(OpKind kind);

}  // namespace tenon
