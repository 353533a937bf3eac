#include "backends/fpga/codegen/encode_layers.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "backends/fpga/codegen/base_registers.hpp"
#include "backends/fpga/codegen/blocks.hpp"
#include "backends/fpga/codegen/weight_lines.hpp"
#include "backends/fpga/codegen/windows.hpp"

namespace tenon::fpga {
namespace {

constexpr uint32_t kConstantsRegister = 0;
constexpr int kMostWindow = 15;
constexpr uint32_t kTableBytes = 256 + 2 * 256 * 4;

uint32_t U(int64_t value) { return static_cast<uint32_t>(value); }

isa::RoundingMode ModeOf(Rounding rounding) {
  switch (rounding) {
    case Rounding::kFixedPoint:
      return isa::RoundingMode::kFixedPoint;
    case Rounding::kFixedPointOnce:
      return isa::RoundingMode::kFixedPointOnce;
    default:
      return isa::RoundingMode::kHalfEven;
  }
}

/// Weights of a layer, or of a group of its outputs.
struct PackedWeights {
  uint32_t offset = 0;
  uint32_t group_lines = 0;
};

class Encoder {
 public:
  Encoder(const SegmentSource& source, const LayerProgram& program, const MapPlaces& places,
          const isa::Parameters& parameters)
      : source_(source),
        program_(program),
        places_(places),
        parameters_(parameters),
        registers_(source) {}

  Outcome<EncodedLayers> Run() {
    FindWriters();
    loaded_.assign(program_.maps.size(), false);
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      if (!AddLayer(static_cast<int>(n))) return refusal_;
    }
    result_.descriptors.back().last = true;
    PackConstants();
    if (const auto failure = registers_.Set(result_.descriptors)) {
      (void)Refuse(failure->layer, failure->reason);
      return refusal_;
    }
    result_.relocations = registers_.Relocations();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FeatureMap& MapAt(int map) const {
    return program_.maps[static_cast<size_t>(map)];
  }
  [[nodiscard]] int64_t GroupsOf(int channels) const {
    return (channels + static_cast<int>(parameters_.group) - 1) /
           static_cast<int>(parameters_.group);
  }
  /// The word at which a slice begins on the chip.
  [[nodiscard]] uint32_t PlaceOf(const MapSlice& slice) const {
    const FeatureMap& map = MapAt(slice.map);
    const int64_t group = slice.channel / static_cast<int>(parameters_.group);
    return U(places_.word[static_cast<size_t>(slice.map)] + group * map.Pixels() +
             int64_t{slice.row} * map.width);
  }
  [[nodiscard]] bool IsWhole(const MapSlice& slice) const {
    return slice.channel == 0 && slice.channels == MapAt(slice.map).channels && slice.rows == 0;
  }

  bool Refuse(int layer, std::string reason) {
    refusal_ = {program_.layers[static_cast<size_t>(layer)].op, std::move(reason)};
    return false;
  }

  void FindWriters() {
    writers_.assign(program_.maps.size(), 0);
    last_writer_.assign(program_.maps.size(), -1);
    for (size_t n = 0; n < program_.layers.size(); ++n) {
      const auto map = static_cast<size_t>(program_.layers[n].output.map);
      ++writers_[map];
      last_writer_[map] = static_cast<int>(n);
    }
  }

  // --- memory ---------------------------------------------------------------------------------

  /// True if the block lies in memory pixel by pixel, channels side by side.
  [[nodiscard]] bool IsDense(int map) const {
    if (MapAt(map).block == kScratchBlock) return true;
    const SourceBlock& block = source_.blocks[static_cast<size_t>(MapAt(map).block)];
    TensorView view;
    view.dims = block.shape.dims;
    view.strides = block.strides.data();
    view.rank = static_cast<uint8_t>(block.shape.rank);
    return view.rank == 4 ? view.IsChannelsLast() : view.IsRowMajor();
  }

