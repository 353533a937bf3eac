#include "backends/fpga/codegen/predict_cycles.hpp"

#include <algorithm>
#include <deque>

#include "backends/fpga/codegen/blocks.hpp"
#include "backends/fpga/codegen/windows.hpp"
#include "backends/fpga/isa/descriptor.hpp"

namespace tenon::fpga {
namespace {

// Of the accelerator and its memory, in cycles and bytes.
constexpr double kMemoryBytes = 51.2;        ///< a cycle, reads and writes together: 80 % of 64
constexpr double kStoreBytes = 14.5;         ///< a cycle, by bursts of 16 words of 16 bytes
constexpr double kStoreByGroupBytes = 10.5;  ///< a cycle, by a burst for each pixel of a group
constexpr double kReadLatency = 80;          ///< of the memory and the port, where nothing hides it
constexpr double kPipeline = 48;             ///< from a pixel's fetch to its byte in the map
constexpr double kStart = 200;               ///< from the start to the first layer, and to done
constexpr double kBetweenLayers = 8;
constexpr double kTileBytesACycle = 64;
constexpr double kChannelBytes = 10;  ///< of bias, factor and shift, before the weights
constexpr double kSomePixels = 64;    ///< more than the smallest block

double Up(double a, double b) { return static_cast<double>(static_cast<int64_t>((a + b - 1) / b)); }

/// Bytes that come from memory: of the weight ring, or of a map.
struct Transfer {
  double bytes = 0;
  double ring_bytes = 0;
  int after_layer = -1;  ///< may begin once this layer is running; -1: at any time
};

/// One stretch of a layer's passes: a tile for a block of pixels.
struct Work {
  const Layer* layer = nullptr;
  double in = 0;   ///< bytes from memory
  double out = 0;  ///< bytes to memory
  double exact = 0;
  double cycles = 0;  ///< of the array
  double pass = 0;    ///< cycles of one
  double block = 0;   ///< pixels of a block
  int blocks = 0;
  int groups = 0;
  bool reload = false;              ///< each block wants all weights again
  bool by_block = false;            ///< output groups inside blocks
  bool store_waits = false;         ///< pixels are stored whole, so once the last group is there
  std::vector<double> feed;         ///< bytes of each pass's weights
  std::vector<Transfer> transfers;  ///< in the order in which they are wanted
};

class Predictor {
 public:
  Predictor(const LayerProgram& program, const CodeTarget& target,
            const std::vector<bool>& in_memory)
      : program_(program), target_(target), in_memory_(in_memory) {}

  CyclePrediction Run() {
    for (size_t n = 0; n < program_.layers.size(); ++n) Plan(static_cast<int>(n));
    for (const Work& work : work_) {
      first_.push_back(queue_.size());
      queue_.insert(queue_.end(), work.transfers.begin(), work.transfers.end());
    }
    first_.push_back(queue_.size());
    now_ = drained_ = kStart;
    memory_ = now_ + kReadLatency;
    for (size_t n = 0; n < work_.size(); ++n) RunLayer(n);
    result_.cycles = static_cast<int64_t>(std::max({now_, drained_, stored_}) + kReadLatency / 2);
    return std::move(result_);
  }

 private:
  [[nodiscard]] const FeatureMap& MapAt(int map) const {
    return program_.maps[static_cast<size_t>(map)];
  }
  [[nodiscard]] bool IsInMemory(int map) const { return in_memory_[static_cast<size_t>(map)]; }
  [[nodiscard]] double BytesOf(const MapSlice& slice) const {
    return static_cast<double>(slice.channels) * program_.RowsOf(slice).Pixels();
  }

  [[nodiscard]] bool IsWindowed(const Layer& layer) const {
    return RunsByWindows(layer, program_.RowsOf(layer.output), target_.input_channels,
                         target_.accumulator_pixels);
  }

  /// Passes over the taps and the input channels for a tile of outputs. Depthwise layers and pools
  /// have one a tap, whose tile is diagonal.
  [[nodiscard]] int PassesOf(const Layer& layer) const {
    if (IsWindowed(layer)) {
      return static_cast<int>(Up(layer.window.kernel[0], isa::kWindowTaps) *
                              Up(layer.window.kernel[1], isa::kWindowTaps));
    }
    if (layer.kind != LayerKind::kConv) return layer.Taps();
    if (MapAt(layer.input.map).folded) {
      return layer.window.kernel[0] * static_cast<int>(Up(layer.window.kernel[1], kFoldedColumns));
    }
    return layer.Taps() * static_cast<int>(Up(layer.input.channels, target_.input_channels));
  }

  void Plan(int n) {
    const Layer& layer = program_.layers[static_cast<size_t>(n)];
    Work work;
    work.layer = &layer;
    if (IsInMemory(layer.input.map)) work.in += BytesOf(layer.input);
    if (layer.residual && IsInMemory(layer.residual->other.map)) {
      work.in += BytesOf(layer.residual->other);
    }
    if (IsInMemory(layer.output.map)) work.out = BytesOf(layer.output);
    const double macs = static_cast<double>(MultiplyAccumulates(program_, layer));
    work.exact = macs / (static_cast<double>(target_.input_channels) * target_.output_channels *
                         target_.pixels);
    PlanArray(layer, n, work);
    work_.push_back(std::move(work));
  }

