// The requantisation lanes against the arithmetic of the int8 ops, runtime/ops/requantize.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>

#include "RequantiseLanes.h"
#include "backends/fpga/codegen/lane_factor.hpp"
#include "backends/fpga/codegen/residual_tables.hpp"
#include "clocked.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::fpga {
namespace {

constexpr int kLatency = 15;
constexpr int kMultiplierDelay = 3;

enum Mode : uint8_t { kEven, kFixed, kOnce, kAway, kExactEven };

struct Beat {
  Mode mode;
  int32_t sum;
  int32_t addend;
  LaneFactor factor;
  QuantizedOutput output;
  int32_t expected;
};

/// A float factor below 1 as the lane has it.
LaneFactor FactorOf(float factor) { return LaneFactorOfFloat(factor).value(); }

/// One lane, fed each clock; counts results that differ from what is expected.
class Lane {
 public:
  void Push(const Beat& beat) {
    model_->valid = 1;
    model_->mode = beat.mode;
    model_->zero_point = static_cast<uint8_t>(beat.output.zero_point);
    model_->least = static_cast<uint8_t>(beat.output.min);
    model_->most = static_cast<uint8_t>(beat.output.max);
    model_->sums = static_cast<uint32_t>(beat.sum);
    model_->addends = static_cast<uint32_t>(beat.addend);
    beats_.push_back(beat);
    Step();
  }
  /// Waits for what is under way.
  [[nodiscard]] int Differences() {
    model_->valid = 0;
    for (int i = 1; i < kLatency; ++i) {
      beats_.push_back({});
      Step();
    }
    return differences_;
  }

 private:
  void Step() {
    const auto count = static_cast<int>(beats_.size());
    if (count > kMultiplierDelay) {
      const LaneFactor& factor = beats_[static_cast<size_t>(count - 1 - kMultiplierDelay)].factor;
      model_->multipliers = factor.multiplier;
      model_->shifts = static_cast<uint8_t>(factor.shift);
    }
    Clock(*model_);
    if (count < kLatency) {
      if (model_->valid_out != 0) ++differences_;
      return;
    }
    const Beat beat = beats_.front();
    beats_.pop_front();
    if (model_->valid_out == 0) ++differences_;
    const auto result = static_cast<int8_t>(model_->results);
    if (result == beat.expected) return;
    if (differences_++ > 2) return;
    MESSAGE("mode ", int{beat.mode}, " sum ", beat.sum, " + ", beat.addend, " multiplier ",
            beat.factor.multiplier, " shift ", beat.factor.shift, " gives ", int{result}, ", not ",
            beat.expected);
  }

  std::unique_ptr<RequantiseLanes> model_ = std::make_unique<RequantiseLanes>();
  std::deque<Beat> beats_;
  int differences_ = 0;
};

/// Makes sums, factors, zero points and bounds; results of all sizes, many of them close to halves.
class Cases {
 public:
  explicit Cases(uint32_t seed) : numbers_(seed) {}

  Beat Next(Mode mode) {
    Beat beat{};
    beat.mode = mode;
    beat.output = Output();
    float factor = 0.0F;
    double real = 0.0;
    if (mode == kEven) {
      factor = std::ldexp(1.0F + static_cast<float>(numbers_.Bits(23)) * 0x1p-23F,
                          -1 - numbers_.Below(numbers_.Below(2) == 0 ? 12 : 40));
      if (numbers_.Below(8) == 0) factor = std::ldexp(1.0F, -1 - numbers_.Below(41));
      if (numbers_.Below(8) == 0) factor = std::nextafter(factor, 1.0F);
      beat.factor = FactorOf(factor);
      real = factor;
    } else {
      const int shifts = mode == kFixed || mode == kOnce ? 32 : 64;
      beat.factor = {Multiplier(), numbers_.Below(numbers_.Below(2) == 0 ? 10 : shifts)};
      if (mode == kExactEven) beat.factor.multiplier = 1U << 30;
      real = std::ldexp(static_cast<double>(beat.factor.multiplier), -31 - beat.factor.shift);
    }
    const int32_t sum = Sum(real);
    beat.addend = static_cast<int32_t>(numbers_.Signed(32));
    if (numbers_.Below(2) == 0) beat.addend = 0;
    beat.sum =
        static_cast<int32_t>(static_cast<uint32_t>(sum) - static_cast<uint32_t>(beat.addend));
    beat.expected = Saturate(beat.output, Rounded(mode, sum, factor, beat.factor));
    return beat;
  }

 private:
  QuantizedOutput Output() {
    QuantizedOutput output;
    output.zero_point = static_cast<int32_t>(numbers_.Signed(8));
    output.min = -128;
    output.max = 127;
    if (numbers_.Below(4) == 0) {
      const auto a = static_cast<int32_t>(numbers_.Signed(8));
      const auto b = static_cast<int32_t>(numbers_.Signed(8));
      output.min = std::min(a, b);
      output.max = std::max(a, b);
    }
    return output;
  }