  bool SetMemory(int layer, int map, bool writes, isa::MemoryMap& memory) {
    if (!IsDense(map)) {
      return Refuse(layer, "it exchanges a feature map that does not lie pixel by pixel");
    }
    memory.used = true;
    const FeatureMap& stored = MapAt(map);
    memory.address = {
        registers_.WindowOf(stored.block, writes, layer),
        U(stored.offset + int64_t{stored.memory_row} * stored.width * stored.channels)};
    memory.channels = U(MapAt(map).channels);
    memory.pitch = memory.channels;
    memory.flip = MapAt(map).flip != 0;
    return true;
  }

  /// A descriptor that only loads or stores a whole map.
  isa::Descriptor TransferOf(int map) const {
    isa::Descriptor transfer;
    transfer.op = isa::LayerOp::kTransfer;
    transfer.input = transfer.output = U(places_.word[static_cast<size_t>(map)]);
    transfer.in_height = transfer.out_height = U(MapAt(map).height);
    transfer.in_width = transfer.out_width = U(MapAt(map).width);
    transfer.in_groups = transfer.out_groups = U(GroupsOf(MapAt(map).channels));
    SetBlocks(transfer, parameters_.BlockPixels());
    return transfer;
  }

  bool LoadBefore(int layer, int map) {
    if (!MapAt(map).is_read || loaded_[static_cast<size_t>(map)]) return true;
    loaded_[static_cast<size_t>(map)] = true;
    isa::Descriptor transfer = TransferOf(map);
    if (!SetMemory(layer, map, false, transfer.load)) return false;
    result_.descriptors.push_back(transfer);
    return true;
  }

  // --- layers ---------------------------------------------------------------------------------

  /// Blocks of at most so many pixels, or of a pair of rows where they are of rows.
  static void SetBlocks(isa::Descriptor& descriptor, uint32_t most_pixels) {
    const uint32_t pixels = descriptor.out_height * descriptor.out_width;
    const uint32_t unit = descriptor.windowed ? 2 * descriptor.out_width : 2;
    const uint32_t most = std::max(most_pixels / unit, 1U) * unit;
    descriptor.blocks = (pixels + most - 1) / most;
    descriptor.block_pixels = (pixels + descriptor.blocks - 1) / descriptor.blocks;
    descriptor.block_pixels = (descriptor.block_pixels + unit - 1) / unit * unit;
    descriptor.blocks = (pixels + descriptor.block_pixels - 1) / descriptor.block_pixels;
  }

  [[nodiscard]] uint32_t BlockPixelsOf(const Layer& layer,
                                       const isa::Descriptor& descriptor) const {
    const FeatureMap output = program_.RowsOf(layer.output);
    BlockLoad load;
    load.pixels = output.Pixels();
    load.groups = descriptor.out_groups;
    load.drain_clocks = layer.residual ? 2 : 1;
    load.array_clocks = PassesOf(descriptor) / static_cast<double>(parameters_.pixels);
    if (descriptor.windowed) {
      load.array_clocks =
          static_cast<double>(WindowedClocks(layer, output, output.height, 0)) / output.Pixels();
    }
    return U(BlockPixelsFor(load, parameters_.BlockPixels()));
  }

  bool AddLayer(int n) {
    const Layer& layer = program_.layers[static_cast<size_t>(n)];
    const FeatureMap& output = MapAt(layer.output.map);
    if (output.is_read) {
      return Refuse(n, "it writes part of a feature map of which others write the rest");
    }
    if (layer.residual && !LoadBefore(n, layer.residual->other.map)) return false;
    const bool is_large = layer.kind == LayerKind::kSum &&
                          std::max(layer.window.kernel[0], layer.window.kernel[1]) > kMostWindow;
    const bool loads = MapAt(layer.input.map).is_read &&
                       !loaded_[static_cast<size_t>(layer.input.map)] && IsWhole(layer.input) &&
                       !is_large;
    if (!loads && !LoadBefore(n, layer.input.map)) return false;
    isa::Descriptor descriptor;
    SetGeometry(layer, descriptor);
    if (loads) {
      loaded_[static_cast<size_t>(layer.input.map)] = true;
      if (!SetMemory(n, layer.input.map, false, descriptor.load)) return false;
      ShortenRows(layer, descriptor);
    }
    SetScaling(layer, descriptor);
    if (is_large) {
      AddLargeSum(layer, descriptor);
    } else {
      AddWeights(layer, ShapeOf(layer, descriptor), 0, U(GroupsOf(layer.output.channels)),
                 descriptor);
    }
    return Store(n, layer, is_large, descriptor);
  }