  /// A map that is there before the start may be fetched at any time, others when they are made.
  [[nodiscard]] int Gate(const Layer& layer, int n) const {
    return MapAt(layer.input.map).is_read ? -1 : n;
  }

  void PlanArray(const Layer& layer, int n, Work& work) {
    const double tile = static_cast<double>(target_.input_channels) * target_.output_channels;
    const double pixels = program_.RowsOf(layer.output).Pixels();
    work.groups = static_cast<int>(Up(layer.output.channels, target_.output_channels));
    work.feed.assign(static_cast<size_t>(PassesOf(layer)), tile);
    const double all = tile * static_cast<double>(work.feed.size());
    const auto ring = static_cast<double>(target_.weight_bytes);
    work.by_block = work.in > 0 && pixels > kSomePixels &&
                    (all + kChannelBytes * target_.output_channels) * work.groups < ring / 2;
    work.store_waits = !work.by_block && layer.output.channels % target_.output_channels != 0;
    SetBlocks(layer, work);
    work.reload = all > ring && work.blocks > 1;
    work.cycles = work.groups * work.blocks * static_cast<double>(work.feed.size()) * work.pass;
    work.feed[0] += kChannelBytes * target_.output_channels;
    ForEachStretch(work, [&](int group, int block) {
      for (const double piece : work.feed) {
        if (group == 0 && work.in > 0) {
          work.transfers.push_back(
              {work.in / work.blocks / static_cast<double>(work.feed.size()), 0, Gate(layer, n)});
        }
        if (block == 0 || work.reload) work.transfers.push_back({piece, piece, -1});
      }
    });
  }

  [[nodiscard]] int64_t BlockPixelsOf(const Layer& layer, const Work& work) const {
    const FeatureMap output = program_.RowsOf(layer.output);
    BlockLoad load;
    load.pixels = output.Pixels();
    load.groups = work.groups;
    load.drain_clocks = layer.residual ? 2 : 1;
    load.array_clocks = static_cast<double>(work.feed.size()) / target_.pixels;
    if (IsWindowed(layer)) {
      load.array_clocks =
          static_cast<double>(WindowedClocks(layer, output, output.height, 0)) / output.Pixels();
    }
    return BlockPixelsFor(load, target_.accumulator_pixels);
  }

  void SetBlocks(const Layer& layer, Work& work) const {
    const FeatureMap output = program_.RowsOf(layer.output);
    const double tile = Up(target_.input_channels * target_.output_channels, kTileBytesACycle);
    const bool stays = tile * kTileBytesACycle * static_cast<double>(work.feed.size()) <
                       static_cast<double>(target_.weight_bytes);
    int64_t most = stays ? BlockPixelsOf(layer, work) : target_.accumulator_pixels;
    if (!IsWindowed(layer)) {
      work.blocks = static_cast<int>(Up(output.Pixels(), static_cast<double>(most)));
      work.block = Up(output.Pixels(), work.blocks);
      work.pass = std::max(Up(work.block, target_.pixels), tile);
      return;
    }
    most = PairsOfRows(output, most);
    work.blocks = static_cast<int>(Up(output.Pixels(), static_cast<double>(most)));
    work.block = static_cast<double>(std::min<int64_t>(
        PairsOfRows(output, static_cast<int64_t>(Up(output.Pixels(), work.blocks)) + output.width),
        most));
    work.blocks = static_cast<int>(Up(output.Pixels(), work.block));
    work.block = Up(output.Pixels(), work.blocks);
    const auto clocks = static_cast<double>(WindowedClocks(
        layer, output, static_cast<int>(Up(work.block, output.width)), static_cast<int>(tile)));
    work.pass = clocks / static_cast<double>(work.feed.size());
  }

  template <typename Visit>
  static void ForEachStretch(const Work& work, const Visit& visit) {
    const int outer = work.by_block ? work.blocks : work.groups;
    const int inner = work.by_block ? work.groups : work.blocks;
    for (int i = 0; i < outer; ++i) {
      for (int k = 0; k < inner; ++k) visit(work.by_block ? k : i, work.by_block ? i : k);
    }
  }

  /// Starts the transfers that can start before `until`, and all up to `need`.
  void Issue(double until, int64_t need, int layer) {
    while (ready_.size() < queue_.size()) {
      const Transfer& next = queue_[ready_.size()];
      double begin = memory_;
      double room = static_cast<double>(target_.weight_bytes) - held_;
      size_t freed = 0;
      while (room < next.ring_bytes && freed < ring_.size()) {
        room += ring_[freed].bytes;
        begin = std::max(begin, ring_[freed].free_at + kReadLatency);
        ++freed;
      }
      if (next.after_layer >= 0) begin = std::max(begin, now_);
      const bool is_needed = static_cast<int64_t>(ready_.size()) <= need;
      if ((room < next.ring_bytes && held_ > 0) || next.after_layer > layer ||
          (begin > until && !is_needed)) {
        break;
      }
      for (; freed > 0; --freed) {
        held_ -= ring_.front().bytes;
        ring_.pop_front();
      }
      held_ += next.ring_bytes;
      memory_ = begin + next.bytes / kMemoryBytes;
      ready_.push_back(memory_);
    }
  }

