#include "backends/fpga/codegen/weight_lines.hpp"

#include <cmath>
#include <cstring>

#include "backends/fpga/codegen/windows.hpp"
#include "backends/fpga/isa/descriptor.hpp"

namespace tenon::fpga {
namespace {

constexpr int kFoldedBytes = 4;

/// A factor as the lanes take it: multiplier * 2^-(31 + shift).
struct Factor {
  uint32_t multiplier = 0;
  uint8_t shift = 0;
};

Factor FactorOf(const Layer& layer, size_t channel) {
  if (layer.kind == LayerKind::kMaxPool) return {1U << 30, 0};  // a half: weights are 2
  const Requantise& requantise = layer.requantise;
  const uint32_t bits = requantise.multipliers[channel];
  if (requantise.rounding != Rounding::kHalfEven) {
    return {bits, static_cast<uint8_t>(-requantise.shifts[channel])};
  }
  float factor = 0;
  std::memcpy(&factor, &bits, sizeof factor);
  int exponent = 0;  // of a fraction from a half to 1
  const float fraction = std::frexp(factor, &exponent);
  return {static_cast<uint32_t>(std::ldexp(fraction, 31)), static_cast<uint8_t>(-exponent)};
}

class LineWriter {
 public:
  LineWriter(const Layer& layer, const PassShape& shape, int group,
             const isa::Parameters& parameters)
      : layer_(layer),
        shape_(shape),
        size_(static_cast<int>(parameters.group)),
        first_(group * size_) {}

  std::vector<WeightLine> Run() {
    if (shape_.windowed) {
      AddWindows();
    } else {
      AddTiles();
    }
    AddFactors();
    return std::move(lines_);
  }

 private:
  [[nodiscard]] int Outputs() const { return layer_.output.channels; }

  void AddTiles() {
    const int step = shape_.folded ? kFoldedColumns : 1;
    for (int row = 0; row < shape_.rows; ++row) {
      for (int column = 0; column < shape_.columns; column += step) {
        for (int group = 0; group < shape_.groups; ++group) AddTile(row, column, group);
      }
    }
  }

  void AddFactors() {
    const size_t begin = lines_.size();
    lines_.resize(begin + isa::Parameters::kFactorLines);
    uint8_t* bytes = lines_[begin].data();
    for (int k = 0; k < size_ && first_ + k < Outputs(); ++k) {
      const auto channel = static_cast<size_t>(first_ + k);
      const Factor factor = FactorOf(layer_, channel);
      const int32_t bias = layer_.kind == LayerKind::kMaxPool ? 0 : layer_.requantise.bias[channel];
      std::memcpy(bytes + 4 * k, &bias, sizeof bias);
      std::memcpy(bytes + 2 * 64 + 4 * k, &factor.multiplier, sizeof factor.multiplier);
      bytes[4 * 64 + k] = factor.shift;
    }
  }

  /// size_ columns, one for each output, of as many inputs.
  void AddTile(int row, int column, int group) {
    const size_t begin = lines_.size();
    lines_.resize(begin + static_cast<size_t>(size_) * static_cast<size_t>(size_) / 64);
    uint8_t* tile = lines_[begin].data();
    for (int output = 0; output < size_ && first_ + output < Outputs(); ++output) {
      for (int lane = 0; lane < size_; ++lane) {
        tile[output * size_ + lane] =
            static_cast<uint8_t>(WeightOf(output, lane, row, column, group));
      }
    }
  }

  /// Tiles in which each output's own taps stand where others have inputs.
  void AddWindows() {
    constexpr int kTaps = isa::kWindowTaps;
    for (int row = 0; row < shape_.rows; row += kTaps) {
      for (int column = 0; column < shape_.columns; column += kTaps) {
        const size_t begin = lines_.size();
        lines_.resize(begin + static_cast<size_t>(size_) * static_cast<size_t>(size_) / 64);
        uint8_t* tile = lines_[begin].data();
        for (int output = 0; output < size_ && first_ + output < Outputs(); ++output) {
          for (int tap = 0; tap < kTaps * kTaps; ++tap) {
            const int r = row + tap / kTaps;
            const int c = column + tap % kTaps;
            if (r >= shape_.rows || c >= shape_.columns) continue;
            tile[output * size_ + tap] = static_cast<uint8_t>(
                layer_.kind == LayerKind::kSum ? 1 : WeightAt(first_ + output, r, c, 0, 1));
          }
        }
      }
    }
  }

  [[nodiscard]] int8_t WeightOf(int output, int lane, int row, int column, int group) const {
    if (shape_.diagonal) {
      if (output != lane) return 0;
      if (layer_.kind == LayerKind::kMaxPool) return 2;
      if (layer_.kind == LayerKind::kSum) return 1;
      return WeightAt(first_ + output, row, column, 0, 1);
    }
    const int tap = shape_.folded ? column + lane / kFoldedBytes : column;
    const int channel = shape_.folded ? lane % kFoldedBytes : group * size_ + lane;
    if (tap >= shape_.columns || channel >= layer_.input.channels) return 0;
    return WeightAt(first_ + output, row, tap, channel, layer_.input.channels);
  }

  [[nodiscard]] int8_t WeightAt(int output, int row, int column, int channel, int channels) const {
    const auto index =
        ((size_t(output) * size_t(shape_.rows) + size_t(row)) * size_t(shape_.columns) +
         size_t(column)) *
            size_t(channels) +
        size_t(channel);
    return layer_.weights[index];
  }

  const Layer& layer_;
  const PassShape& shape_;
  int size_;
  int first_;
  std::vector<WeightLine> lines_;
};

}  // namespace

std::vector<WeightLine> LinesOf(const Layer& layer, const PassShape& shape, int group,
                                const isa::Parameters& parameters) {
  return LineWriter(layer, shape, group, parameters).Run();
}

}  // namespace tenon::fpga
