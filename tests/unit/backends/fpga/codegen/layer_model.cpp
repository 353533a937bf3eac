#include "tests/unit/backends/fpga/codegen/layer_model.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/ops/requantize.hpp"

namespace tenon::test {
namespace {

using fpga::FeatureMap;
using fpga::Layer;
using fpga::LayerKind;
using fpga::LayerProgram;
using fpga::Requantise;
using fpga::Residual;

int32_t Bound(int32_t value, int32_t zero_point, int32_t low, int32_t high) {
  return static_cast<int32_t>(std::clamp<int64_t>(int64_t{value} + zero_point, low, high));
}

int32_t Requantised(const Requantise& requantise, uint32_t sum, size_t channel) {
  const auto total = static_cast<int32_t>(sum + static_cast<uint32_t>(requantise.bias[channel]));
  const uint32_t multiplier = requantise.multipliers[channel];
  int32_t rounded = 0;
  if (requantise.rounding == Rounding::kHalfEven) {
    float factor = 0;
    std::memcpy(&factor, &multiplier, sizeof factor);
    rounded = RoundHalfEven(static_cast<float>(total) * factor);
  } else if (requantise.rounding == Rounding::kFixedPoint) {
    rounded =
        FixedPointMultiply(total, static_cast<int32_t>(multiplier), requantise.shifts[channel]);
  } else {
    rounded =
        FixedPointMultiplyOnce(total, static_cast<int32_t>(multiplier), requantise.shifts[channel]);
  }
  return Bound(rounded, requantise.zero_point, requantise.min, requantise.max);
}

int32_t ShiftHalfEven(int32_t value, int bits) {
  if (bits == 0) return value;
  const int32_t whole = value >> bits;
  const int32_t rest = value - whole * (1 << bits);
  const int32_t half = 1 << (bits - 1);
  return whole + (rest > half || (rest == half && whole % 2 != 0) ? 1 : 0);
}

int8_t Added(const Residual& residual, int8_t own, int8_t other) {
  const int32_t sum = residual.tables.x[static_cast<size_t>(own + 128)] +
                      residual.tables.y[static_cast<size_t>(other + 128)];
  const int32_t rounded = residual.rounding == Rounding::kHalfEven
                              ? ShiftHalfEven(sum, residual.tables.fraction_bits)
                              : FixedPointMultiply(sum, residual.multiplier, residual.shift);
  return static_cast<int8_t>(Bound(rounded, residual.zero_point, residual.min, residual.max));
}

class LayerRun {
 public:
  LayerRun(const LayerProgram& program, const Layer& layer, std::vector<MapBytes>& maps)
      : layer_(layer),
        in_(program.maps[static_cast<size_t>(layer.input.map)]),
        out_(program.maps[static_cast<size_t>(layer.output.map)]),
        input_(maps[static_cast<size_t>(layer.input.map)]),
        output_(maps[static_cast<size_t>(layer.output.map)]),
        others_(layer.residual ? &maps[static_cast<size_t>(layer.residual->other.map)] : nullptr),
        other_(layer.residual ? &program.maps[static_cast<size_t>(layer.residual->other.map)]
                              : nullptr) {}

  void Run() {
    for (int y = 0; y < out_.height; ++y) {
      for (int x = 0; x < out_.width; ++x) {
        for (int c = 0; c < layer_.output.channels; ++c) {
          const auto pixel = static_cast<size_t>(y * out_.width + x);
          int8_t value = Value(y, x, c);
          if (layer_.table) value = (*layer_.table)[static_cast<size_t>(value + 128)];
          if (layer_.residual) {
            value = Added(*layer_.residual, value,
                          (*others_)[pixel * static_cast<size_t>(other_->channels) +
                                     static_cast<size_t>(layer_.residual->other.channel + c)]);
          }
          output_[pixel * static_cast<size_t>(out_.channels) +
                  static_cast<size_t>(layer_.output.channel + c)] = value;
        }
      }
    }
  }

 private:
  /// A map of one row may be written from windows over a map of several, and the other way round.
  int8_t Value(int y, int x, int c) const {
    int32_t largest = -128;
    uint32_t sum = 0;
    size_t weight = static_cast<size_t>(c) * static_cast<size_t>(layer_.Taps());
    for (int r = 0; r < layer_.window.kernel[0]; ++r) {
      for (int s = 0; s < layer_.window.kernel[1]; ++s, ++weight) {
        const int row =
            y * layer_.window.strides[0] + r * layer_.window.dilations[0] - layer_.window.pads[0];
        const int column =
            x * layer_.window.strides[1] + s * layer_.window.dilations[1] - layer_.window.pads[1];
        if (layer_.kind == LayerKind::kConv) {
          sum += Product(row, column, weight * static_cast<size_t>(layer_.input.channels));
          continue;
        }
        const int32_t byte = Byte(row, column, c);
        largest = std::max(largest, byte);
        const int32_t factor = layer_.kind == LayerKind::kDepthwise ? layer_.weights[weight] : 1;
        sum += static_cast<uint32_t>(byte * factor);
      }
    }
    if (layer_.kind == LayerKind::kMaxPool) return static_cast<int8_t>(largest);
    return static_cast<int8_t>(Requantised(layer_.requantise, sum, static_cast<size_t>(c)));
  }

  uint32_t Product(int row, int column, size_t weight) const {
    uint32_t sum = 0;
    for (int c = 0; c < layer_.input.channels; ++c) {
      sum += static_cast<uint32_t>(Byte(row, column, c) *
                                   layer_.weights[weight + static_cast<size_t>(c)]);
    }
    return sum;
  }

  int32_t Byte(int row, int column, int c) const {
    if (row < 0 || row >= in_.height || column < 0 || column >= in_.width) {
      return layer_.window.padding;
    }
    return input_[static_cast<size_t>(row * in_.width + column) *
                      static_cast<size_t>(in_.channels) +
                  static_cast<size_t>(layer_.input.channel + c)];
  }

  const Layer& layer_;
  const FeatureMap& in_;
  const FeatureMap& out_;
  const MapBytes& input_;
  MapBytes& output_;
  const MapBytes* others_;
  const FeatureMap* other_;
};

}  // namespace

void RunLayer(const LayerProgram& program, const Layer& layer, std::vector<MapBytes>& maps) {
  LayerRun(program, layer, maps).Run();
}

}  // namespace tenon::test
