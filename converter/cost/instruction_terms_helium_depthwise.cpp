// Mirrors backends/cpu/kernels/cortex_m/depthwise.cpp with simd/helium.
#include "converter/cost/helium_counts.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace helium;
using cpu::cortex_m::kBlockChannels;
using cpu::cortex_m::kDepthwisePixels;

/// A depthwise convolution's walk.
class DepthwiseCounts {
 public:
  explicit DepthwiseCounts(const Context& context)
      : context_(context), g_(ConvGeometryOf(context.call())) {
    const int last = g_.in_extent[1] - 1 - (g_.kernel[1] - 1) * g_.dilations[1];
    while (begin_ < g_.out_extent[1] && begin_ * g_.strides[1] - g_.pads[1] < 0) ++begin_;
    end_ = begin_;
    while (end_ < g_.out_extent[1] && end_ * g_.strides[1] - g_.pads[1] <= last) ++end_;
    most_segments_ = std::min(kMostPointers / g_.Taps(), kMostSegments);
  }

  bool Run() {
    const OpCall& call = context_.call();
    const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
    const TensorView& w = call.Input(In::kWeights);
    const auto* const weights = w.As<const int8_t>();
    // Weights of -128 use another routine.
    if (std::find(weights, weights + w.Elements(), INT8_MIN) != weights + w.Elements())
      return false;
    const bool runs = IsWhole(output) && AreToTheRight(call);
    if (!runs) context_.terms.model += " apart";
    const int64_t channels = g_.outputs;
    const int64_t blocks = CeilDiv<int64_t>(channels, kBlockChannels);
    context_.Add("weight_vectors", Vectors(w.Elements()));
    context_.Add("padding_vectors", Vectors(channels));
    if (!cpu::cortex_m::HasFinalBias(call)) {
      context_.Add("bias_blocks", blocks);
      context_.Add("bias_taps", blocks * g_.Taps());
    }
    const InPlaceCounts in_place(context_, cpu::cortex_m::DepthwiseWorkspaceBytes(call, 1));
    const bool dense = in_place.is_in_place() || g_.y.row == g_.out_extent[1] * g_.y.pixel;
    in_place.ForEach(g_.images, [&](int first, int count) {
      for (int row = first, column = 0; row < first + count;) {
        SetSegments(dense ? first + count : 0, row, column);
      }
    });
    in_place.NameModel();
    if (in_place.is_in_place()) {
      context_.Add("in_place", 1);
      context_.Add("turns", in_place.Turns(g_.images));
      context_.Add("stored_rows", int64_t{g_.images} * g_.out_extent[0]);
      context_.Add("stored_bytes", in_place.StoredBytes(g_.images));
      context_.Add("held_bytes", in_place.HeldBytes(g_.images));
    }
    const bool has_factors = call.Input(In::kMultiplier).dims[0] != 1;
    const int64_t partial = !has_factors ? blocks : (channels % kBlockChannels != 0 ? 1 : 0);
    context_.Add("rows", rows_);
    context_.Add("starts", starts_);
    context_.Add("segments", segments_);
    context_.Add("segment_rows", segments_ * g_.kernel[0]);
    context_.Add("segment_taps", segments_ * g_.Taps());
    context_.Add("block_starts", starts_ * blocks);
    context_.Add("partial_starts", starts_ * partial);
    context_.Add("block_segments", segments_ * blocks);
    context_.Add("block_pixels", pixels_ * blocks);
    if (g_.Taps() % 2 != 0) context_.Add("block_pixels_odd", pixels_ * blocks);
    context_.Add("block_pixel_pairs", pixels_ * blocks * (g_.Taps() / 2));
    context_.Add("partial_pixels", channels % kBlockChannels != 0 ? pixels_ : 0);
    context_.Add("partial_pixel_pairs",
                 channels % kBlockChannels != 0 ? pixels_ * (g_.Taps() / 2) : 0);
    return true;
  }

 private:
  static constexpr int kMostSegments = 12;
  static constexpr int kMostPointers = 128;

  void SetSegments(int dense_end, int& row, int& column) {
    const int columns = g_.out_extent[1];
    int done = 0;
    int segments = 0;
    ++starts_;
    do {
      ++rows_;
      const int start = row * g_.strides[0] - g_.pads[0];
      const bool inside =
          start >= 0 && start + (g_.kernel[0] - 1) * g_.dilations[0] < g_.in_extent[0];
      while (column < columns && segments < most_segments_ && done < kDepthwisePixels) {
        int count = 1;
        if (inside && column >= begin_ && column < end_) {
          count = std::min(end_ - column, kDepthwisePixels - done);
        }
        ++segments;
        done += count;
        column += count;
      }
      if (column < columns) break;
      column = 0;
      ++row;
    } while (row < dense_end && segments < most_segments_ && done < kDepthwisePixels);
    segments_ += segments;
    pixels_ += done;
  }

  const Context& context_;
  ConvGeometry g_;
  int begin_ = 0, end_ = 0, most_segments_ = 0;
  int64_t rows_ = 0, starts_ = 0, segments_ = 0, pixels_ = 0;
};

}  // namespace

bool HeliumDepthwise(const Context& context) { return DepthwiseCounts(context).Run(); }

}  // namespace tenon::converter::instructions
