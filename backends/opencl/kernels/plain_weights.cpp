#include "backends/opencl/kernels/plain_weights.hpp"

#include <cmath>
#include <limits>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::opencl {
namespace {

/// f16 (IEEE binary16) to f32, exactly.
float FromHalf(uint16_t half) {
  const int exponent = half >> 10 & 0x1F;
  const int fraction = half & 0x3FF;
  float magnitude = 0.0F;
  if (exponent == 0x1F) {
    magnitude = fraction == 0 ? std::numeric_limits<float>::infinity()
                              : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

/// The axis of the weights along which each index has a scale.
int OutputsAxis(const OpCall& op, int scale) {
  if (scale == 4) return 0;  // a convolution's
  return op.AttributesAs<MatMulAttributes>().transpose_b != 0 ? 0 : 1;
}

}  // namespace

PlainWeights::PlainWeights(const OpCall& op, int scale) : op_(op) {
  const TensorView& stored = op.Input(GemmInput::kWeights);
  if (stored.dtype == DType::kF32 || stored.data == nullptr) return;
  const auto count = static_cast<size_t>(stored.Elements());
  const auto rank = static_cast<size_t>(stored.rank);
  values_.resize(count);
  strides_.resize(rank);
  int32_t dense = 1;
  for (size_t axis = rank; axis-- > 0;) {
    strides_[axis] = dense;
    dense *= stored.dims[axis];
  }
  const int outputs_axis = OutputsAxis(op, scale);
  for (size_t i = 0; i < count; ++i) {
    size_t offset = 0;
    size_t output = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      const size_t index =
          i / static_cast<size_t>(strides_[axis]) % static_cast<size_t>(stored.dims[axis]);
      offset += index * static_cast<size_t>(stored.strides[axis]);
      if (static_cast<int>(axis) == outputs_axis) output = index;
    }
    if (stored.dtype == DType::kF16) {
      values_[i] = FromHalf(stored.As<const uint16_t>()[offset]);
    } else {
      const TensorView& scales = op.Input(scale);
      values_[i] = static_cast<float>(stored.As<const int8_t>()[offset]) *
                   scales.As<const float>()[output * static_cast<size_t>(scales.strides[0])];
    }
  }
  // The operands anew, the weights and no scale among them.
  for (int i = 0; i < op.InputCount() && i < scale; ++i) {
    ids_.push_back(op.HasInput(i) ? static_cast<int32_t>(views_.size()) : -1);
    if (op.HasInput(i)) views_.push_back(op.Input(i));
    if (i == GemmInput::kWeights) {
      views_.back().data = values_.data();
      views_.back().dtype = DType::kF32;
      views_.back().strides = strides_.data();
    }
  }
  const size_t inputs = ids_.size();
  ids_.push_back(static_cast<int32_t>(views_.size()));
  views_.push_back(op.Output());
  op_.tensors = views_.data();
  op_.input_ids = {ids_.data(), inputs};
  op_.output_ids = {ids_.data() + inputs, 1};
}

}  // namespace tenon::opencl