  /// The whole map is stored by its only writer, or after its last one.
  bool Store(int n, const Layer& layer, bool is_added, isa::Descriptor descriptor) {
    const int map = layer.output.map;
    const bool is_wanted = MapAt(map).is_written && last_writer_[static_cast<size_t>(map)] == n;
    const bool with_layer =
        is_wanted && !is_added && IsWhole(layer.output) && writers_[static_cast<size_t>(map)] == 1;
    if (with_layer && !SetMemory(n, map, true, descriptor.store)) return false;
    if (!is_added) result_.descriptors.push_back(descriptor);
    if (!is_wanted || with_layer) return true;
    isa::Descriptor transfer = TransferOf(map);
    if (!SetMemory(n, map, true, transfer.store)) return false;
    result_.descriptors.push_back(transfer);
    return true;
  }

  void SetGeometry(const Layer& layer, isa::Descriptor& descriptor) const {
    const FeatureMap input = program_.RowsOf(layer.input);
    const FeatureMap output = program_.RowsOf(layer.output);
    switch (layer.kind) {
      case LayerKind::kConv:
        descriptor.op = isa::LayerOp::kConv;
        break;
      case LayerKind::kMaxPool:
        descriptor.op = isa::LayerOp::kMaxPool;
        break;
      default:
        descriptor.op = isa::LayerOp::kDepthwise;
    }
    descriptor.folded = input.folded;
    descriptor.input = PlaceOf(layer.input);
    descriptor.output = PlaceOf(layer.output);
    descriptor.in_height = U(input.height);
    descriptor.in_width = U(input.width);
    descriptor.in_groups = U(GroupsOf(layer.input.channels));
    descriptor.in_group_words = U(MapAt(layer.input.map).Pixels());
    descriptor.out_group_words = U(MapAt(layer.output.map).Pixels());
    descriptor.out_height = U(output.height);
    descriptor.out_width = U(output.width);
    descriptor.out_groups = U(GroupsOf(layer.output.channels));
    descriptor.windowed = RunsByWindows(layer, output, static_cast<int>(parameters_.group),
                                        static_cast<int>(parameters_.BlockPixels()));
    const Window window = descriptor.windowed ? SimplestWindow(layer, output) : layer.window;
    descriptor.window = {U(window.kernel[0]),  U(window.kernel[1]),    U(window.strides[0]),
                         U(window.strides[1]), U(window.dilations[0]), U(window.dilations[1]),
                         U(window.pads[0]),    U(window.pads[1])};
    descriptor.padding = window.padding;
    SetBlocks(descriptor, parameters_.BlockPixels());
  }

  /// A layer waits for whole rows, of which four are loaded at a time. Where it takes pixel by
  /// pixel a map may as well have shorter rows, and more of them.
  void ShortenRows(const Layer& layer, isa::Descriptor& descriptor) const {
    const Window& w = layer.window;
    constexpr uint32_t kRowBytes = 1024;
    constexpr uint32_t kMostRows = 0xFFFF;
    if (layer.kind != LayerKind::kConv || layer.Taps() != 1 || w.strides[0] != 1 ||
        w.strides[1] != 1 || w.pads[0] != 0 || w.pads[1] != 0 || descriptor.folded ||
        descriptor.in_height != descriptor.out_height ||
        descriptor.in_width != descriptor.out_width) {
      return;
    }
    const uint32_t pixels = descriptor.in_height * descriptor.in_width;
    for (uint32_t width = 1; width < descriptor.in_width; ++width) {
      if (descriptor.in_width % width != 0 || width * descriptor.load.pitch < kRowBytes ||
          pixels / width > kMostRows) {
        continue;
      }
      descriptor.in_width = descriptor.out_width = width;
      descriptor.in_height = descriptor.out_height = pixels / width;
      return;
    }
  }

