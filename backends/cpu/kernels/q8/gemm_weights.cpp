#include "backends/cpu/kernels/q8/gemm_weights.hpp"

#include <cmath>
#include <cstring>

#include "backends/cpu/kernels/held_block.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

/// Returns element `index` of an optional vector of i8 or u8 with one element or one for each.
int32_t ZeroPointAt(const OpCall& op, int input, int index) {
  if (!op.HasInput(input)) return 0;
  const TensorView& view = op.Input(input);
  const int at = view.dims[0] == 1 ? 0 : index;
  return view.dtype == DType::kI8 ? view.As<const int8_t>()[at] : view.As<const uint8_t>()[at];
}

int32_t WeightAt(const GemmWeightsView& weights, int64_t offset) {
  const uint8_t bits = weights.data[offset];
  return weights.is_signed ? static_cast<int8_t>(bits) : bits;
}

int Steps(const GemmShape& shape) { return CeilDiv(shape.Depth(), kDepthStep); }

template <typename Use>
void ForEachWeight(const GemmShape& shape, const GemmWeightsView& weights, int output,
                   const Use& use) {
  for (int tap = 0; tap < shape.taps; ++tap) {
    const int64_t at_tap = output * weights.output_step +
                           tap / weights.taps_in_row * weights.row_step +
                           tap % weights.taps_in_row * weights.tap_step;
    for (int column = 0; column < shape.columns; ++column) {
      const int64_t at_column = at_tap + column * weights.column_step;
      for (int c = 0; c < shape.channels; ++c) {
        use(tap, column * shape.channels + c, c,
            WeightAt(weights, at_column + c * weights.channel_step));
      }
    }
  }
}

/// Places the arrays of all groups. It is made twice: to learn the size, then with memory.
struct Arrays {
  PackedGemm* packed = nullptr;
  GemmGroup* groups = nullptr;
  uint8_t* padding = nullptr;
  int16_t* coefficients = nullptr;
  int8_t* weights = nullptr;
  int32_t* bias = nullptr;
  int32_t* x_sum_factor = nullptr;
  int32_t* multiplier = nullptr;
  int32_t* shift = nullptr;
  float* factor = nullptr;
  float* factor_below = nullptr;
  float* offset = nullptr;
};

struct Sizes {
  int groups = 0;
  size_t width = 0;  ///< of all groups together
  size_t steps = 0;
  size_t x_channels = 0;
  size_t coefficients = 0;
  bool sums_x = false;
  bool has_multiplier = false;
  bool fixed_point = false;
};

Arrays LayOut(BlockLayout& block, const Sizes& sizes) {
  Arrays arrays;
  arrays.packed = block.Take<PackedGemm>(1);
  arrays.groups = block.Take<GemmGroup>(static_cast<size_t>(sizes.groups));
  arrays.padding = block.Take<uint8_t>(sizes.x_channels);
  if (sizes.coefficients > 0) arrays.coefficients = block.Take<int16_t>(sizes.coefficients);
  arrays.weights = block.Take<int8_t>(sizes.width * sizes.steps * kDepthStep);
  arrays.bias = block.Take<int32_t>(sizes.width);
  if (sizes.sums_x) arrays.x_sum_factor = block.Take<int32_t>(sizes.width);
  if (sizes.has_multiplier) arrays.multiplier = block.Take<int32_t>(sizes.width);
  if (sizes.fixed_point) {
    arrays.shift = block.Take<int32_t>(sizes.width);
    arrays.factor = block.Take<float>(sizes.width);
    arrays.factor_below = block.Take<float>(sizes.width);
    arrays.offset = block.Take<float>(sizes.width);
  }
  return arrays;
}

/// Calls `use` for the groups of channels of all parts, without what they point to.
template <typename Use>
void ForEachGroup(const GemmShape& shape, const Use& use) {
  const int outputs = shape.outputs / shape.convolutions;
  for (int part = 0; part < shape.convolutions; ++part) {
    for (int done = 0; done < outputs; done += kMostWidth) {
      GemmGroup group = {};
      group.first = part * outputs + done;
      group.channels = outputs - done < kMostWidth ? outputs - done : kMostWidth;
      group.width = RoundUp(group.channels, kWidthStep);
      group.source = part * shape.channels;
      use(group);
    }
  }
}

