#include "backends/fpga/isa/interpret.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/fpga/isa/reach.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::fpga::isa {
namespace {

constexpr uint32_t kLineBytes = 64;
constexpr uint32_t kFoldedBytes = 4;

/// The integer nearest to sum * multiplier * 2^-(31 + shift), of the exact product.
int32_t RoundExact(int32_t sum, uint32_t multiplier, uint32_t shift, bool to_even) {
  const int bits = 31 + static_cast<int>(shift);
  const uint64_t product = static_cast<uint64_t>(std::abs(int64_t{sum})) * multiplier;
  if (bits > 63) return 0;  // the product has 62 bits
  const uint64_t whole = product >> bits;
  const uint64_t rest = product - (whole << bits);
  const uint64_t half = uint64_t{1} << (bits - 1);
  const bool up = rest > half || (rest == half && (!to_even || whole % 2 != 0));
  const auto size = static_cast<int32_t>(std::min<uint64_t>(whole + (up ? 1 : 0), 1U << 24));
  return sum < 0 ? -size : size;
}

int32_t Round(RoundingMode mode, int32_t sum, uint32_t multiplier, uint32_t shift) {
  const auto factor = static_cast<int32_t>(multiplier);
  switch (mode) {
    case RoundingMode::kHalfEven:
      return RoundHalfEven(static_cast<float>(sum) * std::ldexp(static_cast<float>(multiplier),
                                                                -31 - static_cast<int>(shift)));
    case RoundingMode::kFixedPoint:
      return FixedPointMultiply(sum, factor, -static_cast<int32_t>(shift));
    case RoundingMode::kFixedPointOnce:
      return FixedPointMultiplyOnce(sum, factor, -static_cast<int32_t>(shift));
    case RoundingMode::kHalfAway:
      return RoundExact(sum, multiplier, shift, /*to_even=*/false);
    case RoundingMode::kExactHalfEven:
      break;
  }
  return RoundExact(sum, multiplier, shift, /*to_even=*/true);
}

int8_t Bound(int32_t rounded, const OutputBounds& bounds) {
  const int64_t value = int64_t{rounded} + bounds.zero_point;
  if (value < bounds.least) return static_cast<int8_t>(bounds.least);
  return static_cast<int8_t>(std::min<int64_t>(value, bounds.most));
}

class Layer {
 public:
  Layer(const Descriptor& descriptor, const Memory& memory, Chip& chip)
      : d_(descriptor), memory_(memory), chip_(chip), group_(chip.parameters.group) {}

  Error Run() {
    if (!FitsChip(d_, chip_.parameters) || !FindMemory()) return Error::kAxi;
    if (d_.load.used) Load();
    if (d_.op != LayerOp::kTransfer) Compute();
    if (d_.store.used) Store();
    return Error::kNone;
  }

 private:
  [[nodiscard]] uint64_t InPixels() const { return uint64_t{d_.in_height} * d_.in_width; }
  [[nodiscard]] uint64_t OutPixels() const { return uint64_t{d_.out_height} * d_.out_width; }

  /// Sets `data` to where a reach begins; false if its base register does not lead so far.
  bool Find(const MemoryReach& reach, uint8_t*& data) const {
    if (reach.bytes == 0) return true;
    const Region& region = memory_.bases[reach.address.base_register];
    if (reach.address.offset > region.bytes || reach.bytes > region.bytes - reach.address.offset) {
      return false;
    }
    data = region.data + reach.address.offset;
    return true;
  }

  bool FindMemory() {
    const Reach reach = ReachOf(d_);
    return Find(reach.load, load_) && Find(reach.store, store_) && Find(reach.weights, weights_) &&
           Find(reach.tables, tables_);
  }

  /// Channels beyond the last of a group become what zeros in memory would.
  void Load() {
    const uint32_t width = d_.folded ? kFoldedBytes : group_;
    const uint32_t channels = (d_.load.channels + width - 1) / width * width;
    for (uint64_t pixel = 0; pixel < InPixels(); ++pixel) {
      const uint8_t* from = load_ + pixel * d_.load.pitch;
      for (uint32_t c = 0; c < channels; ++c) {
        const int flip = d_.load.flip ? 0x80 : 0;
        const int byte = (c < d_.load.channels ? from[c] : 0) ^ flip;
        const uint64_t place =
            d_.folded ? uint64_t{d_.input} * group_ + pixel * kFoldedBytes + c
                      : (d_.input + uint64_t{c / group_} * d_.in_group_words + pixel) * group_ +
                            c % group_;
        chip_.maps[place] = static_cast<int8_t>(byte);
      }
    }
  }