  uint32_t Multiplier() {
    switch (numbers_.Below(12)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return INT32_MAX;
      case 3:
        return 1 << 30;
      case 4:
        return static_cast<uint32_t>(numbers_.Bits(numbers_.Below(31)));
      default:
        return static_cast<uint32_t>(numbers_.Bits(30) | 1U << 30);
    }
  }

  int32_t Sum(double factor) {
    const int kind = numbers_.Below(8);
    if (kind == 0) return static_cast<int32_t>(numbers_.Signed(32));
    if (kind == 1) return static_cast<int32_t>(numbers_.Signed(1 + numbers_.Below(31) + 1));
    if (kind == 2) {  // where a float's last bits are cut off
      const auto bits = static_cast<int64_t>(1) << (23 + numbers_.Below(9));
      const int64_t sum = bits + numbers_.Below(1024) - 512;
      return static_cast<int32_t>(
          std::clamp<int64_t>(numbers_.Below(2) == 0 ? sum : -sum, INT32_MIN, INT32_MAX));
    }
    const double half = numbers_.Below(520) - 260 + 0.5;
    const double sum = std::nearbyint(half / std::max(factor, 1e-18)) + numbers_.Below(5) - 2;
    return static_cast<int32_t>(std::clamp<double>(sum, INT32_MIN, INT32_MAX));
  }

  static int32_t Rounded(Mode mode, int32_t sum, float factor, const LaneFactor& fixed) {
    const auto multiplier = static_cast<int32_t>(fixed.multiplier);
    if (mode == kEven) return RoundHalfEven(static_cast<float>(sum) * factor);
    if (mode == kFixed) return FixedPointMultiply(sum, multiplier, -fixed.shift);
    if (mode == kOnce) return FixedPointMultiplyOnce(sum, multiplier, -fixed.shift);
    if (mode == kAway) {  // of the exact product; DivideHalfAway takes 32 bits of it
      const auto product = static_cast<__int128>(sum) * multiplier;
      const __int128 half = static_cast<__int128>(1) << (30 + fixed.shift);
      const __int128 size = ((product < 0 ? -product : product) + half) >> (31 + fixed.shift);
      return static_cast<int32_t>(product < 0 ? -size : size);
    }
    return static_cast<int32_t>(
        std::nearbyint(std::ldexp(static_cast<double>(sum), -1 - fixed.shift)));
  }