/// Fills one group's arrays.
class GroupPacker {
 public:
  GroupPacker(const OpCall& op, const GemmShape& shape, const GemmWeightsView& weights,
              const PackedGemm& packed)
      : op_(op), shape_(shape), weights_(weights), packed_(packed) {}

  /// `arrays` begin at the group's.
  void Pack(const GemmGroup& group, const Arrays& arrays) {
    is_tame_ = true;
    int places[kMostWidth * kDepthStep];
    for (int p = 0; p < group.width; ++p) {
      for (int k = 0; k < kDepthStep; ++k) {
        places[p * kDepthStep + k] = packed_.routines->weight_place(p, k, group.width);
      }
    }
    for (int p = 0; p < group.width; ++p) {
      const int m = packed_.routines->channel_at(p, group.width);
      if (m >= group.channels) continue;
      PackChannel(group, group.first + m, places + p * kDepthStep, arrays.weights);
      arrays.bias[p] = static_cast<int32_t>(bias_);
      if (packed_.sums_x) {
        arrays.x_sum_factor[p] = OffsetOfSummed(op_.Input(In::kWeights).dtype) -
                                 ZeroPointAt(op_, In::kWeightsZeroPoint, group.first + m);
      }
      if (arrays.multiplier != nullptr) PackFactor(group.first + m, p, arrays);
    }
  }

  /// Returns GemmGroup::is_tame of the group packed last.
  [[nodiscard]] bool is_tame() const { return is_tame_; }
  /// Returns false if some channel of any group has a factor that only EpilogueKind::kExact takes.
  [[nodiscard]] bool has_sound_factors() const { return has_sound_factors_; }

 private:
  /// What all weights of a channel, less their zero point, add up to.
  struct Totals {
    int64_t correction;  ///< each times the zero point of its channel of x
    int64_t magnitudes;
  };

  Totals PackWeights(const GemmGroup& group, int m, const int* places, int8_t* packed) {
    const int32_t w_zero_point = ZeroPointAt(op_, In::kWeightsZeroPoint, m);
    const int depth = shape_.Depth();
    const int last = depth < kDepthStep ? 0 : depth - kDepthStep;
    const int whole = depth / kDepthStep;
    const int64_t step_bytes = int64_t{kDepthStep} * group.width;
    const int64_t pass_bytes = step_bytes * Steps(shape_) * shape_.taps;
    Totals totals = {0, 0};
    ForEachWeight(shape_, weights_, m, [&](int tap, int d, int c, int32_t weight) {
      const int step = d / kDepthStep;
      const int k = step < whole ? d % kDepthStep : d - last;
      const int32_t w = weight - w_zero_point;
      totals.magnitudes += w < 0 ? -w : w;
      if (packed_.coefficients != nullptr) return;
      int8_t* to = packed + (tap * int64_t{Steps(shape_)} + step) * step_bytes + places[k];
      int32_t left = packed_.sums_x ? weight - OffsetOfSummed(op_.Input(In::kWeights).dtype) : w;
      for (int pass = 0; pass < packed_.passes; ++pass, to += pass_bytes) {
        *to = static_cast<int8_t>(ClampToByte(left));
        left -= ClampToByte(left);
      }
      totals.correction += int64_t{w} * XZeroPointOf(op_, *packed_.routines, group.source + c);
    });
    return totals;
  }

  /// Returns the totals of weights that are not known yet: none is more than 255.
  [[nodiscard]] Totals MostTotals() const {
    return {0, int64_t{255} * shape_.Depth() * shape_.taps};
  }