  void Store() {
    for (uint64_t pixel = 0; pixel < OutPixels(); ++pixel) {
      for (uint32_t c = 0; c < d_.store.channels; ++c) {
        const int8_t byte =
            chip_.maps[(d_.output + c / group_ * OutPixels() + pixel) * group_ + c % group_];
        store_[pixel * d_.store.pitch + c] =
            static_cast<uint8_t>(byte ^ (d_.store.flip ? -128 : 0));
      }
    }
  }

  /// Byte `place` of a line of weights.
  [[nodiscard]] uint8_t LineByte(uint64_t line, uint32_t place) const {
    return weights_[uint64_t{place / 16} * d_.plane_bytes + line * 16 + place % 16];
  }
  [[nodiscard]] uint32_t FactorWord(uint64_t line, uint32_t channel) const {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t place = channel * 4 + i;
      word |= uint32_t{LineByte(line + place / kLineBytes, place % kLineBytes)} << (8 * i);
    }
    return word;
  }

  /// What lane `lane` of the array gets from a pixel's window in a pass.
  [[nodiscard]] int8_t Input(uint32_t pixel, uint32_t row, uint32_t column, uint32_t group,
                             uint32_t lane) const {
    const Window& w = d_.window;
    const int64_t y = int64_t{pixel / d_.out_width} * w.stride_height +
                      int64_t{row} * w.dilation_height - w.pad_top;
    int64_t x = int64_t{pixel % d_.out_width} * w.stride_width +
                int64_t{column} * w.dilation_width - w.pad_left;
    if (d_.folded) x += lane / kFoldedBytes;
    if (y < 0 || y >= d_.in_height || x < 0 || x >= d_.in_width) {
      return static_cast<int8_t>(d_.padding);
    }
    const uint64_t in_pixel = static_cast<uint64_t>(y) * d_.in_width + static_cast<uint64_t>(x);
    if (d_.folded) {
      return chip_
          .maps[uint64_t{d_.input} * group_ + in_pixel * kFoldedBytes + lane % kFoldedBytes];
    }
    return chip_.maps[(d_.input + uint64_t{group} * d_.in_group_words + in_pixel) * group_ + lane];
  }

  void Compute() {
    // A residual or an input may lie where the output does: block by block, as the accelerator.
    for (uint32_t outer = 0; outer < (d_.by_block ? d_.blocks : d_.out_groups); ++outer) {
      for (uint32_t inner = 0; inner < (d_.by_block ? d_.out_groups : d_.blocks); ++inner) {
        const uint32_t group = d_.by_block ? inner : outer;
        const uint32_t block = d_.by_block ? outer : inner;
        const uint64_t first = uint64_t{block} * d_.block_pixels;
        const uint64_t end = std::min<uint64_t>(first + d_.block_pixels, OutPixels());
        for (uint64_t pixel = first; pixel < end; ++pixel) {
          Finish(group, static_cast<uint32_t>(pixel));
        }
      }
    }
  }

  void Finish(uint32_t group, uint32_t pixel) {
    const uint64_t tiles = uint64_t{group} * d_.group_lines;
    const uint64_t factors = tiles + d_.group_lines - Parameters::kFactorLines;
    const std::vector<uint32_t> sums = Sums(group, pixel, tiles);
    for (uint32_t c = 0; c < group_; ++c) {
      const auto sum = static_cast<int32_t>(sums[c] + FactorWord(factors, c));
      const uint32_t multiplier = FactorWord(factors + 2, c) & 0x7FFFFFFF;
      const uint32_t shift = LineByte(factors + 4, c) & 63;
      int8_t byte = Bound(Round(d_.rounding, sum, multiplier, shift), d_.bounds);
      if (d_.has_table) byte = static_cast<int8_t>(tables_[static_cast<size_t>(byte + 128)]);
      const uint64_t word = uint64_t{group} * d_.out_group_words + pixel;
      if (d_.has_residual) byte = Added(byte, chip_.maps[(d_.residual + word) * group_ + c]);
      chip_.maps[(d_.output + word) * group_ + c] = byte;
    }
  }

  int8_t Added(int8_t own, int8_t other) const {
    uint32_t x = 0;
    uint32_t y = 0;
    std::memcpy(&x, tables_ + 256 + 4 * (own + 128), sizeof x);
    std::memcpy(&y, tables_ + 256 + 1024 + 4 * (other + 128), sizeof y);
    const auto sum = static_cast<int32_t>(x + y);
    return Bound(Round(d_.residual_rounding, sum, d_.residual_multiplier, d_.residual_shift),
                 d_.residual_bounds);
  }

