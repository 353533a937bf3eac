#include "backends/fpga/codegen/lower_segment.hpp"

#include <algorithm>
#include <utility>

#include "backends/fpga/caps/limits.hpp"
#include "backends/fpga/codegen/op_layers.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::fpga {
namespace {

constexpr int kNone = -1;

/// Rank 4 blocks are images; of others the last dimension is channels, all before it are pixels.
FeatureMap MapOf(const SourceBlock& block, int index) {
  FeatureMap map;
  map.name = block.name;
  map.block = index;
  map.flip = block.dtype == DType::kU8 ? 128 : 0;
  map.is_read = block.is_read;
  map.is_written = block.is_written;
  if (block.shape.rank == 4) {
    map.channels = block.shape.dims[1];
    map.height = block.shape.dims[2];
    map.width = block.shape.dims[3];
    return map;
  }
  map.channels = block.shape.rank == 0 ? 1 : block.shape.dims[block.shape.rank - 1];
  for (int i = 0; i + 1 < block.shape.rank; ++i) map.width *= block.shape.dims[i];
  return map;
}

class Lowerer {
 public:
  explicit Lowerer(const SegmentSource& source) : source_(source), views_(ViewsOf(source)) {}

  Outcome<LayerProgram> Run() {
    for (size_t i = 0; i < source_.blocks.size(); ++i) {
      program_.maps.push_back(MapOf(source_.blocks[i], static_cast<int>(i)));
    }
    CountReaders();
    ChooseCarriers();
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      if (carried_[i] != kNone) continue;  // its layer comes with the op that it is carried by
      if (!AddOp(static_cast<int>(i))) return refusal_;
    }
    return std::move(program_);
  }

 private:
  [[nodiscard]] const SourceOp& OpAt(int op) const { return source_.ops[static_cast<size_t>(op)]; }
  [[nodiscard]] const SourceTensor& TensorAt(int tensor) const {
    return source_.tensors[static_cast<size_t>(tensor)];
  }
  [[nodiscard]] OpCall CallAt(int op) const { return CallOf(OpAt(op), views_); }

  bool Refuse(int op, std::string reason) {
    refusal_ = {op, std::move(reason)};
    return false;
  }

  // --- what is part of which layer ------------------------------------------------------------