  /// Packs the weights of one channel, and computes its `bias_` and `most_sum_`.
  void PackChannel(const GemmGroup& group, int m, const int* places, int8_t* packed) {
    const bool has_bias = op_.HasInput(In::kBias);
    const int32_t given = has_bias ? op_.Input(In::kBias).As<const int32_t>()[m] : 0;
    const Totals totals =
        weights_.data == nullptr ? MostTotals() : PackWeights(group, m, places, packed);
    const int64_t bias = given - totals.correction;
    bias_ = static_cast<uint32_t>(static_cast<uint64_t>(bias));  // sums wrap
    most_sum_ = static_cast<double>(bias < 0 ? -bias : bias) +
                255.0 * static_cast<double>(totals.magnitudes);
  }

  void PackFactor(int m, int p, const Arrays& arrays) {
    const TensorView& multipliers = op_.Input(In::kMultiplier);
    const int at = multipliers.dims[0] == 1 ? 0 : m;
    const int32_t bits = multipliers.As<const int32_t>()[at];
    arrays.multiplier[p] = bits;
    double factor = 0.0;
    if (packed_.fixed_point) {
      int32_t shift = op_.Input(In::kShift).As<const int8_t>()[at];
      shift = shift < -31 ? -31 : (shift > 30 ? 30 : shift);
      arrays.shift[p] = shift;
      factor = std::ldexp(static_cast<double>(bits), shift - 31);
      // A sum, its factor, their product and what is added to it are floats: four roundings of
      // 2^-24 at most.
      constexpr double kApart = 5.0 / 16777216.0;
      arrays.factor[p] = static_cast<float>(factor * (1.0 + kApart));
      arrays.factor_below[p] = static_cast<float>(factor * (1.0 - kApart));
      arrays.offset[p] =
          shift < 0 && !packed_.once ? static_cast<float>(std::ldexp(1.0, shift - 1)) : 0.0F;
      const double shifted = shift > 0 ? std::ldexp(most_sum_, shift) : most_sum_;
      is_tame_ = is_tame_ && bits >= 0 && shifted < 2147483647.0;
      has_sound_factors_ = has_sound_factors_ && bits != INT32_MIN;
    } else {
      float value;
      std::memcpy(&value, &bits, sizeof value);
      factor = std::fabs(static_cast<double>(value));
      has_sound_factors_ = has_sound_factors_ && std::isfinite(value);
    }
    constexpr double kMostProduct = 4194304.0;  // 2^22
    is_tame_ = is_tame_ && most_sum_ < 2147483647.0 && most_sum_ * factor < kMostProduct;
  }

  const OpCall& op_;
  const GemmShape& shape_;
  const GemmWeightsView& weights_;
  const PackedGemm& packed_;
  uint32_t bias_ = 0;
  double most_sum_ = 0.0;
  bool is_tame_ = true;
  bool has_sound_factors_ = true;
};

EpilogueKind KindOf(const QuantizedOutput& output, bool has_sound_factors) {
  if (output.to == static_cast<int32_t>(DType::kI32)) return EpilogueKind::kSums;
  if (output.to == static_cast<int32_t>(DType::kF32)) return EpilogueKind::kFloats;
  if (!has_sound_factors) return EpilogueKind::kExact;
  return output.rounding == Rounding::kHalfEven ? EpilogueKind::kHalfEven
                                                : EpilogueKind::kFixedPoint;
}

/// Lets `group` point to its part of the arrays and moves them on to the next group's.
void Place(const Sizes& sizes, GemmGroup& group, Arrays& arrays) {
  group.weights = arrays.weights;
  group.bias = arrays.bias;
  group.x_sum_factor = arrays.x_sum_factor;
  group.multiplier = arrays.multiplier;
  group.shift = arrays.shift;
  group.factor = sizes.fixed_point ? arrays.factor : reinterpret_cast<float*>(arrays.multiplier);
  group.factor_below = arrays.factor_below;
  group.offset = arrays.offset;
  const int width = group.width;
  arrays.weights += static_cast<size_t>(width) * sizes.steps * kDepthStep;
  arrays.bias += width;
  if (sizes.sums_x) arrays.x_sum_factor += width;
  if (sizes.has_multiplier) arrays.multiplier += width;
  if (!sizes.fixed_point) return;
  arrays.shift += width;
  arrays.factor += width;
  arrays.factor_below += width;
  arrays.offset += width;
}

}  // namespace

