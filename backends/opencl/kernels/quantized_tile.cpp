// Packs and launches quantized convolutions and matrix products by register tiles.
#include <cstring>
#include <vector>

#include "backends/opencl/kernels/quantized_gemm.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::opencl {
namespace {

constexpr int kQuantizedLanes = 16;  // of quantized_tile.cl
constexpr int kTile = 4;

/// As in quantized_tile.cl.
struct TileParameters {
  int32_t lines = 1, columns = 1, rows = 1;
  int32_t outputs = 0;
  int32_t input_rows = 1, input_columns = 1;
  int32_t channels = 0;
  int32_t taps_y = 1, taps_x = 1;
  int32_t stride_y = 1, stride_x = 1;
  int32_t dilation_y = 1, dilation_x = 1;
  int32_t pad_top = 0, pad_left = 0;
  int32_t x_image = 0, x_row = 0, x_pixel = 0;
  int32_t y_image = 0, y_row = 0, y_pixel = 0;
  int32_t x_zero_point = 0;
  QuantizedOutput output;
};

/// Element `index` of a vector of i8 or u8, of which there may be one for all or none: then 0.
int32_t ByteAt(const OpCall& op, int input, int32_t index) {
  if (!op.HasInput(input)) return 0;
  const TensorView& vector = op.Input(input);
  const int32_t flip = SignFlip(vector.dtype);
  const int32_t place = vector.dims[0] == 1 ? 0 : index * vector.strides[0];
  return (vector.As<const uint8_t>()[place] ^ flip) - flip;
}

/// The bits of element `index` of a vector of i32 or f32; 0 where there is none.
int32_t BitsAt(const OpCall& op, int input, int32_t index) {
  if (!op.HasInput(input)) return 0;
  const TensorView& vector = op.Input(input);
  const int32_t place = vector.dims[0] == 1 ? 0 : index * vector.strides[0];
  int32_t bits = 0;
  std::memcpy(&bits, vector.As<const char>() + ptrdiff_t{place} * 4, sizeof(bits));
  return bits;
}

/// Weights of one output channel: their taps and channels, with strides.
struct WeightsMatrix {
  int32_t outputs = 0, taps_y = 1, taps_x = 1, channels = 0;
  int32_t output = 0, tap_y = 0, tap_x = 0, channel = 0;  ///< strides
};

WeightsMatrix ConvWeights(const OpCall& op) {
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  return {w.dims[0],    w.dims[2],    w.dims[3],    w.dims[1],
          w.strides[0], w.strides[2], w.strides[3], w.strides[1]};
}

WeightsMatrix MatMulWeights(const OpCall& op) {
  const TensorView& b = op.Input(QuantizedGemmInput::kWeights);
  const bool transposed = op.AttributesAs<MatMulAttributes>().transpose_b != 0;
  const int outputs = transposed ? 0 : 1;
  const int depth = transposed ? 1 : 0;
  return {b.dims[outputs], 1, 1, b.dims[depth], b.strides[outputs], 0, 0, b.strides[depth]};
}

std::vector<int16_t> PackQuantizedWeights(const OpCall& op, const WeightsMatrix& m) {
  const int32_t padded = RoundUp(m.outputs, kQuantizedLanes);
  std::vector<int16_t> packed(static_cast<size_t>(padded) * static_cast<size_t>(m.taps_y) *
                              static_cast<size_t>(m.taps_x) * static_cast<size_t>(m.channels));
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const auto* bytes = w.As<const uint8_t>();
  const int32_t flip = SignFlip(w.dtype);
  size_t to = 0;
  for (int32_t block = 0; block < padded; block += kQuantizedLanes) {
    for (int32_t tap = 0; tap < m.taps_y * m.taps_x; ++tap) {
      for (int32_t channel = 0; channel < m.channels; ++channel) {
        for (int32_t output = block; output < block + kQuantizedLanes; ++output, ++to) {
          if (output >= m.outputs) continue;
          const ptrdiff_t place =
              ptrdiff_t{output} * m.output + ptrdiff_t{tap / m.taps_x} * m.tap_y +
              ptrdiff_t{tap % m.taps_x} * m.tap_x + ptrdiff_t{channel} * m.channel;
          const int32_t value = (bytes[place] ^ flip) - flip;
          packed[to] = static_cast<int16_t>(
              value - ByteAt(op, QuantizedGemmInput::kWeightsZeroPoint, output));
        }
      }
    }
  }
  return packed;
}

std::vector<int32_t> PackFactors(const OpCall& op, int32_t outputs) {
  const int32_t padded = RoundUp(outputs, kQuantizedLanes);
  std::vector<int32_t> packed(static_cast<size_t>(padded) * 3);
  for (int32_t output = 0; output < outputs; ++output) {
    const auto at = static_cast<size_t>(output / kQuantizedLanes * kQuantizedLanes * 3 +
                                        output % kQuantizedLanes);
    packed[at] = BitsAt(op, QuantizedGemmInput::kBias, output);
    packed[at + kQuantizedLanes] = BitsAt(op, QuantizedGemmInput::kMultiplier, output);
    if (!op.HasInput(QuantizedGemmInput::kShift)) continue;
    packed[at + 2 * kQuantizedLanes] = ByteAt(op, QuantizedGemmInput::kShift, output);
  }
  return packed;
}

/// Uploads weights and factors as the tables 0 and 1.
Status LoadPacked(const KernelSetup& setup, const WeightsMatrix& matrix,
                  const QuantizedOutput& output, const char* function, void** shared) {
  const char* type =
      setup.op.Input(QuantizedGemmInput::kX).dtype == DType::kI8 ? " -DX=char" : " -DX=uchar";
  const ProgramChoice choice = {"quantized_tile.cl", QuantizedOptions(output) + type, function};
  LoadedOp* loaded = nullptr;
  constexpr uint32_t kPacked = ~uint32_t{1U << QuantizedGemmInput::kX};
  TENON_RETURN_IF_ERROR(LoadOp(setup, choice, &loaded, kPacked));
  const std::vector<int16_t> weights = PackQuantizedWeights(setup.op, matrix);
  const std::vector<int32_t> factors = PackFactors(setup.op, matrix.outputs);
  TENON_RETURN_IF_ERROR(AddTable(loaded, weights.data(), weights.size() * sizeof(int16_t), shared));
  return AddTable(loaded, factors.data(), factors.size() * sizeof(int32_t), shared);
}

TileParameters QuantizedConvParameters(const OpCall& op) {
  const auto& attributes = op.AttributesAs<QuantizedConvAttributes>();
  const ConvAttributes& conv = attributes.conv;
  const TensorView& x = op.Input(QuantizedGemmInput::kX);
  const TensorView& w = op.Input(QuantizedGemmInput::kWeights);
  const TensorView& y = op.Output();
  TileParameters p;
  p.rows = y.dims[2];
  p.lines = y.dims[0] * p.rows;
  p.columns = y.dims[3];
  p.outputs = y.dims[1];
  p.input_rows = x.dims[2];
  p.input_columns = x.dims[3];
  p.channels = w.dims[1];
  p.taps_y = w.dims[2];
  p.taps_x = w.dims[3];
  p.stride_y = conv.strides[0];
  p.stride_x = conv.strides[1];
  p.dilation_y = conv.dilations[0];
  p.dilation_x = conv.dilations[1];
  p.pad_top = conv.pads[0];
  p.pad_left = conv.pads[1];
  p.x_image = x.strides[0];
  p.x_row = x.strides[2];
  p.x_pixel = x.strides[3];
  p.y_image = y.strides[0];
  p.y_row = y.strides[2];
  p.y_pixel = y.strides[3];
  p.x_zero_point = ByteAt(op, QuantizedGemmInput::kXZeroPoint, 0);
  p.output = attributes.output;
  return p;
}

/// True if a convolution of single pixels finds those of an image one after the other: then they
/// are one line, and no tile ends at the end of a row.
bool IsOneLine(const TileParameters& p) {
  const bool single = p.taps_y == 1 && p.taps_x == 1 && p.stride_y == 1 && p.stride_x == 1;
  const bool unpadded = p.rows == p.input_rows && p.columns == p.input_columns;
  return single && unpadded && p.pad_top == 0 && p.pad_left == 0 &&
         p.x_row == p.columns * p.x_pixel && p.y_row == p.columns * p.y_pixel;
}

/// Rows of a matrix product are the pixels of one line.
TileParameters QuantizedMatMulParameters(const OpCall& op) {
  const auto& attributes = op.AttributesAs<QuantizedMatMulAttributes>();
  const TensorView& a = op.Input(QuantizedGemmInput::kX);
  const TensorView& y = op.Output();
  TileParameters p;
  p.outputs = y.dims[y.rank - 1];
  p.channels = a.dims[a.rank - 1];
  p.columns = static_cast<int32_t>(y.Elements() / p.outputs);
  p.input_columns = p.columns;
  p.x_pixel = p.channels;
  p.y_pixel = p.outputs;
  p.x_zero_point = ByteAt(op, QuantizedGemmInput::kXZeroPoint, 0);
  p.output = attributes.output;
  return p;
}

Status RunTiles(const KernelCall& call, const TileParameters& p, int tile) {
  const LoadedOp& loaded = *static_cast<const OpenedOp*>(call.state)->loaded;
  const Range global(static_cast<size_t>(CeilDiv(p.outputs, kQuantizedLanes)),
                     static_cast<size_t>(CeilDiv(p.columns, tile)), static_cast<size_t>(p.lines));
  // A processor's core loops over the items of a group, a graphics device runs them side by side.
  const Range group = loaded.device->traits().is_cpu ? Range(1, 4) : Range(4, 16);
  return Launch(call)
      .Input(QuantizedGemmInput::kX)
      .Buffer(loaded.tables[0])
      .Buffer(loaded.tables[1])
      .Output()
      .Value(p)
      .Enqueue(global, group);
}

}  // namespace