  void CountReaders() {
    readers_.assign(source_.blocks.size(), 0);
    writers_.assign(source_.blocks.size(), 0);
    producer_.assign(source_.tensors.size(), kNone);
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      for (const int32_t input : source_.ops[i].inputs) {
        if (input >= 0 && TensorAt(input).block >= 0) ++readers_[BlockOf(input)];
      }
      for (const int32_t output : source_.ops[i].outputs) {
        ++writers_[BlockOf(output)];
        producer_[static_cast<size_t>(output)] = static_cast<int>(i);
      }
    }
  }
  [[nodiscard]] size_t BlockOf(int tensor) const {
    return static_cast<size_t>(TensorAt(tensor).block);
  }

  static bool HasLane(OpKind kind) {
    return kind == OpKind::kQuantizedConv || kind == OpKind::kQuantizedMatMul ||
           kind == OpKind::kQuantizedAveragePool || kind == OpKind::kQuantizedReduce;
  }

  /// The op that gives an operand, if only this reader wants it and more can be done to it; else
  /// kNone.
  [[nodiscard]] int CarriedBy(int tensor) const {
    const int op = producer_[static_cast<size_t>(tensor)];
    if (op == kNone || carried_[static_cast<size_t>(op)] != kNone) return kNone;
    const size_t block = BlockOf(tensor);
    if (readers_[block] != 1 || writers_[block] != 1 || source_.blocks[block].is_written) {
      return kNone;
    }
    if (OpAt(op).kind == OpKind::kLookup) {  // which itself needs a layer to be part of
      return part_of_[static_cast<size_t>(op)] != kNone ? op : kNone;
    }
    return HasLane(OpAt(op).kind) ? op : kNone;
  }

  /// What a sum waits for: the more there is to do, the better it hides the sum's slower lanes.
  [[nodiscard]] int64_t WorkOf(int op) const {
    if (OpAt(op).kind == OpKind::kLookup) return WorkOf(part_of_[static_cast<size_t>(op)]);
    if (!HasLane(OpAt(op).kind) || OpAt(op).inputs.size() < 2) return 0;
    const TensorView& w = views_[static_cast<size_t>(OpAt(op).inputs[1])];
    return w.Elements();
  }

  void ChooseCarriers() {
    part_of_.assign(source_.ops.size(), kNone);
    carried_.assign(source_.ops.size(), kNone);
    for (size_t i = 0; i < source_.ops.size(); ++i) {
      const SourceOp& op = source_.ops[i];
      int carrier = kNone;
      if (op.kind == OpKind::kLookup) {
        carrier = CarriedBy(op.inputs[LookupInput::kX]);
        if (carrier != kNone && OpAt(carrier).kind == OpKind::kLookup) carrier = kNone;
      } else if (op.kind == OpKind::kQuantizedBinary && op.inputs[0] != op.inputs[1]) {
        const int x = CarriedBy(op.inputs[BinaryInput::kX]);
        const int y = CarriedBy(op.inputs[BinaryInput::kY]);
        carrier = x == kNone || (y != kNone && WorkOf(y) > WorkOf(x)) ? y : x;
      }
      part_of_[i] = carrier;
      if (carrier != kNone) carried_[static_cast<size_t>(carrier)] = static_cast<int>(i);
    }
  }

  // --- maps -----------------------------------------------------------------------------------

  /// The channels of its block that a tensor is; false with a refusal if it is anything else.
  bool SliceOf(int op, int tensor, MapSlice& slice) {
    const SourceTensor& window = TensorAt(tensor);
    slice.map = window.block;
    const FeatureMap& map = program_.maps[static_cast<size_t>(slice.map)];
    const FeatureMap own =
        MapOf({window.name, window.dtype, window.shape, {}, false, false}, slice.map);
    slice.channels = own.channels;
    if (own.height == map.height && own.width == map.width && own.channels == map.channels &&
        window.offset == 0) {
      return true;
    }
    // One pixel is the same in every form.
    const bool same_pixels =
        own.Pixels() == map.Pixels() && ((own.height == map.height && own.width == map.width) ||
                                         own.height == 1 || map.height == 1);
    if (!same_pixels) {
      return Refuse(op, "it uses part of the rows and columns of a feature map");
    }
    if (window.offset < 0 || window.offset + own.channels > map.channels) {
      return Refuse(op, "it uses a feature map in another order than by pixels");
    }
    slice.channel = static_cast<int>(window.offset);
    if (slice.channel % kGroupChannels != 0) {
      return Refuse(op, "it uses channels of a feature map that do not begin at a multiple of 32");
    }
    return true;
  }

  /// Parts of a map that are written end at a group of channels, or where the map does.
  bool OutputSlice(int op, int tensor, MapSlice& slice) {
    if (!SliceOf(op, tensor, slice)) return false;
    const FeatureMap& map = program_.maps[static_cast<size_t>(slice.map)];
    const int end = slice.channel + slice.channels;
    if (end % kGroupChannels != 0 && end != map.channels) {
      return Refuse(op, "it writes channels of a feature map that do not end at a multiple of 32");
    }
    return true;
  }

  // --- layers ---------------------------------------------------------------------------------

  bool AddOp(int op) {
    std::vector<int> chain = {op};  // from the op that makes the sums to this one
    while (part_of_[static_cast<size_t>(chain.front())] != kNone) {
      chain.insert(chain.begin(), part_of_[static_cast<size_t>(chain.front())]);
    }
    Layer layer;
    layer.op = op;
    if (!OutputSlice(op, OpAt(op).outputs[0], layer.output)) return false;
    const SourceOp& first = OpAt(chain.front());
    const bool is_carried = first.kind != OpKind::kLookup && first.kind != OpKind::kQuantizedBinary;
    if (!(is_carried ? Begin(chain.front(), layer) : BeginWithIdentity(chain.front(), layer))) {
      return false;
    }
    for (size_t i = is_carried ? 1 : 0; i < chain.size(); ++i) {
      const int carrier = i > 0 ? chain[i - 1] : kNone;
      if (!Continue(chain[i], carrier, layer)) return false;
    }
    const bool is_large =
        layer.window.kernel[0] > kMostKernel || layer.window.kernel[1] > kMostKernel;
    if (is_large && layer.kind != LayerKind::kSum) {
      return Refuse(op, "its window has more than 15 rows or columns");
    }
    program_.layers.push_back(std::move(layer));
    return true;
  }

  bool BeginWithIdentity(int op, Layer& layer) {
    if (!SliceOf(op, OpAt(op).inputs[0], layer.input)) return false;
    IdentityLayer(layer.input.channels, layer);
    return true;
  }

  bool Begin(int op, Layer& layer) {
    const OpCall call = CallAt(op);
    const int x = OpAt(op).inputs[0];
    if (OpAt(op).kind == OpKind::kQuantizedMatMul) return BeginMatMul(op, call, layer);
    if (!SliceOf(op, x, layer.input)) return false;
    switch (OpAt(op).kind) {
      case OpKind::kQuantizedConv:
        ConvLayer(call, layer);
        return true;
      case OpKind::kMaxPool:
        MaxPoolLayer(call, layer);
        return true;
      case OpKind::kQuantizedAveragePool:
        AveragePoolLayer(call, layer);
        return layer.requantise.multipliers[0] != 0 ||
               Refuse(op, "no factor gives this average exactly");
      case OpKind::kQuantizedReduce:
        MeanLayer(call, layer);
        return true;
      default:
        return Refuse(op, "the accelerator has no such op");
    }
  }

  /// One row of the first factor is a pixel, or a whole map that was flattened in the order in
  /// which it lies: pixel by pixel.
  bool BeginMatMul(int op, const OpCall& call, Layer& layer) {
    const SourceTensor& a = TensorAt(OpAt(op).inputs[0]);
    const FeatureMap& map = program_.maps[static_cast<size_t>(a.block)];
    const int depth = a.shape.dims[a.shape.rank - 1];
    if (depth != map.channels && a.offset == 0 && depth == map.channels * map.Pixels() &&
        a.shape.Elements() == depth) {
      if (map.height > kMostKernel || map.width > kMostKernel) {
        return Refuse(op, "it flattens a feature map of more than 15 rows or columns");
      }
      layer.input = {a.block, 0, map.channels};
      MatMulLayer(call, map.height, map.width, layer);
      return true;
    }
    if (!SliceOf(op, OpAt(op).inputs[0], layer.input)) return false;
    MatMulLayer(call, 1, 1, layer);
    return true;
  }

  bool Continue(int op, int carrier, Layer& layer) {
    const OpCall call = CallAt(op);
    if (OpAt(op).kind == OpKind::kLookup) {
      layer.table = LookupTable(call);
      return true;
    }
    const int x = OpAt(op).inputs[BinaryInput::kX];
    const int y = OpAt(op).inputs[BinaryInput::kY];
    const bool swapped = carrier != kNone && producer_[static_cast<size_t>(y)] == carrier;
    Residual residual;
    if (!MakeResidual(call, swapped, residual)) {
      return Refuse(op, "no tables of bytes give the results of this sum exactly");
    }
    if (!SliceOf(op, swapped ? x : y, residual.other)) return false;
    layer.residual = residual;
    return true;
  }

  const SegmentSource& source_;
  std::vector<TensorView> views_;
  LayerProgram program_;
  Refusal refusal_;
  std::vector<int> readers_;   ///< by block: operands
  std::vector<int> writers_;   ///< by block: operands
  std::vector<int> producer_;  ///< by tensor: the op
  std::vector<int> part_of_;   ///< by op: the op before it in its layer
  std::vector<int> carried_;   ///< by op: the op after it in its layer
};

}  // namespace

int64_t MultiplyAccumulates(const LayerProgram& program, const Layer& layer) {
  const FeatureMap output = program.RowsOf(layer.output);
  const int64_t results = int64_t{output.Pixels()} * layer.output.channels;
  if (layer.kind == LayerKind::kConv) return results * layer.Taps() * layer.input.channels;
  return layer.kind == LayerKind::kDepthwise ? results * layer.Taps() : 0;
}

Outcome<LayerProgram> LowerSegment(const SegmentSource& source) { return Lowerer(source).Run(); }

}  // namespace tenon::fpga
