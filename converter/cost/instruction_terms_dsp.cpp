// Mirrors backends/cpu/kernels/cortex_m/simd/dsp.
#include <algorithm>
#include <string_view>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "converter/cost/dsp_kinds.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace dsp;
using cpu::dsp::ConvBand;
using cpu::dsp::ConvMode;

/// A convolution's passes.
class DspConvCounts {
 public:
  explicit DspConvCounts(const Context& context)
      : context_(context),
        call_(context.call()),
        g_(ConvGeometryOf(call_)),
        band_(cpu::dsp::ConvBandOf(call_, context.facts.workspace_bytes)),
        depth_(call_.Input(In::kWeights).Elements() / g_.outputs) {
    Join();
  }

  bool Run() {
    const auto& output = call_.AttributesAs<QuantizedConvAttributes>().output;
    const Kind kind = NameKind(context_, output, depth_);
    if (!IsPlain(call_)) return false;
    stores_sums_ = kind == Kind::kAny;
    context_.Add("factors", call_.Input(In::kMultiplier).Elements());
    is_signed_ = kind == Kind::kDoubled && output.zero_point != output.min;
    const bool copies = context_.operands.kernel().ends_with("_in_place");
    const bool goes_by_parts =
        copies && !cpu::dsp::KeepsInputs(call_, context_.facts.workspace_bytes);
    if (!goes_by_parts && kind != Kind::kAny && IsQuadwise(copies)) {
      AddQuads(copies);
      return true;
    }
    if (copies) {  // passes have what they need of x in the workspace, and are as elsewhere
      constexpr std::string_view kInPlace = "_in_place";
      context_.terms.model.erase(context_.terms.model.find(kInPlace), kInPlace.size());
    }
    if (goes_by_parts && !AddParts()) return false;
    constexpr const char* kModes[] = {" pixels", " windows", " rows"};
    context_.terms.model += kModes[static_cast<int>(band_.mode)];
    constexpr int kManyOutputs = 32;
    if (kind == Kind::kDoubled && g_.outputs >= kManyOutputs) context_.terms.model += " doubled_x";
    if (!goes_by_parts) AddPasses();
    AddAll();
    return true;
  }

 private:
  void AddPasses() {
    for (int image = 0; image < g_.images; ++image) {
      for (int column = 0; column < g_.out_extent[1]; column += band_.columns) {
        for (int row = 0; row < g_.out_extent[0]; row += band_.rows) AddPass(row, column);
      }
    }
  }

  /// With a workspace that is too small for what passes need of x, a few rows at a time are a
  /// convolution of their own, which is then stored. Returns false where these do not all go the
  /// same way.
  bool AddParts() {
    const int at_once = cpu::InPlaceNewRows(call_);
    constexpr size_t kStep = 16;
    const size_t rows_bytes = RoundUp(cpu::InPlaceRowsBytes(call_, at_once), kStep);
    const int rows = g_.out_extent[0];
    const int images = g_.images;
    int64_t parts = 0;
    for (int image = 0; image < images; ++image) {
      for (int first = 0; first < rows; first += at_once) {
        const int count = std::min(at_once, rows - first);
        const cpu::InPlacePart part(call_, image, first, count, nullptr);
        const ConvBand band =
            cpu::dsp::ConvBandOf(part.call(), context_.facts.workspace_bytes - rows_bytes);
        if (band.mode == ConvMode::kPixels || (parts > 0 && band.mode != band_.mode)) return false;
        band_ = band;
        g_ = ConvGeometryOf(part.call());
        last_rows_ = last_columns_ = 0;
        AddPasses();
        ++parts;
      }
    }
    for (CostTerm& term : context_.terms.terms) term.amount *= static_cast<double>(parts);
    // Storing takes less than widening as many bytes.
    const auto row_bytes = static_cast<int64_t>(cpu::InPlaceRowBytes(call_));
    const int64_t moved = int64_t{images} * rows + parts * cpu::InPlaceHeldRows(call_);
    widened_ += CeilDiv<int64_t>(moved * row_bytes, 4);
    return true;
  }

