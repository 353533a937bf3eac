#include "tests/unit/backends/fpga/random_layers.hpp"

#include <algorithm>
#include <cstring>
#include <random>

namespace tenon::test {
namespace {

using namespace fpga::isa;  // NOLINT

constexpr uint32_t kLineBytes = 64;

class LayerMaker {
 public:
  LayerMaker(uint32_t seed, const Parameters& build, AcceleratorCode& code)
      : random_(seed), build_(build), code_(code) {}

  Descriptor Make() {
    ChooseKind();
    ChooseWindow();
    ChooseBlocks();
    ChooseArithmetic();
    PlaceOnChip();
    AddWeights();
    AddTables();
    PlaceInMemory();
    return d_;
  }

 private:
  uint32_t Between(uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random_() % (uint64_t{most} - least + 1));
  }
  bool OneIn(uint32_t n) { return Between(1, n) == 1; }
  uint8_t Byte() { return static_cast<uint8_t>(random_()); }
  int32_t SignedByte() { return static_cast<int32_t>(Between(0, 255)) - 128; }

  void ChooseKind() {
    const uint32_t kind = Between(0, 9);
    d_.windowed = kind == 2 || kind == 3;
    d_.op = kind == 0 || d_.windowed ? LayerOp::kDepthwise
            : kind == 1              ? LayerOp::kMaxPool
                                     : LayerOp::kConv;
    d_.folded = d_.op == LayerOp::kConv && OneIn(5) && build_.group == 32;
    inputs_ = d_.folded ? Between(1, 4) : Between(1, 3 * build_.group);
    outputs_ = d_.op == LayerOp::kConv ? Between(1, 3 * build_.group) : inputs_;
    d_.in_groups = (inputs_ + build_.group - 1) / build_.group;
    d_.out_groups = (outputs_ + build_.group - 1) / build_.group;
    d_.in_height = Between(1, 14);
    d_.in_width = Between(1, 17);
    d_.padding = SignedByte();
  }

  void ChooseWindow() {
    Window& w = d_.window;
    w.kernel_height = Between(1, OneIn(4) ? 15 : 4);
    w.kernel_width = d_.folded ? Between(1, 8) : Between(1, OneIn(4) ? 15 : 4);
    w.stride_height = Between(1, 4);
    w.stride_width = Between(1, 4);
    w.dilation_height = Between(1, 2);
    w.dilation_width = d_.folded ? 1 : Between(1, 2);
    if (d_.windowed) {
      w.stride_height = w.stride_width = Between(1, 2);
      w.dilation_height = w.dilation_width = 1;
    }
    w.pad_top = Between(0, w.kernel_height);
    w.pad_left = Between(0, w.kernel_width);
    // Those always lie in two words.
    if (d_.folded && !FoldedWindowsFit(d_.in_width, w)) {
      w.stride_width = Between(1, std::min(4U, 9 - w.kernel_width));
    }
    d_.out_height = Between(1, 12);
    d_.out_width = d_.folded ? 2 * Between(1, 6) : Between(1, 12);
  }

  void ChooseBlocks() {
    const uint32_t pixels = d_.out_height * d_.out_width;
    d_.block_pixels = std::min(build_.BlockPixels(), 2 * Between(1, 60));
    if (d_.windowed) d_.block_pixels = 2 * d_.out_width * Between(1, 4);
    d_.blocks = (pixels + d_.block_pixels - 1) / d_.block_pixels;
    d_.group_lines = Parameters::kFactorLines + PassesOf(d_) * build_.TileLines();
    d_.by_block = OneIn(3) && d_.group_lines * d_.out_groups <= build_.weight_lines;
    const bool is_kept = d_.by_block || d_.blocks == 1;
    d_.reload = !is_kept && (d_.group_lines > build_.weight_lines || OneIn(4));
  }

  void ChooseArithmetic() {
    d_.rounding = static_cast<RoundingMode>(Between(0, 4));
    d_.bounds.zero_point = SignedByte();
    if (OneIn(2)) {
      d_.bounds.least = static_cast<int32_t>(Between(0, 128)) - 128;
      d_.bounds.most = static_cast<int32_t>(Between(0, 127));
    }
    if (d_.op == LayerOp::kMaxPool) d_.rounding = RoundingMode::kExactHalfEven;
    d_.has_table = OneIn(3);
    d_.has_residual = OneIn(3);
    d_.residual_rounding = static_cast<RoundingMode>(Between(0, 4));
    d_.residual_multiplier = 0x40000000U + (Between(0, 1000) << 16);
    d_.residual_shift = Between(8, 14);
    d_.residual_bounds = {static_cast<int32_t>(Between(0, 20)) - 10, -100, 120};
  }

