// Mirrors backends/cpu/kernels/cortex_m/simd/dsp/winograd.cpp.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "converter/cost/dsp_kinds.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::converter::instructions {
namespace {

using namespace dsp;

constexpr std::string_view kInPlace = "_in_place";

/// True if half of each factor and twice each sum is exact.
bool DoublesFloats(const OpCall& call, int64_t depth) {
  constexpr int64_t kBound = int64_t{1} << 30;
  const int64_t most = depth * 255 * 255;
  const TensorView& scale = call.Input(In::kMultiplier);
  for (int64_t i = 0; i < scale.Elements(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, scale.As<const float>() + i, sizeof bits);
    const uint32_t exponent = bits >> 23 & 0xFF;
    if (exponent < 2 || exponent == 0xFF) return false;
  }
  if (!call.HasInput(In::kBias)) return most < kBound;
  const TensorView& bias = call.Input(In::kBias);
  const auto* const values = bias.As<const int32_t>();
  return std::all_of(values, values + bias.Elements(),
                     [&](int64_t value) { return (value < 0 ? -value : value) + most < kBound; });
}

class WinogradCounts {
 public:
  explicit WinogradCounts(const Context& context)
      : context_(context), g_(ConvGeometryOf(context.call())) {}

  void Run(bool is_signed) {
    AddPasses(context_.call(), context_.facts.workspace_bytes);
    AddTerms(is_signed, 1);
  }

  /// Tiles that are stored over the input one by one.
  void RunInPlace(bool is_signed) {
    const OpCall& call = context_.call();
    const size_t rows_bytes = cpu::InPlacePartsRows(call, kRows);
    const int rows = g_.out_extent[0];
    for (int row = 0; row < rows; row += kRows) {
      const cpu::InPlacePart tile(call, 0, row, kRows, nullptr);
      g_ = ConvGeometryOf(tile.call());
      AddPasses(tile.call(), context_.facts.workspace_bytes - rows_bytes);
    }
    // Storing 8 bytes takes less than adding up a word of each of four rows.
    constexpr int64_t kStored = 8;
    const int64_t tiles = rows / kRows;
    const auto row_bytes = static_cast<int64_t>(cpu::InPlaceRowBytes(call));
    const int64_t moved = (rows + tiles * cpu::InPlaceHeldRows(call)) * row_bytes;
    summed_words_ += CeilDiv<int64_t>(moved, kStored);
    g_ = ConvGeometryOf(call);
    AddTerms(is_signed, g_.images * tiles);
  }

 private:
  static constexpr int kRows = cpu::dsp::kWinogradRows;

  void AddPasses(const OpCall& call, size_t workspace_bytes) {
    pass_ = cpu::dsp::WinogradPassOf(call, workspace_bytes);
    for (int column = 0; column < g_.out_extent[1]; column += pass_.columns) {
      for (int row = 0; row < g_.out_extent[0]; row += kRows * pass_.tiles) AddPass(row, column);
    }
  }

  /// `runs`: of the kernel, each of which starts anew.
  void AddTerms(bool is_signed, int64_t runs) {
    for (CostTerm& term : context_.terms.terms) term.amount *= static_cast<double>(runs);
    const int64_t gemms = g_.outputs / 2;
    const int64_t steps = int64_t{g_.kernel[1]} * g_.inputs / 4;
    const int64_t images = g_.images;
    context_.Add("factors", runs * context_.call().Input(In::kMultiplier).Elements());
    context_.Add("passes", images * passes_);
    context_.Add("tiles", images * tiles_);
    context_.Add("listed_pairs", images * pairs_);
    context_.Add("sums", images * sums_);
    context_.Add("summed_words", images * summed_words_);
    context_.Add("pass_pairs", images * passes_ * gemms);
    context_.Add("pass_pair_words", images * passes_ * gemms * steps);
    context_.Add("products", images * pairs_ * gemms);
    context_.Add("signed_products", is_signed ? images * pairs_ * gemms : 0);
    context_.Add("product_rounds", images * pairs_ * gemms * CeilDiv<int64_t>(steps, 12));
    context_.Add("product_words", images * pairs_ * gemms * steps);
  }

  void AddPass(int row, int column) {
    ++passes_;
    const int tiles = std::min((g_.out_extent[0] - row + 1) / 2, pass_.tiles);
    const int columns = std::min(g_.out_extent[1] - column, pass_.columns);
    pairs_ += int64_t{tiles} * std::min(pass_.half, columns);
    for (int tile = 0; tile < tiles; ++tile) {
      AddTile(std::min(row + 2 * tile, g_.out_extent[0] - 2) - g_.pads[0], column - g_.pads[1]);
    }
  }

  void AddTile(int top, int left) {
    ++tiles_;
    const bool is_inside = top >= 0 && top + 4 <= g_.in_extent[0];
    const int columns = pass_.half + g_.kernel[1] - 1;
    for (const int start : {left, left + pass_.half}) {
      for (int i = 0; i < columns;) {
        const int at = start + i;
        const bool runs = is_inside && at >= 0 && at < g_.in_extent[1] && g_.x.pixel == g_.inputs;
        i += runs ? std::min(columns - i, g_.in_extent[1] - at) : 1;
        ++sums_;
      }
    }
    summed_words_ += int64_t{2} * columns * (g_.inputs / 4);
  }

  const Context& context_;
  ConvGeometry g_;
  cpu::dsp::WinogradPass pass_ = {};
  int64_t passes_ = 0, tiles_ = 0, pairs_ = 0, sums_ = 0, summed_words_ = 0;
};

}  // namespace

bool DspWinograd(const Context& context) {
  const OpCall& call = context.call();
  const auto& output = call.AttributesAs<QuantizedConvAttributes>().output;
  const int64_t depth = call.Input(In::kWeights).Elements() / call.Output().dims[1];
  const bool in_place = context.operands.kernel().ends_with(kInPlace);
  const size_t bytes = context.facts.workspace_bytes;
  const bool fits = in_place ? cpu::dsp::WinogradFitsInPlace(call, bytes)
                             : cpu::dsp::WinogradPassOf(call, bytes).tiles > 0;
  const bool is_fast = IsFast(call, output, depth);
  const bool is_even = output.rounding == Rounding::kHalfEven;
  if (!fits || !(is_fast || (is_even && DoublesFloats(call, depth)))) {
    context.terms.model = "cpu.quantized_conv.dsp";  // the kernel calls the other one
    if (in_place) context.terms.model += kInPlace;
    return DspConv(context);
  }
  if (in_place) context.terms.model.resize(context.terms.model.size() - kInPlace.size());
  if (NameKind(context, output, depth) == Kind::kAny) return false;
  const bool is_signed = is_fast && output.zero_point != output.min;
  WinogradCounts counts(context);
  in_place ? counts.RunInPlace(is_signed) : counts.Run(is_signed);
  return true;
}

}  // namespace tenon::converter::instructions