  /// Makes the pixels of a pointwise convolution one row if their steps allow it.
  void Join() {
    int64_t x_step = 0;
    int64_t y_step = 0;
    if (!IsPointwiseConv(call_) || g_.strides[0] != 1 || g_.strides[1] != 1 ||
        !HasEvenPixels(call_.Input(In::kX), &x_step) || !HasEvenPixels(call_.Output(), &y_step)) {
      return;
    }
    g_.in_extent[1] = g_.out_extent[1] = g_.images * g_.out_extent[0] * g_.out_extent[1];
    g_.in_extent[0] = g_.out_extent[0] = g_.images = 1;
    band_.rows = 1;
    band_.columns = band_.pixels;
  }

  [[nodiscard]] bool IsQuadwise(bool copies) const {
    constexpr int kQuad = 4;
    if (band_.mode != ConvMode::kPixels || band_.steps < 1 || g_.outputs % kQuad != 0) return false;
    const int64_t pixels = g_.Pixels();
    const int64_t room = static_cast<int64_t>(context_.facts.workspace_bytes) -
                         depth_ * kQuad * static_cast<int64_t>(sizeof(int16_t));
    if (room < (copies ? pixels * g_.inputs : 0)) return false;
    const int64_t passes = CeilDiv<int64_t>(g_.out_extent[0], band_.rows) *
                           CeilDiv<int64_t>(g_.out_extent[1], band_.columns) * g_.images;
    return cpu::dsp::QuadsPay(pixels, passes, band_.steps);
  }

  void AddQuads(bool copies) const {
    context_.terms.model += " quads";
    const int64_t quads = g_.outputs / 4;
    const int64_t steps = depth_ / 4;
    const int64_t rows = int64_t{g_.images} * g_.out_extent[0];
    context_.Add("quads", quads);
    context_.Add("quad_steps", quads * steps);
    context_.Add("quad_rows", quads * rows);
    context_.Add("quad_pixels", quads * g_.Pixels());
    context_.Add("signed_pixels", is_signed_ ? quads * g_.Pixels() : 0);
    context_.Add("quad_pixel_steps", quads * g_.Pixels() * steps);
    if (!copies) return;
    context_.Add("copied_pixels", g_.Pixels());
    context_.Add("copied_words", g_.Pixels() * (g_.inputs / 4));
  }

  void AddPass(int row, int column) {
    const int rows = std::min(band_.rows, g_.out_extent[0] - row);
    const int columns = std::min(band_.columns, g_.out_extent[1] - column);
    ++passes_;
    const int64_t pixels = int64_t{rows} * columns;
    if (rows != last_rows_ || columns != last_columns_) listed_ += pixels;
    last_rows_ = rows;
    last_columns_ = columns;
    const int64_t pairs = CeilDiv<int64_t>(pixels, 2);
    pairs_ += pairs;
    switch (band_.mode) {
      case ConvMode::kPixels:
        load_rows_ += rows;
        load_pairs_ += rows * CeilDiv<int64_t>(columns, 2);
        break;
      case ConvMode::kWindows:
        load_pairs_ += pairs;
        for (int i = row; i < row + rows; ++i) {
          for (int j = column; j < column + columns; ++j) Gather(i, j);
        }
        break;
      case ConvMode::kRows:
        LoadRows(row, column, rows, columns);
        break;
    }
  }

  void LoadRows(int row, int column, int rows, int columns) {
    const int needed = (rows - 1) * g_.strides[0] + (g_.kernel[0] - 1) * g_.dilations[0] + 1;
    const int width = (columns - 1) * g_.strides[1] + (g_.kernel[1] - 1) * g_.dilations[1] + 1;
    int first = 0;
    const int shift = band_.rows * g_.strides[0];
    if (row > 0 && band_.in_rows > shift) {
      first = std::min(band_.in_rows - shift, needed);
      moved_ += CeilDiv<int64_t>(int64_t{first} * band_.row_halves, 4);
    }
    const int top = row * g_.strides[0] - g_.pads[0];
    const int left = column * g_.strides[1] - g_.pads[1];
    for (int i = first; i < needed; ++i) {
      const int at = top + i;
      if (at < 0 || at >= g_.in_extent[0]) {
        zeroed_ += CeilDiv<int64_t>(band_.row_halves, 4);
        ++load_rows_;
        continue;
      }
      const int before = left < 0 ? std::min(-left, width) : 0;
      const int room = g_.in_extent[1] - left;
      const int end = std::max(std::min(room, width), before);
      ++load_rows_;
      widened_ += int64_t{end - before} * g_.inputs / 4;
      if (g_.x.pixel != g_.inputs) widened_pixels_ += end - before;
      zeroed_ += CeilDiv<int64_t>(int64_t{width - (end - before)} * g_.inputs, 4);
    }
  }

