// Asks an op's shape rule a question and gives the answer as text: "f32[1,8,4,4]" or
// "error: ...".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

inline constexpr DType kF32 = DType::kF32;
inline constexpr DType kI8 = DType::kI8;
inline constexpr DType kU8 = DType::kU8;
inline constexpr DType kI32 = DType::kI32;

/// How a float attribute can be no number, or no finite one.
inline constexpr float kNan = __builtin_nanf("");
inline constexpr float kInfinity = __builtin_inff();

inline std::string TypeText(DType dtype, const Shape& shape) {
  std::string text = std::string(DTypeName(dtype)) + "[";
  for (int32_t i = 0; i < shape.rank; ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

inline std::string ErrorText(const Status& status) {
  char text[256];
  status.Format(text);
  return std::string("error: ") + text;
}

/// Operands of one call, without data.
class OpTester {
 public:
  explicit OpTester(const OpRow& row) : row_(&row) {}

  OpTester& Input(DType dtype, const std::vector<int32_t>& dims) {
    input_ids_.push_back(AddTensor(dtype, dims));
    return *this;
  }
  OpTester& Absent() {
    input_ids_.push_back(-1);
    return *this;
  }
  /// The tensor of input `index` once more.
  OpTester& SameAs(size_t index) {
    input_ids_.push_back(input_ids_[index]);
    return *this;
  }
  OpTester& Output(DType dtype, const std::vector<int32_t>& dims) {
    output_ids_.push_back(AddTensor(dtype, dims));
    return *this;
  }
  OpTester& AbsentOutput() {
    output_ids_.push_back(-1);
    return *this;
  }

  /// Type of output 0, or why there is none.
  template <typename Attributes>
  [[nodiscard]] std::string Infer(const Attributes& attributes) const {
    return InferWith(&attributes);
  }
  [[nodiscard]] std::string Infer() const {
    return InferWith(GetOpHostRow(row_->kind).text.default_attributes);
  }
  [[nodiscard]] std::string InferWith(const void* attributes) const {
    OutputType outputs[kMaxOutputs];
    const std::vector<TensorView> views = Views();
    const Status status = InferOutputs(*row_, MakeCall(views, attributes), outputs);
    return status.ok() ? TypeText(outputs[0].dtype, outputs[0].shape) : ErrorText(status);
  }

  /// "ok", or why CheckOpCall refuses.
  [[nodiscard]] std::string Check(const void* attributes) const {
    const std::vector<TensorView> views = Views();
    const Status status = CheckOpCall(*row_, MakeCall(views, attributes));
    return status.ok() ? "ok" : ErrorText(status);
  }

  /// What `function(call)` gives.
  template <typename Function>
  auto With(const void* attributes, const Function& function) const {
    const std::vector<TensorView> views = Views();
    return function(MakeCall(views, attributes));
  }

 private:
  struct Type {
    DType dtype;
    std::vector<int32_t> dims;
  };

  int32_t AddTensor(DType dtype, const std::vector<int32_t>& dims) {
    types_.push_back({dtype, dims});
    return static_cast<int32_t>(types_.size()) - 1;
  }

  [[nodiscard]] std::vector<TensorView> Views() const {
    std::vector<TensorView> views;
    for (const Type& type : types_) {
      TensorView view;
      view.dims = type.dims.data();
      view.dtype = type.dtype;
      view.rank = static_cast<uint8_t>(type.dims.size());
      views.push_back(view);
    }
    return views;
  }

  [[nodiscard]] OpCall MakeCall(const std::vector<TensorView>& views,
                                const void* attributes) const {
    OpCall call;
    call.tensors = views.data();
    call.input_ids = {input_ids_.data(), input_ids_.size()};
    call.output_ids = {output_ids_.data(), output_ids_.size()};
    call.attributes = attributes;
    return call;
  }

  const OpRow* row_;
  std::vector<Type> types_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
};

}  // namespace tenon
