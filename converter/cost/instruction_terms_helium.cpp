// Mirrors backends/cpu/kernels/cortex_m/{conv,gemm,matmul,elementwise}.cpp with simd/helium.
#include "converter/cost/helium_counts.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace helium;

/// Adds what SetRescale does once.
void NameModel(const Context& context, const QuantizedOutput& output) {
  if (output.rounding == Rounding::kFixedPointOnce) context.terms.model += " once";
  if (output.rounding == Rounding::kHalfEven) context.terms.model += " half_even";
}

/// A convolution's walk over its positions.
class HeliumConvCounts {
 public:
  explicit HeliumConvCounts(const Context& context)
      : context_(context),
        call_(context.call()),
        g_(ConvGeometryOf(call_)),
        gemm_(context, call_.AttributesAs<QuantizedConvAttributes>().output, g_.outputs),
        in_place_(context, cpu::cortex_m::ConvWorkspaceBytes(call_, 1)) {
    for (int i = 0; i < 2; ++i) {
      if (g_.out_extent[i] == 1) g_.strides[i] = 1;
      if (g_.kernel[i] == 1) g_.dilations[i] = 1;
      FindInside(i);
    }
    channels_ = call_.Input(In::kWeights).dims[1];
    has_runs_ = g_.kernel[1] == 1 || (g_.dilations[1] == 1 && g_.x.pixel == channels_);
    depth_ = channels_ * g_.Taps();
    gathers_ = !cpu::cortex_m::IsInPlacePointwise(call_);
    if (gathers_) most_ = cpu::cortex_m::GatheredPixels(call_, in_place_.OwnBytes());
    if (!in_place_.is_in_place()) return;
    g_.y.pixel = g_.outputs;
    g_.y.row = int64_t{g_.outputs} * g_.out_extent[1];
  }

  void Run() {
    AddBiasSums(context_, g_.outputs, depth_);
    in_place_.ForEach(g_.images, [&](int first, int count) { RunRows(first, count); });
    if (in_place_.is_in_place()) AddStores();
    gemm_.Finish();
    context_.Add("gathered", gathered_);
    context_.Add("gathered_edges", edges_);
    context_.Add("filled_vectors", filled_);
    context_.Add("copies", copies_);
    context_.Add("copied_columns", columns_);
    context_.Add("copied_vectors", vectors_);
    context_.Add("copied_runs_16", runs_16_);
    context_.Add("rows", rows_done_);
  }

 private:
  void AddStores() {
    in_place_.NameModel();
    copies_ += int64_t{g_.images} * g_.out_extent[0] + in_place_.Turns(g_.images);
    const int64_t bytes = in_place_.StoredBytes(g_.images) + in_place_.HeldBytes(g_.images);
    vectors_ += Vectors(bytes);
  }

  void FindInside(int axis) {
    const int reach = (g_.kernel[axis] - 1) * g_.dilations[axis];
    int& begin = begin_[axis];
    int& end = end_[axis];
    const auto start = [&](int output) { return output * g_.strides[axis] - g_.pads[axis]; };
    while (begin < g_.out_extent[axis] && start(begin) < 0) ++begin;
    end = g_.out_extent[axis];
    while (end > begin && start(end - 1) + reach >= g_.in_extent[axis]) --end;
  }
  [[nodiscard]] bool Has(int axis, int output) const {
    return output >= begin_[axis] && output < end_[axis];
  }

  void RunRows(int first, int count) {
    const int64_t pixels = int64_t{count} * g_.out_extent[1];
    const bool dense_y = g_.out_extent[0] == 1 || g_.y.row == g_.y.pixel * g_.out_extent[1];
    const bool dense_x = g_.in_extent[0] == 1 || g_.x.row == g_.x.pixel * g_.in_extent[1];
    if (!gathers_) {
      const bool one_row = g_.out_extent[0] == 1 || (dense_x && dense_y);
      if (one_row) return gemm_.Add(pixels, 1, channels_, g_.x.pixel == channels_);
      for (int row = 0; row < count; ++row) InPlace(g_.out_extent[1]);
      return;
    }
    const bool inside = begin_[0] == 0 && end_[0] == g_.out_extent[0] && begin_[1] == 0 &&
                        end_[1] == g_.out_extent[1];
    if (g_.kernel[0] == 1 && g_.kernel[1] == 1 && inside && dense_y) return GatherPixels(pixels);
    const bool long_runs = has_runs_ && g_.kernel[1] * channels_ >= kVectorBytes;
    if (!long_runs && dense_y) return Gathered(first, 0, 1, pixels);
    for (int row = first; row < first + count; ++row) {
      ++rows_done_;
      if (long_runs && Has(0, row)) {
        const int after = g_.out_extent[1] - end_[1];
        if (begin_[1] == 1 && after == 1) {
          Gathered(row, 0, end_[1], 2);
        } else {
          Gathered(row, 0, 1, begin_[1]);
          Gathered(row, end_[1], 1, after);
        }
        InPlace(end_[1] - begin_[1]);
      } else {
        Gathered(row, 0, 1, g_.out_extent[1]);
      }
    }
  }