  void PlaceOnChip() {
    const uint32_t pixels = d_.in_height * d_.in_width;
    const uint32_t in_words =
        d_.folded ? (4 * pixels + build_.group - 1) / build_.group + 1 : pixels * d_.in_groups;
    const uint32_t out_words = d_.out_height * d_.out_width * d_.out_groups;
    d_.input = Between(0, 100);
    d_.output = d_.input + in_words + Between(0, 50);
    d_.residual = OneIn(2) ? d_.output : d_.output + out_words + Between(0, 20);
  }

  void AddLines(const std::vector<uint8_t>& bytes, std::vector<uint8_t> (&planes)[4]) {
    for (size_t line = 0; line < bytes.size(); line += kLineBytes) {
      for (size_t p = 0; p < 4; ++p) {
        const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(line + 16 * p);
        planes[p].insert(planes[p].end(), from, from + 16);
      }
    }
  }

  std::vector<uint8_t> Factors() {
    std::vector<uint8_t> lines(Parameters::kFactorLines * kLineBytes, 0);
    for (uint32_t c = 0; c < build_.group; ++c) {
      auto bias = static_cast<int32_t>(Between(0, 20000)) - 10000;
      // What a float's mantissa can be.
      uint32_t multiplier = 0x40000000U + (OneIn(2) ? 0 : Between(0, (1U << 22) - 1) << 8);
      auto shift = static_cast<uint8_t>(Between(4, 14));
      if (d_.op == LayerOp::kMaxPool) {
        bias = 0;
        multiplier = 0x40000000U;
        shift = 0;
      }
      std::memcpy(lines.data() + 4 * c, &bias, sizeof bias);
      std::memcpy(lines.data() + 2 * kLineBytes + 4 * c, &multiplier, sizeof multiplier);
      lines[4 * kLineBytes + c] = shift;
    }
    return lines;
  }

  /// Of windows beyond the kernel weights are zero: what lies there is not read.
  bool IsTap(uint32_t pass, uint32_t tap) const {
    const uint32_t columns = (d_.window.kernel_width + kWindowTaps - 1) / kWindowTaps;
    return tap < kWindowTaps * kWindowTaps &&
           pass / columns * kWindowTaps + tap / kWindowTaps < d_.window.kernel_height &&
           pass % columns * kWindowTaps + tap % kWindowTaps < d_.window.kernel_width;
  }

  std::vector<uint8_t> Tile(uint32_t pass) {
    std::vector<uint8_t> tile(size_t{build_.group} * build_.group, 0);
    for (uint32_t i = 0; i < tile.size(); ++i) {
      const bool is_diagonal = i / build_.group == i % build_.group;
      // Of an image what lies beyond the kernel's row means nothing: its weights are zero.
      if (d_.folded && i % build_.group >= 4 * d_.window.kernel_width) continue;
      if (d_.windowed) {
        if (IsTap(pass, i % build_.group)) tile[i] = Byte();
      } else if (d_.op == LayerOp::kMaxPool) {
        tile[i] = is_diagonal ? 2 : 0;
      } else if (d_.op == LayerOp::kConv || is_diagonal) {
        tile[i] = Byte();
      }
    }
    return tile;
  }

  void AddWeights() {
    std::vector<uint8_t> planes[4];
    for (uint32_t g = 0; g < d_.out_groups; ++g) {
      for (uint32_t pass = 0; pass < PassesOf(d_); ++pass) AddLines(Tile(pass), planes);
      AddLines(Factors(), planes);
    }
    d_.weights = {1, static_cast<uint32_t>(code_.constants.size())};
    d_.plane_bytes = static_cast<uint32_t>(planes[0].size());
    for (const auto& plane : planes) {
      code_.constants.insert(code_.constants.end(), plane.begin(), plane.end());
    }
  }

  void AddTables() {
    d_.tables = {1, static_cast<uint32_t>(code_.constants.size())};
    for (int i = 0; i < 256; ++i) code_.constants.push_back(Byte());
    for (int i = 0; i < 2 * 256; ++i) {
      const auto value = static_cast<int32_t>(Between(0, 1U << 20)) - (1 << 19);
      uint8_t bytes[4];
      std::memcpy(bytes, &value, sizeof value);
      code_.constants.insert(code_.constants.end(), bytes, bytes + 4);
    }
  }