Status QuantizedConvTileLoad(const KernelSetup& setup, void** shared) {
  return LoadPacked(setup, ConvWeights(setup.op),
                    setup.op.AttributesAs<QuantizedConvAttributes>().output, "quantized_tile",
                    shared);
}

Status QuantizedConvTileRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  TileParameters p = QuantizedConvParameters(call.op);
  if (IsOneLine(p)) {
    p.columns *= p.rows;
    p.input_columns = p.columns;
    p.lines /= p.rows;
    p.rows = 1;
    p.input_rows = 1;
  }
  return RunTiles(call, p, kTile);
}

Status QuantizedDepthwiseLoad(const KernelSetup& setup, void** shared) {
  return LoadPacked(setup, ConvWeights(setup.op),
                    setup.op.AttributesAs<QuantizedConvAttributes>().output, "quantized_depthwise",
                    shared);
}

Status QuantizedDepthwiseRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  return RunTiles(call, QuantizedConvParameters(call.op), 1);
}

Status QuantizedMatMulTileLoad(const KernelSetup& setup, void** shared) {
  return LoadPacked(setup, MatMulWeights(setup.op),
                    setup.op.AttributesAs<QuantizedMatMulAttributes>().output, "quantized_tile",
                    shared);
}

Status QuantizedMatMulTileRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  return RunTiles(call, QuantizedMatMulParameters(call.op), kTile);
}

}  // namespace tenon::opencl