  void InPlace(int64_t count) {
    gemm_.Add(count, g_.kernel[0], g_.kernel[1] * channels_,
              g_.x.pixel * g_.strides[1] == g_.kernel[1] * channels_);
  }

  void CopyRuns(int64_t runs, int64_t run_bytes) {
    ++copies_;
    if (run_bytes == kVectorBytes) {
      runs_16_ += runs;
      return;
    }
    columns_ += Vectors(run_bytes);
    vectors_ += runs * Vectors(run_bytes);
  }

  void GatherPixels(int64_t pixels) {
    int64_t column = 0;
    for (int64_t done = 0; done < pixels;) {
      const int64_t most = std::min<int64_t>(pixels - done, most_);
      int64_t count = 0;
      while (count < most) {
        const int64_t runs = std::min<int64_t>(g_.out_extent[1] - column, most - count);
        CopyRuns(runs, channels_);
        count += runs;
        column = (column + runs) % g_.out_extent[1];
      }
      gemm_.Add(count, 1, channels_, true);
      done += count;
    }
  }

  void Gathered(int row, int column, int step, int64_t count) {
    while (count > 0) {
      const int64_t now = std::min<int64_t>(count, most_);
      for (int64_t i = 0; i < now; ++i) {
        Gather(row, column);
        column += step;
        if (column < g_.out_extent[1]) continue;
        column -= g_.out_extent[1];
        ++row;
      }
      gemm_.Add(now, 1, depth_, true);
      count -= now;
    }
  }

  void Gather(int row, int column) {
    ++gathered_;
    const int outputs[2] = {row, column};
    int64_t taps[2] = {g_.kernel[0], g_.kernel[1]};
    if (!Has(0, row) || !Has(1, column)) {
      ++edges_;
      filled_ += Vectors(depth_);
      for (int i = 0; i < 2; ++i) {
        int64_t inside = 0;
        for (int tap = 0; tap < g_.kernel[i]; ++tap) {
          const int at = outputs[i] * g_.strides[i] - g_.pads[i] + tap * g_.dilations[i];
          inside += at >= 0 && at < g_.in_extent[i] ? 1 : 0;
        }
        taps[i] = inside;
      }
      if (taps[0] == 0 || taps[1] == 0) return;
    }
    if (has_runs_) return CopyRuns(taps[0], taps[1] * channels_);
    for (int64_t tap = 0; tap < taps[1]; ++tap) CopyRuns(taps[0], channels_);
  }

  const Context& context_;
  const OpCall& call_;
  ConvGeometry g_;
  GemmCounts gemm_;
  InPlaceCounts in_place_;
  int begin_[2] = {};
  int end_[2] = {};
  int64_t channels_ = 0, depth_ = 0, most_ = 0;
  bool has_runs_ = false, gathers_ = false;
  int64_t gathered_ = 0, edges_ = 0, filled_ = 0, copies_ = 0, columns_ = 0, vectors_ = 0;
  int64_t runs_16_ = 0, rows_done_ = 0;
};

}  // namespace

bool HeliumConv(const Context& context) {
  NameModel(context, context.call().AttributesAs<QuantizedConvAttributes>().output);
  HeliumConvCounts(context).Run();
  return true;
}

bool HeliumMatMul(const Context& context) {
  const OpCall& call = context.call();
  const auto& output = call.AttributesAs<QuantizedMatMulAttributes>().output;
  const TensorView& a = call.Input(In::kX);
  const int64_t outputs = call.Output().dims[call.Output().rank - 1];
  const int64_t depth = a.dims[a.rank - 1];
  NameModel(context, output);
  AddBiasSums(context, outputs, depth);
  GemmCounts gemm(context, output, outputs);
  gemm.Add(call.Output().Elements() / outputs, 1, depth, true);
  gemm.Finish();
  if (output.rounding == Rounding::kFixedPointOnce) {
    context.Add("rounded_once", call.Output().Elements());
  }
  return true;
}

bool HeliumBinary(const Context& context) {
  const auto& a = context.call().AttributesAs<QuantizedBinaryAttributes>();
  const bool is_plain = a.function == BinaryFunction::kAdd && a.x_scale.shift <= 0 &&
                        a.y_scale.shift <= 0 && a.output_scale.shift <= 0 && IsWhole(a.output);
  const int64_t elements = context.call().Output().Elements();
  constexpr int64_t kLanes = 4;
  if (!is_plain) context.terms.model += " any";
  context.Add("fours", elements / kLanes);
  context.Add("singles", elements % kLanes);
  return true;
}

}  // namespace tenon::converter::instructions