  void SetScaling(const Layer& layer, isa::Descriptor& descriptor) {
    descriptor.rounding = ModeOf(layer.requantise.rounding);
    descriptor.bounds = {layer.requantise.zero_point, layer.requantise.min, layer.requantise.max};
    descriptor.has_table = layer.table.has_value();
    descriptor.has_residual = layer.residual.has_value();
    if (layer.residual) {
      const Residual& residual = *layer.residual;
      descriptor.residual = PlaceOf(residual.other);
      descriptor.residual_bounds = {residual.zero_point, residual.min, residual.max};
      if (residual.rounding == Rounding::kHalfEven) {
        // A shift by `fraction_bits`: times 2^30, less 31 + shift.
        descriptor.residual_rounding = isa::RoundingMode::kExactHalfEven;
        descriptor.residual_multiplier = 1U << 30;
        descriptor.residual_shift = U(residual.tables.fraction_bits - 1);
      } else {
        descriptor.residual_rounding = isa::RoundingMode::kFixedPoint;
        descriptor.residual_multiplier = U(residual.multiplier);
        descriptor.residual_shift = U(-residual.shift);
      }
    }
    if (descriptor.has_table || descriptor.has_residual) PackTables(layer, descriptor);
  }

  /// The tables lie behind the planes of weights, whose size is not known yet. Bands of a layer
  /// share them.
  void PackTables(const Layer& layer, isa::Descriptor& descriptor) {
    const auto [packed, is_new] = packed_tables_.try_emplace(layer.op, U(Size(tables_)));
    descriptor.tables = {kConstantsRegister, packed->second};
    if (!is_new) return;
    const size_t begin = tables_.size();
    tables_.resize(begin + kTableBytes);
    if (layer.table)
      std::copy(layer.table->begin(), layer.table->end(), tables_.begin() + Far(begin));
    if (!layer.residual) return;
    const AddTables& tables = layer.residual->tables;
    const auto put = [&](const AddTable& table, size_t at) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(table.data());
      std::copy(bytes, bytes + sizeof table, tables_.begin() + Far(at));
    };
    put(tables.x, begin + 256);
    put(tables.y, begin + 256 + 1024);
  }
  static ptrdiff_t Far(size_t offset) { return static_cast<ptrdiff_t>(offset); }
  template <typename T>
  static int64_t Size(const std::vector<T>& values) {
    return static_cast<int64_t>(values.size());
  }

  static PassShape ShapeOf(const Layer& layer, const isa::Descriptor& descriptor) {
    PassShape shape;
    shape.rows = layer.window.kernel[0];
    shape.columns = layer.window.kernel[1];
    shape.folded = descriptor.folded;
    shape.diagonal = layer.kind != LayerKind::kConv;
    shape.windowed = descriptor.windowed;
    shape.groups = shape.diagonal ? 1 : static_cast<int>(descriptor.in_groups);
    return shape;
  }

  void AddWeights(const Layer& layer, const PassShape& shape, uint32_t first, uint32_t groups,
                  isa::Descriptor& descriptor) {
    const auto [packed, is_new] =
        packed_weights_.try_emplace({layer.op, shape.windowed, first}, PackedWeights{});
    if (is_new) {
      packed->second.offset = U(Size(lines_) * 16);
      for (uint32_t g = first; g < first + groups; ++g) {
        const std::vector<WeightLine> lines =
            LinesOf(layer, shape, static_cast<int>(g), parameters_);
        packed->second.group_lines = U(Size(lines));
        lines_.insert(lines_.end(), lines.begin(), lines.end());
      }
    }
    descriptor.weights = {kConstantsRegister, packed->second.offset};
    descriptor.group_lines = packed->second.group_lines;
    const uint32_t ring = parameters_.weight_lines;
    if (descriptor.group_lines <= ring) SetBlocks(descriptor, BlockPixelsOf(layer, descriptor));
    descriptor.reload = descriptor.group_lines > ring && descriptor.blocks > 1;
    descriptor.by_block = descriptor.load.used && !descriptor.reload && descriptor.blocks > 1 &&
                          uint64_t{descriptor.group_lines} * groups <= ring / 2;
  }