  void Gather(int row, int column) {
    const int top = row * g_.strides[0] - g_.pads[0];
    const int left = column * g_.strides[1] - g_.pads[1];
    const int reach = (g_.kernel[1] - 1) * g_.dilations[1];
    const bool is_row = g_.dilations[1] == 1 && g_.x.pixel == g_.inputs;
    const bool is_inside = left >= 0 && left + reach < g_.in_extent[1];
    const int64_t bytes = int64_t{g_.kernel[1]} * g_.inputs;
    ++gathered_;
    for (int i = 0; i < g_.kernel[0]; ++i) {
      const int at = top + i * g_.dilations[0];
      if (at < 0 || at >= g_.in_extent[0]) {
        AddFill(bytes);
        continue;
      }
      if (is_row && is_inside) {
        ++window_rows_;
        copied_words_ += bytes / 4;
        copied_bytes_ += bytes % 4;
      } else if (is_row) {
        ++edge_rows_;
        const int taps = g_.kernel[1];
        const int64_t before = left >= 0 ? 0 : std::min(-left, taps);
        const int64_t end = std::min(g_.in_extent[1] - left, taps);
        if (before > 0) AddFill(before * g_.inputs);
        if (end > before) AddCopy((end - before) * g_.inputs);
        if (taps > std::max(end, before)) AddFill((taps - std::max(end, before)) * g_.inputs);
      } else {
        for (int j = 0; j < g_.kernel[1]; ++j) {
          const int place = left + j * g_.dilations[1];
          place < 0 || place >= g_.in_extent[1] ? AddFill(g_.inputs) : AddCopy(g_.inputs);
        }
      }
    }
    padded_bytes_ += int64_t{band_.steps} * 4 - depth_;
  }

  void AddFill(int64_t bytes) {
    ++fills_;
    filled_words_ += bytes / 4;
    filled_bytes_ += bytes % 4;
  }
  void AddCopy(int64_t bytes) {
    ++copies_;
    copied_words_ += bytes / 4;
    copied_bytes_ += bytes % 4;
  }

  void AddAll() const {
    const Context& c = context_;
    const int64_t words = int64_t{band_.runs} * band_.steps;
    const int64_t whole = g_.outputs / 2;
    const int64_t odd = g_.outputs % 2;
    const bool in_rows = band_.mode == ConvMode::kRows;
    const int64_t rounds = in_rows ? band_.runs * CeilDiv(band_.steps, 4) : CeilDiv(band_.steps, 8);
    c.Add("stored", stores_sums_ ? 2 * pairs_ * g_.outputs : 0);
    c.Add("passes", passes_);
    c.Add("listed_pixels", listed_);
    c.Add("load_rows", load_rows_);
    c.Add("load_pairs", load_pairs_);
    c.Add("load_pair_words", load_pairs_ * band_.steps);
    c.Add("moved_words", moved_);
    c.Add("zeroed_words", zeroed_);
    c.Add("widened_words", widened_);
    c.Add("widened_pixels", widened_pixels_);
    c.Add("gathered", gathered_);
    c.Add("window_rows", window_rows_);
    c.Add("edge_rows", edge_rows_);
    c.Add("copies", copies_);
    c.Add("copied_words", copied_words_);
    c.Add("copied_bytes", copied_bytes_);
    c.Add("fills", fills_);
    c.Add("filled_words", filled_words_);
    c.Add("filled_bytes", filled_bytes_);
    c.Add("padded_bytes", padded_bytes_);
    c.Add("pass_pairs", passes_ * whole);
    c.Add("pass_pair_words", passes_ * (whole + odd) * words);
    c.Add("row_copies", depth_ % 4 != 0 ? passes_ * depth_ : 0);
    c.Add("products", pairs_ * (whole + odd));
    c.Add("signed_products", is_signed_ ? pairs_ * whole : 0);
    c.Add("product_runs", pairs_ * (whole + odd) * band_.runs);
    c.Add("product_rounds", pairs_ * (whole + odd) * rounds);
    c.Add("product_words", pairs_ * (whole + odd) * words);
    c.Add("pass_singles", passes_ * odd);
    c.Add("single_pixels", 2 * pairs_ * odd);
  }

