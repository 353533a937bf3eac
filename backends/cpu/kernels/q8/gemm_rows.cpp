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

/// Returns into how many blocks a row of pixels is cut.
int64_t BlocksOfRow(const PackedGemm& packed, const GemmRows& rows, int threads) {
  int64_t pixels = kBlockBytes / rows.depth;
  const int64_t row_count = int64_t{rows.images} * rows.height;
  if (threads > 1) {
    const int64_t wanted = int64_t{threads} * kItemsPerThread;
    const int64_t blocks = CeilDiv<int64_t>(wanted, row_count * packed.group_count);
    const int64_t share = CeilDiv<int64_t>(rows.width, blocks);
    if (share < pixels) pixels = share;
  }
  if (pixels < kFewestPixels) pixels = kFewestPixels;
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

}  // namespace

void RunGemmRows(const PackedGemm& packed, const GemmEpilogue& epilogue, const GemmRows& rows,
                 const ParallelRunner* parallel) {
  const int64_t row_count = int64_t{rows.images} * rows.height;
  int64_t channels = 0;
  for (int g = 0; g < packed.group_count; ++g) channels += packed.groups[g].width;
  const int64_t work = row_count * rows.width * rows.depth * channels * packed.passes;
  if (work < kSmallWork) parallel = nullptr;
  const int64_t blocks = BlocksOfRow(packed, rows, parallel == nullptr ? 1 : parallel->threads);
  const int groups = packed.group_count;
  const auto items = static_cast<int>(row_count * blocks * groups);
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
    // A few pixels in a row are one block. Finding it would take about as long as its products.
    const bool is_one_block = row_count * blocks == 1;
    for (int item = begin; item < end; ++item) {
      if (is_one_block) {
        call.group = &packed.groups[item];
        call.pixels = rows.width;
        call.x = rows.x;
        call.y = rows.y;
      } else {
        SetBlock(rows, blocks, item / groups, call);
        call.group = &packed.groups[item % groups];
      }
      call.y += int64_t{call.group->first} * rows.y_bytes;
      packed.routines->run(call);
    }
  });
}

}  // namespace tenon::cpu::q8