  [[nodiscard]] double ReadyAt(size_t transfer) const {
    return transfer < ready_.size() ? ready_[transfer] : memory_;
  }

  /// Bytes of the output of one stretch, which the store takes from `when` on.
  void Store(const Work& work, int group, double bytes, double when, int layer) {
    stored_ = std::max(stored_, when);
    if (bytes <= 0) return;
    if (work.store_waits && group != work.groups - 1) return;
    const bool by_group = !work.by_block && !work.store_waits && work.groups > 1;
    if (work.store_waits) bytes = work.out / work.blocks;
    Issue(when, -1, layer);
    memory_ = std::max(memory_, when) + bytes / kMemoryBytes;
    stored_ = std::max(memory_, stored_ + bytes / (by_group ? kStoreByGroupBytes : kStoreBytes));
  }

  void RunLayer(size_t n) {
    const Work& work = work_[n];
    const int layer = static_cast<int>(n);
    const double begin = now_;
    if (n > 0) now_ = std::max(now_, std::max(drained_, stored_)) + kPipeline;
    wait_memory_ = wait_drain_ = 0;
    RunArray(work, layer);
    now_ += kBetweenLayers;
    Report(work, now_ - begin);
  }

  void RunArray(const Work& work, int layer) {
    std::deque<double> accumulators = {now_, now_};  // when each of the two blocks is free
    auto transfer = static_cast<int64_t>(first_[static_cast<size_t>(layer)]);
    const int channels = work.layer->output.channels;
    // Words are drained whole, however few of their channels there are.
    const double trips =
        Up(target_.output_channels, target_.lanes) * (work.layer->residual ? 2 : 1);
    ForEachStretch(work, [&](int group, int block) {
      const int width =
          std::min(target_.output_channels, channels - group * target_.output_channels);
      const double free = accumulators.front();
      accumulators.pop_front();
      wait_drain_ += std::max(0.0, free - now_);
      now_ = std::max(now_, free);
      for (const double piece : work.feed) {
        transfer += (group == 0 && work.in > 0 ? 1 : 0) + (block == 0 || work.reload ? 1 : 0);
        Issue(now_, transfer - 1, layer);
        const double there = transfer > 0 ? ReadyAt(static_cast<size_t>(transfer - 1)) : now_;
        wait_memory_ += std::max(0.0, there - now_);
        now_ = std::max(now_, there) + work.pass;
        if (block == work.blocks - 1 || work.reload) ring_.push_back({piece, now_});
      }
      drained_ = std::max(drained_, now_) + work.block * trips;
      accumulators.push_back(drained_);
      Store(work, group, work.out * width / channels / work.blocks, drained_, layer);
    });
    drained_ += kPipeline;
  }

  void Report(const Work& work, double cycles) {
    LayerCycles layer;
    layer.multiply_accumulates = MultiplyAccumulates(program_, *work.layer);
    layer.cycles = static_cast<int64_t>(cycles);
    const struct {
      const char* name;
      double cycles;
    } causes[] = {{"array", work.exact},
                  {"mapping", work.cycles - work.exact},
                  {"drain", wait_drain_},
                  {"memory", wait_memory_},
                  {"between layers", cycles - work.cycles - wait_memory_ - wait_drain_}};
    double most = -1;
    for (const auto& cause : causes) {
      if (cause.cycles <= most) continue;
      most = cause.cycles;
      layer.waits_for = cause.name;
    }
    result_.layers.push_back(std::move(layer));
  }

  struct Piece {
    double bytes;
    double free_at;
  };

  const LayerProgram& program_;
  const CodeTarget& target_;
  const std::vector<bool>& in_memory_;
  CyclePrediction result_;
  std::vector<Work> work_;
  std::vector<Transfer> queue_;  ///< of all layers
  std::vector<size_t> first_;    ///< by layer: its first in the queue
  std::vector<double> ready_;    ///< by transfer: when it is there
  std::deque<Piece> ring_;       ///< weights in the buffer, and when they have been used
  double held_ = 0;              ///< bytes of the ring
  double memory_ = 0;            ///< the port is free
  double now_ = 0;
  double drained_ = 0;
  double stored_ = 0;
  double wait_memory_ = 0;
  double wait_drain_ = 0;
};

}  // namespace

CyclePrediction PredictCycles(const LayerProgram& program, const CodeTarget& target,
                              const std::vector<bool>& in_memory) {
  return Predictor(program, target, in_memory).Run();
}

}  // namespace tenon::fpga