  [[nodiscard]] std::vector<uint32_t> Sums(uint32_t group, uint32_t pixel, uint64_t line) const {
    std::vector<uint32_t> sums(group_, 0);
    if (d_.windowed) {
      AddWindows(group, pixel, line, sums);
      return sums;
    }
    std::vector<int8_t> input(group_);
    const uint32_t step = d_.folded ? 8 : 1;
    bool is_first = true;
    for (uint32_t row = 0; row < d_.window.kernel_height; ++row) {
      for (uint32_t column = 0; column < d_.window.kernel_width; column += step) {
        const uint32_t groups = d_.op == LayerOp::kConv ? d_.in_groups : 1;
        for (uint32_t g = 0; g < groups; ++g, line += chip_.parameters.TileLines()) {
          const uint32_t in_group = d_.op == LayerOp::kConv ? g : group;
          for (uint32_t i = 0; i < group_; ++i) input[i] = Input(pixel, row, column, in_group, i);
          AddTile(line, input, is_first, sums);
          is_first = false;
        }
      }
    }
    return sums;
  }

  /// Each pass has nine taps of each channel; those beyond the kernel have weights of 0.
  void AddWindows(uint32_t group, uint32_t pixel, uint64_t line,
                  std::vector<uint32_t>& sums) const {
    for (uint32_t row = 0; row < d_.window.kernel_height; row += kWindowTaps) {
      for (uint32_t column = 0; column < d_.window.kernel_width; column += kWindowTaps) {
        for (uint32_t c = 0; c < group_; ++c) {
          for (uint32_t tap = 0; tap < kWindowTaps * kWindowTaps; ++tap) {
            const uint32_t place = c * group_ + tap;
            const auto weight =
                static_cast<int8_t>(LineByte(line + place / kLineBytes, place % kLineBytes));
            if (weight == 0) continue;
            const int8_t input =
                Input(pixel, row + tap / kWindowTaps, column + tap % kWindowTaps, group, c);
            sums[c] += static_cast<uint32_t>(input * weight);
          }
        }
        line += chip_.parameters.TileLines();
      }
    }
  }

  void AddTile(uint64_t line, const std::vector<int8_t>& input, bool is_first,
               std::vector<uint32_t>& sums) const {
    for (uint32_t c = 0; c < group_; ++c) {
      int32_t products = 0;
      for (uint32_t i = 0; i < group_; ++i) {
        const uint32_t place = c * group_ + i;
        const auto weight =
            static_cast<int8_t>(LineByte(line + place / kLineBytes, place % kLineBytes));
        products += input[i] * weight;
      }
      if (d_.op == LayerOp::kMaxPool && !is_first) {
        sums[c] = static_cast<uint32_t>(std::max(static_cast<int32_t>(sums[c]), products));
      } else {
        sums[c] = (is_first ? 0 : sums[c]) + static_cast<uint32_t>(products);
      }
    }
  }

  const Descriptor& d_;
  const Memory& memory_;
  Chip& chip_;
  const uint32_t group_;
  uint8_t* load_ = nullptr;
  uint8_t* store_ = nullptr;
  uint8_t* weights_ = nullptr;
  uint8_t* tables_ = nullptr;
};

}  // namespace

Outcome Interpret(const uint8_t* code, uint64_t code_bytes, const Memory& memory, Chip& chip) {
  Outcome outcome;
  for (;; ++outcome.descriptor) {
    const uint64_t begin = uint64_t{outcome.descriptor} * kDescriptorBytes;
    if (begin + kDescriptorBytes > code_bytes) {
      outcome.status = MakeError(StatusCode::kCorruptPlan, "the code has no last descriptor");
      outcome.error = Error::kDescriptor;
      return outcome;
    }
    uint32_t words[kDescriptorWords];
    std::memcpy(words, code + begin, sizeof words);
    Descriptor descriptor;
    outcome.status = Decode(words, descriptor);
    if (!outcome.status.ok()) {
      outcome.error = Error::kDescriptor;
      return outcome;
    }
    outcome.error = Layer(descriptor, memory, chip).Run();
    if (outcome.error != Error::kNone) {
      outcome.status =
          MakeError(StatusCode::kCorruptPlan, "a descriptor reaches outside of memory");
      return outcome;
    }
    if (descriptor.last) return outcome;
  }
}

}  // namespace tenon::fpga::isa
