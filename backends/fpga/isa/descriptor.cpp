#include "backends/fpga/isa/descriptor.hpp"

#include <algorithm>
#include <numeric>

#include "backends/fpga/isa/parameters.hpp"

namespace tenon::fpga::isa {
namespace {

/// Pixels of four bytes in a word of an image.
constexpr uint32_t kFoldedPixels = 8;

uint32_t Byte(int32_t value) { return static_cast<uint32_t>(value) & 0xFF; }
int32_t Signed(uint32_t byte) { return static_cast<int32_t>((byte & 0xFF) ^ 0x80) - 0x80; }

uint32_t Pair(uint32_t low, uint32_t high) { return low | high << 16; }
uint32_t Low(uint32_t word) { return word & 0xFFFF; }
uint32_t High(uint32_t word) { return word >> 16; }

uint32_t Flags(const Descriptor& d) {
  const auto bit = [](bool set, int place) { return static_cast<uint32_t>(set) << place; };
  return static_cast<uint32_t>(d.op) | bit(d.last, 4) | bit(d.folded, 5) | bit(d.by_block, 6) |
         bit(d.reload, 7) | bit(d.has_table, 8) | bit(d.has_residual, 9) | bit(d.load.used, 10) |
         bit(d.load.flip, 11) | bit(d.store.used, 12) | bit(d.store.flip, 13) |
         bit(d.windowed, 14) | static_cast<uint32_t>(d.rounding) << 16 |
         static_cast<uint32_t>(d.residual_rounding) << 20 | kFormatVersion << 24;
}

void TakeFlags(uint32_t word, Descriptor& d) {
  const auto bit = [word](int place) { return (word >> place & 1) != 0; };
  d.op = static_cast<LayerOp>(word & 15);
  d.last = bit(4);
  d.folded = bit(5);
  d.by_block = bit(6);
  d.reload = bit(7);
  d.has_table = bit(8);
  d.has_residual = bit(9);
  d.load.used = bit(10);
  d.load.flip = bit(11);
  d.store.used = bit(12);
  d.store.flip = bit(13);
  d.windowed = bit(14);
  d.rounding = static_cast<RoundingMode>(word >> 16 & 7);
  d.residual_rounding = static_cast<RoundingMode>(word >> 20 & 7);
}

uint32_t Bounds(const OutputBounds& bounds) {
  return Byte(bounds.zero_point) | Byte(bounds.least) << 8 | Byte(bounds.most) << 16;
}
OutputBounds BoundsOf(uint32_t word) {
  return {Signed(word), Signed(word >> 8), Signed(word >> 16)};
}

/// What the accelerator needs and other fields say: so that it does not multiply.
struct Derived {
  uint32_t in_group_words, out_group_words, kept_lines, all_lines, load_row_bytes,
      last_block_pixels;
};

Derived DerivedOf(const Descriptor& d) {
  Derived derived{};
  const uint32_t out_pixels = d.out_height * d.out_width;
  derived.in_group_words = d.in_group_words != 0 ? d.in_group_words : d.in_height * d.in_width;
  derived.out_group_words = d.out_group_words != 0 ? d.out_group_words : out_pixels;
  derived.kept_lines = d.by_block ? d.group_lines * d.out_groups : d.group_lines;
  derived.all_lines = d.group_lines * d.out_groups * (d.reload ? d.blocks : 1);
  derived.load_row_bytes = d.load.used ? d.in_width * d.load.pitch : 0;
  derived.last_block_pixels = out_pixels - (d.blocks - 1) * d.block_pixels;
  return derived;
}

Status CheckWindow(const Window& w, bool folded) {
  const auto in = [](uint32_t value) { return value >= 1 && value <= 15; };
  TENON_ENSURE(in(w.kernel_height) && in(w.kernel_width), kCorruptPlan,
               "a descriptor's kernel is not 1 to 15 high and wide");
  TENON_ENSURE(in(w.stride_height) && in(w.stride_width), kCorruptPlan,
               "a descriptor's strides are not 1 to 15");
  TENON_ENSURE(in(w.dilation_height) && in(w.dilation_width), kCorruptPlan,
               "a descriptor's dilations are not 1 to 15");
  TENON_ENSURE(!folded || (w.dilation_width == 1 && w.stride_width <= 4), kCorruptPlan,
               "a descriptor folds a window whose columns lie too far apart");
  return {};
}

Status CheckWindowed(const Descriptor& d) {
  const Window& w = d.window;
  TENON_ENSURE(d.op == LayerOp::kDepthwise && w.stride_height == w.stride_width &&
                   w.stride_width <= 2 && w.dilation_height == 1 && w.dilation_width == 1,
               kCorruptPlan, "a descriptor has windows of a layer whose taps do not lie together");
  TENON_ENSURE(d.blocks == 1 || d.block_pixels % (2 * d.out_width) == 0, kCorruptPlan,
               "a descriptor's blocks are not pairs of rows, which its windows want");
  return {};
}

Status CheckSizes(const Descriptor& d) {
  TENON_ENSURE(d.in_height > 0 && d.in_width > 0 && d.in_groups > 0 && d.out_height > 0 &&
                   d.out_width > 0 && d.out_groups > 0,
               kCorruptPlan, "a descriptor has an empty map");
  TENON_ENSURE(d.blocks > 0 && d.block_pixels > 0 && d.block_pixels % 2 == 0, kCorruptPlan,
               "a descriptor's blocks of pixels are empty or odd");
  const uint64_t pixels = uint64_t{d.out_height} * d.out_width;
  TENON_ENSURE(uint64_t{d.blocks} * d.block_pixels >= pixels &&
                   uint64_t{d.blocks - 1} * d.block_pixels < pixels,
               kCorruptPlan, "a descriptor's blocks do not divide its pixels");
  TENON_ENSURE(
      d.in_group_words >= uint64_t{d.in_height} * d.in_width && d.out_group_words >= pixels,
      kCorruptPlan, "a descriptor's groups overlap");
  TENON_ENSURE(!d.store.used || d.out_group_words == pixels, kCorruptPlan,
               "a descriptor stores some rows of a map");
  TENON_ENSURE(d.op == LayerOp::kConv || d.op == LayerOp::kTransfer || d.in_groups == d.out_groups,
               kCorruptPlan, "a descriptor's inputs and outputs differ in groups");
  TENON_ENSURE(!d.folded || (d.op == LayerOp::kConv && d.in_groups == 1 && d.out_width % 2 == 0),
               kCorruptPlan, "a descriptor folds what is no image, or rows of odd length");
  TENON_ENSURE(!d.folded || FoldedWindowsFit(d.in_width, d.window), kCorruptPlan,
               "a descriptor folds windows that lie in more than two words");
  return {};
}

Status CheckModes(const Descriptor& d) {
  TENON_ENSURE(d.op <= LayerOp::kMaxPool, kCorruptPlan, "a descriptor is of no kind of layer");
  TENON_ENSURE(d.rounding <= RoundingMode::kExactHalfEven &&
                   d.residual_rounding <= RoundingMode::kExactHalfEven,
               kCorruptPlan, "a descriptor rounds in no way that is known");
  TENON_ENSURE(d.residual_shift < 64 && d.residual_multiplier < 0x80000000U, kCorruptPlan,
               "a descriptor's factor of sums is out of range");
  TENON_ENSURE(!(d.by_block && d.reload), kCorruptPlan,
               "a descriptor keeps weights that it fetches again");
  TENON_ENSURE(!d.store.used || d.store.pitch == d.store.channels, kCorruptPlan,
               "a descriptor stores a map with gaps");
  TENON_ENSURE(d.weights.offset % 16 == 0 && d.plane_bytes % 16 == 0 && d.tables.offset % 16 == 0,
               kCorruptPlan, "a descriptor's weights or tables are not at a multiple of 16");
  return {};
}

}  // namespace

// A pair begins at a column that is a multiple of two strides, less the padding, in any row: modulo
// the pixels of a word, at any multiple of the divisor that all of these share, from the padding
// on.
bool FoldedWindowsFit(uint32_t in_width, const Window& window) {
  const uint32_t step = std::gcd(std::gcd(2 * window.stride_width, in_width), kFoldedPixels);
  const uint32_t least = (step - window.pad_left % step) % step;
  const uint32_t most = least + kFoldedPixels - step;
  const uint32_t taps = std::min(window.kernel_width, kFoldedPixels);
  return most + window.stride_width + taps <= 2 * kFoldedPixels;
}

uint32_t PassesOf(const Descriptor& d) {
  if (d.windowed) {
    return (d.window.kernel_height + kWindowTaps - 1) / kWindowTaps *
           ((d.window.kernel_width + kWindowTaps - 1) / kWindowTaps);
  }
  const uint32_t columns = d.folded ? (d.window.kernel_width + kFoldedPixels - 1) / kFoldedPixels
                                    : d.window.kernel_width;
  return d.window.kernel_height * columns * (d.op == LayerOp::kConv ? d.in_groups : 1);
}

void Encode(const Descriptor& d, uint32_t (&words)[kDescriptorWords]) {
  for (uint32_t& word : words) word = 0;
  const Derived derived = DerivedOf(d);
  const Window& w = d.window;
  words[0] = Flags(d);
  words[1] = d.input;
  words[2] = d.output;
  words[3] = d.residual;
  words[4] = Pair(d.in_height, d.in_width);
  words[5] = Pair(d.out_height, d.out_width);
  words[6] = Pair(d.in_groups, d.out_groups);
  words[7] = w.kernel_height | w.kernel_width << 4 | w.stride_height << 8 | w.stride_width << 12 |
             w.dilation_height << 16 | w.dilation_width << 20;
  words[8] = w.pad_top | w.pad_left << 8 | Byte(d.padding) << 16;
  words[9] = d.blocks;
  words[10] = d.block_pixels;
  words[11] = Bounds(d.bounds);
  words[12] = d.residual_multiplier;
  words[13] = d.residual_shift | Bounds(d.residual_bounds) << 8;
  words[14] = d.weights.base_register | d.load.address.base_register << 4 |
              d.store.address.base_register << 8 | d.tables.base_register << 12;
  words[15] = d.weights.offset;
  words[16] = d.plane_bytes;
  words[17] = d.group_lines;
  words[18] = d.tables.offset;
  words[19] = d.load.address.offset;
  words[20] = Pair(d.load.channels, d.load.pitch);
  words[21] = d.store.address.offset;
  words[22] = Pair(d.store.channels, d.store.pitch);
  words[23] = derived.in_group_words;
  words[24] = derived.out_group_words;
  words[25] = derived.kept_lines;
  words[26] = derived.all_lines;
  words[27] = derived.load_row_bytes;
  words[28] = derived.last_block_pixels;
  uint32_t sum = 0;
  for (const uint32_t word : words) sum += word;
  words[kDescriptorWords - 1] = kChecksum - sum;
}

Status Decode(const uint32_t (&words)[kDescriptorWords], Descriptor& d) {
  uint32_t sum = 0;
  for (const uint32_t word : words) sum += word;
  TENON_ENSURE(sum == kChecksum, kCorruptPlan, "a descriptor's checksum is wrong");
  TENON_ENSURE(words[0] >> 24 == kFormatVersion, kCorruptPlan,
               "a descriptor is of another version");
  d = Descriptor();
  TakeFlags(words[0], d);
  d.input = words[1];
  d.output = words[2];
  d.residual = words[3];
  d.in_height = Low(words[4]);
  d.in_width = High(words[4]);
  d.out_height = Low(words[5]);
  d.out_width = High(words[5]);
  d.in_groups = Low(words[6]);
  d.out_groups = High(words[6]);
  const auto field = [&](int place) { return words[7] >> place & 15; };
  d.window = {field(0),  field(4),  field(8),        field(12),
              field(16), field(20), words[8] & 0xFF, words[8] >> 8 & 0xFF};
  d.padding = Signed(words[8] >> 16);
  d.blocks = words[9];
  d.block_pixels = words[10];
  d.bounds = BoundsOf(words[11]);
  d.residual_multiplier = words[12];
  d.residual_shift = words[13] & 0xFF;
  d.residual_bounds = BoundsOf(words[13] >> 8);
  d.weights = {words[14] & 3, words[15]};
  d.plane_bytes = words[16];
  d.group_lines = words[17];
  d.tables = {words[14] >> 12 & 3, words[18]};
  d.load.address = {words[14] >> 4 & 3, words[19]};
  d.load.channels = Low(words[20]);
  d.load.pitch = High(words[20]);
  d.store.address = {words[14] >> 8 & 3, words[21]};
  d.store.channels = Low(words[22]);
  d.in_group_words = words[23];
  d.out_group_words = words[24];
  d.store.pitch = High(words[22]);
  TENON_RETURN_IF_ERROR(CheckModes(d));
  TENON_RETURN_IF_ERROR(CheckSizes(d));
  if (d.op != LayerOp::kTransfer) TENON_RETURN_IF_ERROR(CheckWindow(d.window, d.folded));
  if (d.windowed) TENON_RETURN_IF_ERROR(CheckWindowed(d));
  uint32_t again[kDescriptorWords];
  Encode(d, again);
  for (uint32_t i = 0; i < kDescriptorWords; ++i) {
    TENON_ENSURE(words[i] == again[i], kCorruptPlan,
                 "a descriptor's sizes do not follow from each other");
  }
  return {};
}

}  // namespace tenon::fpga::isa
