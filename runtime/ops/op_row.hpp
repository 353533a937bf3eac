// The device part of the op table: what the runtime needs to know of an op to run it safely.
//
// Each op is one constant `OpRow`, defined in its file or its family's (conv.cpp, pool.cpp, ...; in
// sections of their own, so that a firmware image links the rows of the kernels it uses and no
// others). What only the converter needs (attributes as text, views, work and bytes, splitting)
// stands in host/op_host_row.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon {

/// Operands and attributes of one op: indices into a table of tensors. Everything is borrowed.
/// An optional input that is absent has index -1 or lies beyond `input_ids`.
struct OpCall {
  const TensorView* tensors = nullptr;
  Span<const int32_t> input_ids;
  Span<const int32_t> output_ids;
  const void* attributes = nullptr;  ///< the op's attribute struct, complete

  [[nodiscard]] int InputCount() const { return static_cast<int>(input_ids.size()); }
  [[nodiscard]] bool HasInput(int index) const {
    return index < InputCount() && input_ids[static_cast<size_t>(index)] >= 0;
  }
  [[nodiscard]] const TensorView& Input(int index) const {
    return tensors[input_ids[static_cast<size_t>(index)]];
  }
  [[nodiscard]] const TensorView& Output(int index = 0) const {
    return tensors[output_ids[static_cast<size_t>(index)]];
  }
  template <typename Attributes>
  [[nodiscard]] const Attributes& AttributesAs() const {
    return *static_cast<const Attributes*>(attributes);
  }
};

/// What a shape rule says of one output.
struct OutputType {
  DType dtype = DType::kF32;
  Shape shape;
};
inline constexpr int kMaxOutputs = 4;

struct OpRow {
  OpKind kind;
  const char* name;  ///< as in text form, JSON and board files: "conv"
  int min_inputs;
  int max_inputs;  ///< -1: any number
  int outputs;
  size_t attribute_words;

  /// Checks operands and attributes and gives the outputs' types (`outputs` entries). Reads inputs
  /// only (dims and dtypes, never data). The number of inputs has been checked before.
  /// Errors: kInvalidArgument with what is wrong. Attributes may hold any bits.
  Status (*infer)(const OpCall& call, OutputType* outputs);

  /// Inputs (bit mask) whose memory the output may take over exactly, element by element, because
  /// every element is read before the output element at the same place is written.
  uint32_t in_place_inputs = 0;
};

/// Of ops that have no attributes.
struct NoAttributes {};

/// The row of an op with one output and these attributes.
template <typename Attributes>
[[nodiscard]] constexpr OpRow MakeOpRow(OpKind kind, int min_inputs, int max_inputs,
                                        Status (*infer)(const OpCall& call, OutputType* outputs),
                                        uint32_t in_place_inputs = 0) {
  return {kind,          OpName(kind),           min_inputs, max_inputs,
          /*outputs=*/1, sizeof(Attributes) / 4, infer,      in_place_inputs};
}

/// Checks the number of operands and that required ones are there, then calls the row's `infer`.
/// The way to infer types of operands that have not been checked.
Status InferOutputs(const OpRow& row, const OpCall& call, OutputType* outputs);

/// Checks the number of operands, that required ones are there, and that the declared outputs have
/// the inferred dtypes and dims. After this, kernels may trust an op's shapes.
Status CheckOpCall(const OpRow& row, const OpCall& call);

}  // namespace tenon
