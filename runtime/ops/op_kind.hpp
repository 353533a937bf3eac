// The op set. The numbers are part of the plan format: append only, never reuse.
#pragma once

#include <cstdint>

namespace tenon {

enum class OpKind : uint16_t {
  kConv = 0,
  kMatMul = 1,
  kMaxPool = 2,
  kAveragePool = 3,
  kUnary = 4,
  kBinary = 5,
  kSelect = 6,
  kReduce = 7,
  kSoftmax = 8,
  kLrn = 9,
  kConcat = 10,
  kSlice = 11,
  kPad = 12,
  kReshape = 13,
  kTranspose = 14,
  kExpand = 15,
  kResize = 16,
  kGather = 17,
  kCast = 18,
  kCopy = 19,
  kQuantize = 20,
  kDequantize = 21,
  kLookup = 22,
  kQuantizedConv = 23,
  kQuantizedMatMul = 24,
  kQuantizedBinary = 25,
  kQuantizedAveragePool = 26,
  kQuantizedReduce = 27,
  kQuantizedSoftmax = 28,
};
inline constexpr int kOpKindCount = 29;

}  // namespace tenon