  void PlaceInMemory() {
    const uint32_t pitch = inputs_ + (OneIn(3) ? Between(1, 70) : 0);
    auto begin = static_cast<uint32_t>(code_.arena.size()) + Between(0, 40);
    d_.load = {true, {0, begin}, inputs_, pitch, OneIn(2)};
    code_.arena.resize(begin + size_t{d_.in_height} * d_.in_width * pitch);
    for (size_t i = begin; i < code_.arena.size(); ++i) code_.arena[i] = Byte();
    begin = static_cast<uint32_t>(code_.arena.size()) + Between(0, 40);
    d_.store = {true, {0, begin}, outputs_, outputs_, OneIn(2)};
    code_.arena.resize(begin + size_t{d_.out_height} * d_.out_width * outputs_ + 40, 0x11);
  }

  std::mt19937 random_;
  const Parameters& build_;
  AcceleratorCode& code_;
  Descriptor d_;
  uint32_t inputs_ = 0;
  uint32_t outputs_ = 0;
};

}  // namespace

void AddDescriptor(const Descriptor& descriptor, AcceleratorCode& code) {
  uint32_t words[kDescriptorWords];
  Encode(descriptor, words);
  const auto* bytes = reinterpret_cast<const uint8_t*>(words);
  code.descriptors.insert(code.descriptors.end(), bytes, bytes + kDescriptorBytes);
}

namespace {

void SetOutputRows(uint32_t rows, Descriptor& d) {
  d.out_height = rows;
  const uint32_t pixels = rows * d.out_width;
  d.blocks = (pixels + d.block_pixels - 1) / d.block_pixels;
  d.reload = d.reload && d.blocks > 1;
}

/// The same layer as rows [0, `rows`) and the rest, and a transfer that stores what both left;
/// false if the rest would begin within a word of an image, or beyond the input.
bool AddInBands(const Descriptor& d, uint32_t rows, AcceleratorCode& code) {
  const auto first =
      static_cast<int32_t>(rows * d.window.stride_height) - static_cast<int32_t>(d.window.pad_top);
  const uint32_t above = static_cast<uint32_t>(std::max(first, 0));
  constexpr uint32_t kFoldedPixels = 8;
  const uint32_t pixels_above = above * d.in_width;
  if (above >= d.in_height || (d.folded && pixels_above % kFoldedPixels != 0)) return false;
  Descriptor upper = d;
  upper.last = upper.store.used = false;
  upper.in_group_words = d.in_height * d.in_width;
  upper.out_group_words = d.out_height * d.out_width;
  Descriptor lower = upper;
  SetOutputRows(rows, upper);
  SetOutputRows(d.out_height - rows, lower);
  lower.load.used = false;
  lower.window.pad_top = static_cast<uint32_t>(std::max(-first, 0));
  lower.in_height -= above;
  lower.input += d.folded ? pixels_above / kFoldedPixels : pixels_above;
  lower.output += rows * d.out_width;
  lower.residual += rows * d.out_width;
  Descriptor store;
  store.last = d.last;
  store.store = d.store;
  store.input = store.output = d.output;
  store.in_height = store.out_height = d.out_height;
  store.in_width = store.out_width = d.out_width;
  store.in_groups = store.out_groups = d.out_groups;
  store.block_pixels = (d.out_height * d.out_width + 1) / 2 * 2;
  for (const Descriptor& descriptor : {upper, lower, store}) AddDescriptor(descriptor, code);
  return true;
}

}  // namespace

AcceleratorCode RandomLayers(uint32_t seed, int layers, const Parameters& build, bool residuals) {
  AcceleratorCode code;
  for (int i = 0; i < layers; ++i) {
    Descriptor descriptor = LayerMaker(seed * 100 + static_cast<uint32_t>(i), build, code).Make();
    descriptor.last = i + 1 == layers;
    descriptor.has_residual = descriptor.has_residual && residuals;
    const bool in_bands = i % 3 == 1 && descriptor.out_height > 1;
    if (in_bands && AddInBands(descriptor, (descriptor.out_height + 1) / 2, code)) continue;
    AddDescriptor(descriptor, code);
  }
  return code;
}

}  // namespace tenon::test