  const Context& context_;
  const OpCall& call_;
  ConvGeometry g_;
  ConvBand band_;
  int64_t depth_;
  bool is_signed_ = false;
  bool stores_sums_ = false;
  int last_rows_ = 0, last_columns_ = 0;
  int64_t passes_ = 0, listed_ = 0, pairs_ = 0, load_rows_ = 0, load_pairs_ = 0, moved_ = 0;
  int64_t zeroed_ = 0, widened_ = 0, widened_pixels_ = 0, gathered_ = 0, window_rows_ = 0;
  int64_t edge_rows_ = 0, copies_ = 0, copied_words_ = 0, copied_bytes_ = 0, fills_ = 0;
  int64_t filled_words_ = 0, filled_bytes_ = 0, padded_bytes_ = 0;
};

}  // namespace

bool DspConv(const Context& context) { return DspConvCounts(context).Run(); }

bool DspMatMul(const Context& context) {
  const OpCall& call = context.call();
  const auto& output = call.AttributesAs<QuantizedMatMulAttributes>().output;
  const TensorView& a = call.Input(In::kX);
  const int64_t depth = a.dims[a.rank - 1];
  const int64_t outputs = call.Output().dims[call.Output().rank - 1];
  const int64_t rows = call.Output().Elements() / outputs;
  if (!IsPlain(call)) return false;
  const bool once = output.rounding == Rounding::kFixedPointOnce;
  const int64_t steps = depth % 4 == 0 ? depth / 8 : 0;  // weights begin at words
  const bool is_simple = once &&
                         IsWhole({output.to, Rounding::kFixedPoint, 0, output.min, output.max}) &&
                         steps * 8 == depth && call.HasInput(In::kBias);
  context.terms.model += is_simple ? " pairs" : (once ? " once" : " any");
  context.Add("factors", call.Input(In::kMultiplier).Elements());
  context.Add("rows", rows);
  context.Add("widened_words", rows * (depth / 4));
  const int64_t pairs = is_simple ? outputs / 2 : CeilDiv<int64_t>(outputs, 2);
  context.Add("pairs", rows * pairs);
  context.Add("pair_steps", rows * CeilDiv<int64_t>(outputs, 2) * steps);
  const int64_t apart = is_simple ? outputs % 2 : outputs;
  context.Add("outputs", rows * apart);
  context.Add("rest_words", rows * apart * ((depth - steps * 8) / 4));
  context.Add("rest_bytes", rows * apart * (depth % 4));
  return true;
}

bool DspBinary(const Context& context) {
  const OpCall& call = context.call();
  const auto& a = call.AttributesAs<QuantizedBinaryAttributes>();
  if (a.output.rounding == Rounding::kHalfEven) {
    context.terms.model += " half_even";
    context.Add("elements", call.Output().Elements());
    if (context.facts.workspace_bytes >= cpu::dsp::kBinaryTableBytes) {
      context.Add("tables", 1);
      return true;
    }
    context.terms.model += " values";
    return call.Input(0).dtype == DType::kI8 && call.Input(1).dtype == DType::kI8;
  }
  if (!IsWhole(a.output) || a.function != BinaryFunction::kAdd) return false;
  for (const QuantizedScale* scale : {&a.x_scale, &a.y_scale, &a.output_scale}) {
    if (scale->multiplier < 0 || scale->shift > 0 || scale->shift < -20) return false;
  }
  if (a.output_scale.shift >= 0) return false;
  const bool has_tables = context.facts.workspace_bytes >= cpu::dsp::kBinaryTableBytes;
  context.terms.model += has_tables ? " tables" : " values";
  context.Add("elements", call.Output().Elements());
  return true;
}

}  // namespace tenon::converter::instructions
