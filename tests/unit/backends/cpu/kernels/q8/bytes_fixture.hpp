// What the tests of the kernels on bytes share: one op on equal operands by a fast kernel and by
// the portable one, whose bits it must give.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/kernels/q8/choose_instructions.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {

inline constexpr const char* kPortableConv = "cpu.quantized_conv.portable";

/// Runs `body` once for every instruction set that this processor has.
template <typename Body>
void ForEachQuantizedSet(const Body& body) {
  for (const q8::Instructions& instructions : q8::UsableInstructions()) {
    q8::OverrideInstructions(&instructions);
    const std::string name = q8::InstructionsName(instructions);
    CAPTURE(name);
    body();
  }
  q8::OverrideInstructions(nullptr);
}

/// A tensor whose bytes are any; for i8 and u8.
inline Tensor RandomBytes(DType dtype, const std::vector<int32_t>& dims, Layout layout,
                          Generator& random) {
  Tensor tensor(dtype, dims, layout);
  std::vector<uint8_t> values(tensor.count());
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  tensor.Set(values);
  return tensor;
}

inline DType PickByteType(Generator& random) {
  return Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
}

/// A value of an i8 or u8.
inline int32_t PickByte(DType dtype, Generator& random) {
  return dtype == DType::kI8 ? Pick(random, -128, 127) : Pick(random, 0, 255);
}

/// Bounds and zero point of an output, sometimes those of all its values.
inline QuantizedOutput PickOutput(DType dtype, Rounding rounding, Generator& random) {
  QuantizedOutput output;
  output.to = static_cast<int32_t>(dtype);
  output.rounding = rounding;
  output.zero_point = PickByte(dtype, random);
  output.min = dtype == DType::kI8 ? -128 : 0;
  output.max = dtype == DType::kI8 ? 127 : 255;
  if (Pick(random, 0, 2) == 0) {
    const int32_t a = PickByte(dtype, random);
    const int32_t b = PickByte(dtype, random);
    output.min = a < b ? a : b;
    output.max = a < b ? b : a;
  }
  return output;
}

/// Operands go to both kernels; each has an output of its own.
class ByteOp {
 public:
  ByteOp(const char* fast_id, const char* portable_id)
      : fast_(FindKernel(fast_id)), portable_(FindKernel(portable_id)) {}

  void AddInput(const Tensor& tensor, bool constant = false) {
    fast_.AddInput(tensor, constant);
    portable_.AddInput(tensor, constant);
  }
  void AddAbsentInput() {
    fast_.AddAbsentInput();
    portable_.AddAbsentInput();
  }
  void AddOutput(DType dtype, const std::vector<int32_t>& dims, Layout layout) {
    outputs_.push_back(fast_.AddOutput(Tensor(dtype, dims, layout)));
    outputs_.push_back(portable_.AddOutput(Tensor(dtype, dims, layout)));
  }

  template <typename Attributes>
  Status Check(const Attributes& attributes) {
    return fast_.Check(attributes);
  }

  /// Runs both, the fast one on `threads` threads; true if their outputs have the same bits, and
  /// nothing was written beside them.
  template <typename T, typename Attributes>
  bool Agree(const Attributes& attributes, int threads) {
    const Status status = fast_.Run(attributes, threads);
    const std::string message = status.message();
    INFO(message);
    REQUIRE(status.ok());
    REQUIRE(portable_.Run(attributes).ok());
    CHECK(outputs_[0].GapsIntact());
    const std::vector<T> actual = outputs_[0].Values<T>();
    const std::vector<T> expected = outputs_[1].Values<T>();
    for (size_t i = 0; i < actual.size(); ++i) {
      if (std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
      MESSAGE("element " << i << " is " << +actual[i] << ", not " << +expected[i]);
      return false;
    }
    return true;
  }

 private:
  OpFixture fast_;
  OpFixture portable_;
  std::vector<Tensor> outputs_;
};

}  // namespace tenon::cpu::testing
