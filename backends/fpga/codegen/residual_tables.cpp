#include "backends/fpga/codegen/residual_tables.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/ops/requantize.hpp"

namespace tenon::fpga {
namespace {

constexpr int kBytes = 256;
/// Sums beyond this are as good as infinite: entries are clamped to less.
constexpr int64_t kFar = int64_t{1} << 40;

int32_t FixedSum(const QuantizedBinaryAttributes& attributes, int32_t x, int32_t y) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) +
                              (attributes.function == BinaryFunction::kSub
                                   ? 0U - static_cast<uint32_t>(y)
                                   : static_cast<uint32_t>(y)));
}

int32_t OnCommonScale(const QuantizedBinaryAttributes& attributes, const QuantizedScale& scale,
                      int32_t value) {
  const auto shifted =
      static_cast<int32_t>(static_cast<uint32_t>(value) << (attributes.left_shift & 31));
  return FixedPointMultiply(shifted, scale.multiplier, scale.shift);
}

/// The sums, with `bits` behind the point, that are stored as `result`: [lowest, highest].
struct Sums {
  int64_t lowest;
  int64_t highest;
};
Sums SumsOf(const QuantizedOutput& output, int32_t result, int bits) {
  const int64_t whole = int64_t{result} - output.zero_point;
  const int64_t middle = whole * (int64_t{1} << bits);
  const int64_t half = bits == 0 ? 0 : int64_t{1} << (bits - 1);
  const int64_t inside = bits > 0 && whole % 2 != 0 ? half - 1 : half;  // halves go to even
  return {result <= output.min ? -kFar : middle - inside,
          result >= output.max ? kFar : middle + inside};
}

/// Which sums each pair may have, for the shortest paths below.
struct Pairs {
  std::vector<Sums> sums = std::vector<Sums>(size_t{kBytes} * kBytes);
  [[nodiscard]] const Sums& At(int x, int y) const {
    return sums[static_cast<size_t>(x) * kBytes + static_cast<size_t>(y)];
  }
};

Pairs PairsOf(const QuantizedBinaryAttributes& attributes, const AddOffsets& offsets, int bits) {
  Pairs pairs;
  for (int x = 0; x < kBytes; ++x) {
    for (int y = 0; y < kBytes; ++y) {
      const int32_t result = ReferenceSum(attributes, x - 128 + offsets.x, y - 128 + offsets.y);
      pairs.sums[static_cast<size_t>(x) * kBytes + static_cast<size_t>(y)] =
          SumsOf(attributes.output, result, bits);
    }
  }
  return pairs;
}

/// Moves entries until every pair's sum is where it should be. With x and -y as the unknowns each
/// pair bounds a difference of two, so that moving what is violated finds a solution in as many
/// rounds as there are unknowns, or there is none (Bellman and Ford).
bool Solve(const Pairs& pairs, std::array<int64_t, kBytes>& xs, std::array<int64_t, kBytes>& ys) {
  for (int round = 0; round <= 2 * kBytes; ++round) {
    bool moved = false;
    for (int x = 0; x < kBytes; ++x) {
      for (int y = 0; y < kBytes; ++y) {
        const Sums& sums = pairs.At(x, y);
        int64_t& ex = xs[static_cast<size_t>(x)];
        int64_t& ey = ys[static_cast<size_t>(y)];
        if (ex + ey > sums.highest) {
          ex = sums.highest - ey;
          moved = true;
        } else if (ex + ey < sums.lowest) {
          ey = sums.lowest - ex;
          moved = true;
        }
      }
    }
    if (!moved) return true;
  }
  return false;
}

std::optional<AddTables> HalfEvenTables(const QuantizedBinaryAttributes& attributes,
                                        const AddOffsets& offsets) {
  const double sign = attributes.function == BinaryFunction::kSub ? -1.0 : 1.0;
  const double x_factor = double{attributes.x_scale.scale} / attributes.output_scale.scale;
  const double y_factor = sign * double{attributes.y_scale.scale} / attributes.output_scale.scale;
  // As many bits as leave the largest entry, and the sum of two, in 31 bits.
  int bits = kMostFractionBits;
  const double largest = 256 * std::max(std::fabs(x_factor), std::fabs(y_factor));
  if (!(largest < double{1 << 29})) return {};
  while (bits > 0 && largest * static_cast<double>(int64_t{1} << bits) >= double{1 << 29}) --bits;
  if (bits == 0) return {};
  const Pairs pairs = PairsOf(attributes, offsets, bits);
  std::array<int64_t, kBytes> xs{};
  std::array<int64_t, kBytes> ys{};
  const double one = static_cast<double>(int64_t{1} << bits);
  for (int i = 0; i < kBytes; ++i) {
    const auto k = static_cast<size_t>(i);
    xs[k] = std::llround((i - 128 + offsets.x - attributes.x_zero_point) * x_factor * one);
    ys[k] = std::llround((i - 128 + offsets.y - attributes.y_zero_point) * y_factor * one);
  }
  if (!Solve(pairs, xs, ys)) return {};
  AddTables tables;
  tables.fraction_bits = bits;
  for (size_t i = 0; i < kBytes; ++i) {
    if (std::llabs(xs[i]) > INT32_MAX / 2 || std::llabs(ys[i]) > INT32_MAX / 2) return {};
    tables.x[i] = static_cast<int32_t>(xs[i]);
    tables.y[i] = static_cast<int32_t>(ys[i]);
  }
  return tables;
}

std::optional<AddTables> FixedPointTables(const QuantizedBinaryAttributes& attributes,
                                          const AddOffsets& offsets) {
  if (attributes.output_scale.shift > 0) return {};  // the accelerator shifts to the right only
  AddTables tables;
  for (int i = 0; i < kBytes; ++i) {
    const int32_t x = i - 128 + offsets.x - attributes.x_zero_point;
    const int32_t y = i - 128 + offsets.y - attributes.y_zero_point;
    tables.x[static_cast<size_t>(i)] = OnCommonScale(attributes, attributes.x_scale, x);
    tables.y[static_cast<size_t>(i)] =
        FixedSum(attributes, 0, OnCommonScale(attributes, attributes.y_scale, y));
  }
  return tables;
}

}  // namespace

int32_t ReferenceSum(const QuantizedBinaryAttributes& attributes, int32_t x, int32_t y) {
  const int32_t from_x = x - attributes.x_zero_point;
  const int32_t from_y = y - attributes.y_zero_point;
  if (attributes.output.rounding == Rounding::kHalfEven) {
    const float first = static_cast<float>(from_x) * attributes.x_scale.scale;
    const float second = static_cast<float>(from_y) * attributes.y_scale.scale;
    const float sum = attributes.function == BinaryFunction::kSub ? first - second : first + second;
    return Saturate(attributes.output, RoundHalfEven(sum / attributes.output_scale.scale));
  }
  const int32_t sum = FixedSum(attributes, OnCommonScale(attributes, attributes.x_scale, from_x),
                               OnCommonScale(attributes, attributes.y_scale, from_y));
  return Saturate(attributes.output, FixedPointMultiply(sum, attributes.output_scale.multiplier,
                                                        attributes.output_scale.shift));
}

std::optional<AddTables> MakeAddTables(const QuantizedBinaryAttributes& attributes,
                                       const AddOffsets& offsets) {
  return attributes.output.rounding == Rounding::kHalfEven ? HalfEvenTables(attributes, offsets)
                                                           : FixedPointTables(attributes, offsets);
}

}  // namespace tenon::fpga