int32_t XZeroPointOf(const OpCall& op, const GemmRoutines& routines, int c) {
  const int32_t as_unsigned = op.Input(In::kX).dtype == DType::kI8 ? 128 : 0;
  return ZeroPointAt(op, In::kXZeroPoint, c) + as_unsigned - (routines.signed_x ? 128 : 0);
}

Status PackGemm(const OpCall& op, const GemmShape& shape, const GemmWeightsView& weights,
                const QuantizedOutput& output, int x_channels, int passes, bool may_sum_x,
                void** shared) {
  const GemmRoutines& routines = GemmRoutinesOf(ChosenInstructions());
  Sizes sizes;
  sizes.sums_x = may_sum_x && passes > 1 && routines.sum_wide != nullptr;
  if (sizes.sums_x) passes = 1;
  ForEachGroup(shape, [&](const GemmGroup& group) {
    ++sizes.groups;
    sizes.width += static_cast<size_t>(group.width);
  });
  sizes.coefficients = static_cast<size_t>(shape.coefficients);
  if (weights.data != nullptr && shape.coefficients == 0) {
    sizes.steps = static_cast<size_t>(passes) * static_cast<size_t>(shape.taps) *
                  static_cast<size_t>(Steps(shape));
  }
  sizes.x_channels = static_cast<size_t>(x_channels);
  sizes.has_multiplier = op.HasInput(In::kMultiplier);
  sizes.fixed_point = sizes.has_multiplier && output.rounding != Rounding::kHalfEven;
  BlockLayout measure(nullptr);
  LayOut(measure, sizes);
  void* memory = AllocateBlock(measure.bytes());
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(measure.bytes()));
  BlockLayout block(memory);
  Arrays arrays = LayOut(block, sizes);
  PackedGemm& packed = *arrays.packed;
  packed.routines = &routines;
  packed.bytes = measure.bytes();
  packed.fixed_point = sizes.fixed_point;
  packed.once = output.rounding == Rounding::kFixedPointOnce;
  packed.passes = passes;
  packed.sums_x = sizes.sums_x;
  packed.groups = arrays.groups;
  packed.padding = arrays.padding;
  packed.coefficients = arrays.coefficients;
  for (int c = 0; c < x_channels; ++c) {
    packed.padding[c] = static_cast<uint8_t>(ZeroPointAt(op, In::kXZeroPoint, c));
  }
  GroupPacker packer(op, shape, weights, packed);
  ForEachGroup(shape, [&](GemmGroup group) {
    const Arrays own = arrays;
    Place(sizes, group, arrays);
    packer.Pack(group, own);
    group.is_tame = packer.is_tame();
    packed.groups[packed.group_count++] = group;
  });
  packed.kind = KindOf(output, packer.has_sound_factors());
  *shared = &packed;
  return OkStatus();
}

GemmEpilogue MakeEpilogue(const PackedGemm& packed, const QuantizedOutput& output) {
  GemmEpilogue epilogue = {};
  epilogue.kind = packed.kind;
  epilogue.fixed_point = packed.fixed_point;
  epilogue.once = packed.once;
  if (epilogue.kind == EpilogueKind::kSums || epilogue.kind == EpilogueKind::kFloats)
    return epilogue;
  const bool is_unsigned = output.to == static_cast<int32_t>(DType::kU8);
  const int32_t less = is_unsigned ? 128 : 0;
  epilogue.zero_point = output.zero_point - less;
  epilogue.min = output.min - less;
  epilogue.max = output.max - less;
  epilogue.flip = is_unsigned ? 0x80808080U : 0U;
  return epilogue;
}

size_t PackedGemmBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const PackedGemm*>(shared)->bytes;
}

}  // namespace tenon::cpu::q8