  /// A sum over a map that is larger than windows are: its pixels lie one after the other, and are
  /// taken as some groups of a smaller map, group of channels by group of channels.
  void AddLargeSum(const Layer& layer, const isa::Descriptor& common) {
    const int pixels = MapAt(layer.input.map).Pixels();
    int rows = 1;
    int columns = 1;
    for (int r = 1; r <= kMostWindow; ++r) {
      for (int c = 1; c <= kMostWindow; ++c) {
        if (pixels % (r * c) == 0 && r * c > rows * columns) {
          rows = r;
          columns = c;
        }
      }
    }
    PassShape shape;
    shape.rows = rows;
    shape.columns = columns;
    shape.groups = pixels / (rows * columns);
    shape.diagonal = true;
    for (uint32_t g = 0; g < common.out_groups; ++g) {
      isa::Descriptor descriptor = common;
      descriptor.op = isa::LayerOp::kConv;
      descriptor.input = common.input + g * U(pixels);
      descriptor.in_group_words = 0;
      descriptor.output = common.output + g;
      descriptor.residual = common.has_residual ? common.residual + g : 0;
      descriptor.in_height = descriptor.window.kernel_height = U(rows);
      descriptor.in_width = descriptor.window.kernel_width = U(columns);
      descriptor.window.pad_top = descriptor.window.pad_left = 0;
      descriptor.in_groups = U(shape.groups);
      descriptor.out_groups = 1;
      AddWeights(layer, shape, g, 1, descriptor);
      result_.descriptors.push_back(descriptor);
    }
  }

  // --- constants ------------------------------------------------------------------------------

  /// Four planes, each with 16 bytes of every line, then the tables.
  void PackConstants() {
    const size_t plane = lines_.size() * 16;
    std::vector<uint8_t>& bytes = result_.constants;
    bytes.resize(4 * plane);
    for (size_t i = 0; i < lines_.size(); ++i) {
      for (size_t p = 0; p < 4; ++p) {
        std::copy_n(lines_[i].begin() + Far(16 * p), 16, bytes.begin() + Far(p * plane + 16 * i));
      }
    }
    bytes.insert(bytes.end(), tables_.begin(), tables_.end());
    for (isa::Descriptor& descriptor : result_.descriptors) {
      if (descriptor.op != isa::LayerOp::kTransfer) {
        descriptor.plane_bytes = U(static_cast<int64_t>(plane));
      }
      if (descriptor.has_table || descriptor.has_residual) {
        descriptor.tables.offset += U(static_cast<int64_t>(4 * plane));
      }
    }
  }

  const SegmentSource& source_;
  const LayerProgram& program_;
  const MapPlaces& places_;
  const isa::Parameters& parameters_;
  EncodedLayers result_;
  Refusal refusal_;
  BaseRegisters registers_;
  std::vector<int> writers_;      ///< by map: layers
  std::vector<int> last_writer_;  ///< by map: layer
  std::vector<bool> loaded_;      ///< by map
  std::vector<WeightLine> lines_;
  std::vector<uint8_t> tables_;
  std::map<int, uint32_t> packed_tables_;  ///< by op: where
  /// By op, whether by windows, and first group: bands of a layer share them.
  std::map<std::tuple<int, bool, uint32_t>, PackedWeights> packed_weights_;
};

}  // namespace

isa::Parameters ParametersOf(const CodeTarget& target) {
  isa::Parameters parameters;
  parameters.group = U(target.input_channels);
  parameters.pixels = U(target.pixels);
  parameters.entries = U(target.accumulator_pixels / target.pixels);
  parameters.map_words = U(target.map_bytes / target.input_channels);
  parameters.weight_lines = U(target.weight_bytes / 64);
  return parameters;
}

Outcome<EncodedLayers> EncodeLayers(const SegmentSource& source, const LayerProgram& program,
                                    const MapPlaces& places, const isa::Parameters& parameters) {
  return Encoder(source, program, places, parameters).Run();
}

}  // namespace tenon::fpga
