#include "backends/cpu/kernels/q8/gemm_rows.hpp"

#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::cpu::q8 {
namespace {

/// Is the input of a block of pixels: it stays in the first-level cache during the loop over
/// weights.
constexpr int64_t kBlockBytes = 12 * 1024;
/// Fewer pixels would leave tiles half empty.
constexpr int64_t kFewestPixels = 24;
constexpr int kItemsPerThread = 8;
/// Is the most numbers of a block of widened pixels, which stay there as well.
constexpr int64_t kWideNumbers = 12 * 1024;
/// Lets the routines work on whole tiles.
constexpr int64_t kWideTile = 6;

/// Returns the distance of widened pixels: not that of the cache's ways.
int64_t WideStep(int depth) {
  const auto step = RoundUp<int64_t>(depth, 16);
  return step % 256 == 0 ? step + 16 : step;
}

/// Returns true if the pixels are widened for all groups: at least a tile of them has room.
bool IsWide(const PackedGemm& packed, const GemmRows& rows) {
  const int64_t tile = rows.width < kWideTile ? rows.width : kWideTile;
  return packed.routines->run_wide != nullptr && tile * WideStep(rows.depth) <= kWideNumbers;
}

/// Is the most pixels of a block that is widened: a row of the fewest numbers takes one step.
constexpr int64_t kMostWidePixels = kWideNumbers / 16;

/// Returns how many pixels are best worked on at once.
int64_t BlockPixels(const PackedGemm& packed, const GemmRows& rows) {
  if (!IsWide(packed, rows)) return kBlockBytes / rows.depth;
  const int64_t fitting = kWideNumbers / WideStep(rows.depth);
  return fitting < kWideTile ? fitting : fitting / kWideTile * kWideTile;
}

/// Returns into how many blocks a row of pixels is cut.
int64_t BlocksOfRow(const PackedGemm& packed, const GemmRows& rows, int threads) {
  int64_t pixels = BlockPixels(packed, rows);
  const int64_t row_count = int64_t{rows.images} * rows.height;
  if (threads > 1) {
    const int64_t wanted = int64_t{threads} * kItemsPerThread;
    const int64_t blocks = CeilDiv<int64_t>(wanted, row_count * packed.group_count);
    const int64_t share = CeilDiv<int64_t>(rows.width, blocks);
    if (share < pixels) pixels = share;
  }
  const int64_t fewest = IsWide(packed, rows) ? kWideTile : kFewestPixels;
  if (pixels < fewest) pixels = fewest;
  return CeilDiv<int64_t>(rows.width, pixels);
}

/// Sets what `call` reads and writes to the pixels of block `index` of all rows.
void SetBlock(const GemmRows& rows, int64_t blocks, int64_t index, GemmCall& call) {
  const int64_t block = index % blocks;
  const int64_t row = index / blocks;
  const int64_t image = row / rows.height;
  const int64_t in_image = row % rows.height;
  const int64_t first = rows.width * block / blocks;
  call.pixels = static_cast<int32_t>(rows.width * (block + 1) / blocks - first);
  call.x = rows.x + image * rows.x_steps.image + in_image * rows.x_steps.row +
           first * rows.x_steps.pixel;
  call.y = rows.y + image * rows.y_steps.image + in_image * rows.y_steps.row +
           first * rows.y_steps.pixel;
}

/// Widens the pixels of `call` from the group's first input channel on.
void WidenBlock(const PackedGemm& packed, int64_t step, const GemmCall& call, int16_t* to) {
  const uint8_t* x = call.x + call.group->source;
  for (int i = 0; i < call.pixels; ++i, x += call.x_step, to += step) {
    packed.routines->widen(x, call.depth, call.flip, to);
  }
}

/// Describes the items of work: each is a group of channels of a block of pixels.
struct RowItems {
  const PackedGemm& packed;
  const GemmRows& rows;
  int64_t blocks;

  void Set(int item, GemmCall& call) const {
    const int groups = packed.group_count;
    call.group = &packed.groups[item % groups];
    // A few pixels in a row are one block. Finding it would take about as long as its products.
    if (int64_t{rows.images} * rows.height * blocks == 1) {
      call.pixels = rows.width;
      call.x = rows.x;
      call.y = rows.y;
    } else {
      SetBlock(rows, blocks, item / groups, call);
    }
    call.y += int64_t{call.group->first} * rows.y_bytes;
  }

  void Run(int begin, int end, GemmCall& call) const {
    for (int item = begin; item < end; ++item) {
      Set(item, call);
      packed.routines->run(call);
    }
  }

  void SumBlock(int64_t step, const GemmCall& call, int32_t* x_sums) const {
    for (int i = 0; i < call.pixels; ++i) {
      x_sums[i] = packed.routines->sum_wide(call.wide_x + i * step, call.depth);
    }
  }

  /// Does likewise with pixels that are widened once for all groups in succession that read them.
  void RunWide(int begin, int end, GemmCall call) const {
    alignas(64) int16_t wide[kWideNumbers];
    int32_t x_sums[kMostWidePixels];
    const int64_t step = WideStep(rows.depth);
    const uint8_t* widened = nullptr;
    call.wide_x = wide;
    if (packed.sums_x) call.x_sums = x_sums;
    for (int item = begin; item < end; ++item) {
      call.x_step = rows.x_steps.pixel;
      Set(item, call);
      const uint8_t* x = call.x + call.group->source;
      if (x != widened) {
        WidenBlock(packed, step, call, wide);
        if (packed.sums_x) SumBlock(step, call, x_sums);
      }
      widened = x;
      call.x_step = step;
      packed.routines->run_wide(call);
    }
  }
};

}  // namespace

bool FitsWideRows(int depth) { return kWideTile * WideStep(depth) <= kWideNumbers; }

void RunGemmRows(const PackedGemm& packed, const GemmEpilogue& epilogue, const GemmRows& rows,
                 const ParallelRunner* parallel) {
  const int64_t row_count = int64_t{rows.images} * rows.height;
  int64_t channels = 0;
  for (int g = 0; g < packed.group_count; ++g) channels += packed.groups[g].width;
  const int64_t work = row_count * rows.width * rows.depth * channels * packed.passes;
  if (work < kSmallWork) parallel = nullptr;
  const int64_t blocks = BlocksOfRow(packed, rows, parallel == nullptr ? 1 : parallel->threads);
  const RowItems all = {packed, rows, blocks};
  const bool is_wide = IsWide(packed, rows);
  const auto items = static_cast<int>(row_count * blocks * packed.group_count);
  ParallelFor(parallel, items, [&](int begin, int end) {
    const int64_t taps[kMostPasses] = {};
    GemmCall call = {};
    call.taps = taps;
    call.tap_count = packed.passes;
    call.depth = rows.depth;
    call.flip = rows.flip;
    call.epilogue = &epilogue;
    call.x_step = rows.x_steps.pixel;
    call.y_step = rows.y_steps.pixel;
    is_wide ? all.RunWide(begin, end, call) : all.Run(begin, end, call);
  });
}

}  // namespace tenon::cpu::q8