  Numbers numbers_;
};

TEST_CASE("Requantise lane: every rounding gives the bits of the int8 ops") {
  for (const Mode mode : {kEven, kFixed, kOnce, kAway, kExactEven}) {
    CAPTURE(int{mode});
    Lane lane;
    Cases cases(uint32_t{mode} + 1);
    for (int i = 0; i < 400000; ++i) lane.Push(cases.Next(mode));
    CHECK(lane.Differences() == 0);
  }
}

TEST_CASE("Requantise lane: roundings, zero points and bounds may change with each sum") {
  Lane lane;
  Cases cases(6);
  Numbers numbers(7);
  for (int i = 0; i < 400000; ++i) lane.Push(cases.Next(static_cast<Mode>(numbers.Below(5))));
  CHECK(lane.Differences() == 0);
}

TEST_CASE("Requantise lane: floats are rounded to 24 bits before they are rounded to integers") {
  // Of 1,000 factors all sums that are closest to halves.
  Lane lane;
  Numbers numbers(8);
  for (int i = 0; i < 1000; ++i) {
    const float factor =
        std::ldexp(1.0F + static_cast<float>(numbers.Bits(23)) * 0x1p-23F, -16 - numbers.Below(16));
    for (int half = -130; half < 130; ++half) {
      const double near = std::nearbyint((half + 0.5) / double{factor});
      if (std::fabs(near) > INT32_MAX - 4.0) continue;
      for (int off = -1; off <= 1; ++off) {
        Beat beat{};
        beat.mode = kEven;
        beat.sum = static_cast<int32_t>(near) + off;
        beat.factor = FactorOf(factor);
        beat.output.min = -128;
        beat.output.max = 127;
        beat.expected = Saturate(beat.output, RoundHalfEven(static_cast<float>(beat.sum) * factor));
        lane.Push(beat);
      }
    }
  }
  CHECK(lane.Differences() == 0);
}

TEST_CASE(
    "Requantise lane: halves of a float's last bit go to even before they are seen as halves") {
  // Products of 25 bits that are half a last bit above 0.5, 2.5, 4.5 ...: floats end on these
  // halves, which go down.
  Lane lane;
  int cases = 0;
  for (int64_t whole = 0; whole < 128; whole += 2) {
    int bits = 0;
    while (whole >> bits != 0) ++bits;
    const int64_t product = ((2 * whole + 1) << (24 - bits)) + 1;  // times 2^-(25 - bits)
    for (int64_t divisor = 3; divisor < 5000; divisor += 2) {
      if (product % divisor != 0 || product / divisor >= 1 << 24) continue;
      const float factor = std::ldexp(static_cast<float>(divisor), bits - 25);
      Beat beat{};
      beat.mode = kEven;
      beat.sum = static_cast<int32_t>(product / divisor);
      beat.factor = FactorOf(factor);
      beat.output.min = -128;
      beat.output.max = 127;
      beat.expected = static_cast<int32_t>(whole);
      REQUIRE(RoundHalfEven(static_cast<float>(beat.sum) * factor) == whole);
      lane.Push(beat);
      ++cases;
    }
  }
  CHECK(cases > 50);
  CHECK(lane.Differences() == 0);
}

TEST_CASE("Requantise lane: an average is its sum times a reciprocal rounded up, for every sum") {
  // 2 to 64 and the window of 15 x 15: every sum of as many bytes less their zero point.
  Lane lane;
  for (int count = 1; count <= 225; count = count == 64 ? 225 : count + 1) {
    int shift = 0;
    while ((int64_t{count} << 1) > (int64_t{1} << (shift + 1))) ++shift;
    const int64_t multiplier = ((int64_t{1} << (31 + shift)) + count - 1) / count;
    if (multiplier > INT32_MAX) continue;  // 1 is not below 1
    for (int sum = -255 * count; sum <= 255 * count; sum += count == 49 ? 1 : 7) {
      Beat beat{};
      beat.mode = kAway;
      beat.sum = sum;
      beat.factor = {static_cast<uint32_t>(multiplier), shift};
      beat.output.min = -128;
      beat.output.max = 127;
      beat.output.zero_point = -3;
      beat.expected = Saturate(beat.output, DivideHalfAway(sum, count));
      lane.Push(beat);
    }
  }
  CHECK(lane.Differences() == 0);
}

/// Every pair of bytes: both tables' entries are added by the lane. No tables: no pairs.
int AddAllPairs(const QuantizedBinaryAttributes& attributes, Lane& lane) {
  const auto tables = MakeAddTables(attributes, {});
  if (!tables) return 0;
  const bool is_fixed = attributes.output.rounding == Rounding::kFixedPoint;
  Beat beat{};
  beat.mode = is_fixed ? kFixed : kExactEven;
  const QuantizedScale& scale = attributes.output_scale;
  beat.factor = is_fixed ? LaneFactorOfFixedPoint(scale.multiplier, scale.shift).value()
                         : LaneFactorOfFraction(tables->fraction_bits).value();
  beat.output = attributes.output;
  for (int x = 0; x < 256; ++x) {
    for (int y = 0; y < 256; ++y) {
      beat.sum = tables->x[static_cast<size_t>(x)];
      beat.addend = tables->y[static_cast<size_t>(y)];
      beat.expected = ReferenceSum(attributes, x - 128, y - 128);
      lane.Push(beat);
    }
  }
  return 1;
}

TEST_CASE("Requantise lane: residual sums by tables are those of the op, for every pair of bytes") {
  Lane lane;
  std::mt19937 random(9);
  std::uniform_real_distribution<float> scale(0.001F, 0.1F);
  int added = 0;
  for (int i = 0; i < 12; ++i) {
    QuantizedBinaryAttributes attributes;
    attributes.x_zero_point = static_cast<int32_t>(random() % 256) - 128;
    attributes.y_zero_point = static_cast<int32_t>(random() % 256) - 128;
    attributes.output.zero_point = static_cast<int32_t>(random() % 256) - 128;
    attributes.output.min = -128;
    attributes.output.max = 127;
    attributes.x_scale.scale = scale(random);
    attributes.y_scale.scale = scale(random);
    attributes.output_scale.scale = scale(random);
    attributes.output.rounding = i % 2 == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
    if (i % 2 != 0) {  // as TFLite has it: operands with 20 more bits
      attributes.left_shift = 20;
      for (QuantizedScale* of : {&attributes.x_scale, &attributes.y_scale}) {
        of->multiplier = static_cast<int32_t>(random() >> 2 | 1U << 30);
        of->shift = -static_cast<int32_t>(random() % 3);
      }
      attributes.output_scale.multiplier = static_cast<int32_t>(random() >> 2 | 1U << 30);
      attributes.output_scale.shift = -17 - static_cast<int32_t>(random() % 4);
    }
    added += AddAllPairs(attributes, lane);
  }
  CHECK(added >= 10);
  CHECK(lane.Differences() == 0);
}

TEST_CASE("LaneFactor: what the lane does not do is refused") {
  CHECK_FALSE(LaneFactorOfFloat(1.0F).has_value());
  CHECK_FALSE(LaneFactorOfFloat(-0.5F).has_value());
  CHECK_FALSE(LaneFactorOfFloat(std::nanf("")).has_value());
  CHECK(LaneFactorOfFloat(1e-30F).value().multiplier == 0);
  CHECK_FALSE(LaneFactorOfFixedPoint(1 << 30, 1).has_value());
  CHECK_FALSE(LaneFactorOfFixedPoint(-1, 0).has_value());
  CHECK(LaneFactorOfFixedPoint(1 << 30, -100).value().shift == 31);
  CHECK_FALSE(LaneFactorOfFraction(0).has_value());
}

}  // namespace
}  // namespace tenon::fpga
