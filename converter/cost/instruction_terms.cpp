#include "converter/cost/instruction_terms.hpp"

#include <algorithm>
#include <iterator>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "runtime/base/loop_nest.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {
namespace instructions {
namespace {

using In = QuantizedGemmInput;

}  // namespace

bool IsWhole(const QuantizedOutput& output) {
  return output.rounding == Rounding::kFixedPoint && output.min == INT8_MIN &&
         output.max == INT8_MAX;
}

bool AreToTheRight(const OpCall& call) {
  if (!call.HasInput(In::kShift)) return false;
  const TensorView& shift = call.Input(In::kShift);
  const auto* const shifts = shift.As<const int8_t>();
  return std::all_of(shifts, shifts + shift.Elements(),
                     [](int8_t value) { return value < 0 && value >= -31; });
}

void AddBiasSums(const Context& context, int64_t outputs, int64_t depth) {
  if (cpu::cortex_m::HasFinalBias(context.call())) return;
  constexpr int64_t kVectorBytes = 16;
  context.Add("summed_rows", outputs);
  context.Add("summed_vectors", outputs * CeilDiv(depth, kVectorBytes));
}

bool Pool(const Context& context) {
  const OpCall& call = context.call();
  const auto& pool = call.AttributesAs<PoolAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  constexpr int64_t kLanes = 16;
  const int64_t channels = y.dims[1];
  const int64_t blocks = CeilDiv(channels, kLanes);
  const int64_t rest = channels % kLanes;
  int64_t rows = 0;  // of windows, inside x
  int64_t taps = 0;
  const auto inside = [&](int axis, int64_t output) {
    int64_t count = 0;
    for (int64_t k = 0; k < pool.kernel[axis]; ++k) {
      const int64_t at = output * pool.strides[axis] - pool.pads[axis] + k * pool.dilations[axis];
      count += at >= 0 && at < x.dims[2 + axis] ? 1 : 0;
    }
    return count;
  };
  for (int64_t i = 0; i < y.dims[2]; ++i) {
    const int64_t height = inside(0, i);
    rows += height * y.dims[3];
    for (int64_t j = 0; j < y.dims[3]; ++j) taps += height * inside(1, j);
  }
  rows *= y.dims[0];
  taps *= y.dims[0];
  const int64_t windows = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  CostTerms& terms = context.terms;
  if (y.dtype != DType::kI8 && y.dtype != DType::kU8) terms.model += " sums";
  if (call.HasInput(QuantizedAveragePoolInput::kSums))
    context.Add("windows_after", windows * blocks);
  context.Add("windows", windows * blocks);
  context.Add("outputs", y.Elements());
  // Whole blocks of channels, words of four, and single ones.
  context.Add("block_rows", rows * (channels / kLanes));
  context.Add("block_taps", taps * (channels / kLanes));
  context.Add("word_rows", rows * (rest / 4));
  context.Add("word_taps", taps * (rest / 4));
  context.Add("word_windows", windows * (rest / 4));
  context.Add("single_rows", rows * (rest % 4));
  context.Add("single_taps", taps * (rest % 4));
  if (rest != 0) context.Add("rest_rows", rows);
  if (rest != 0) context.Add("rest_taps", taps);
  return true;
}

namespace {

/// Returns the loops of an op that moves elements; none where there are none.
std::optional<LoopNest<2>> LoopsOf(const ProfileOperands& operands) {
  const OpCall& call = operands.call();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  LoopNest<2> nest;
  if (operands.kind() == OpKind::kTranspose || operands.kind() == OpKind::kSlice) {
    for (int k = 0; k < y.rank; ++k) {
      const int from = operands.kind() == OpKind::kTranspose
                           ? call.AttributesAs<TransposeAttributes>().permutation[k]
                           : k;
      const int step =
          operands.kind() == OpKind::kTranspose ? 1 : call.AttributesAs<SliceAttributes>().steps[k];
      nest.Add(y.dims[k], y.strides[k], x.strides[from] * step);
    }
  } else if (!FindCommonLoops(y, x, 1, nest)) {
    return std::nullopt;
  }
  nest.Simplify();
  return nest;
}

bool AddStridedCopy(const Context& context) {
  const std::optional<LoopNest<2>> nest = LoopsOf(context.operands);
  if (!nest) return false;
  const bool is_dense = nest->RowStride(0) == 1 && nest->RowStride(1) == 1;
  context.terms.model = is_dense ? "moved rows" : "moved elements";
  context.Add("rows", nest->Elements() / std::max<int64_t>(nest->RowLength(), 1));
  const int64_t bytes = nest->Elements() * DTypeBytes(context.call().Output().dtype);
  context.Add("bytes", bytes);
  return true;
}

}  // namespace

bool Copy(const Context& context) {
  const TensorView& x = context.call().Input(0);
  const TensorView& y = context.call().Output();
  const bool is_one_piece =
      (x.IsChannelsLast() && y.IsChannelsLast()) || (x.IsRowMajor() && y.IsRowMajor());
  const int64_t bytes = y.Elements() * DTypeBytes(y.dtype);
  constexpr int64_t kLargest = 1 << 16;
  if (!is_one_piece || bytes > kLargest || context.operands.kind() != OpKind::kCopy) {
    return AddStridedCopy(context);
  }
  constexpr int64_t kStep = 64;
  const int64_t steps = context.facts.has_aligned_words ? bytes / kStep : 0;
  context.Add("steps", steps);
  context.Add("words", (bytes - steps * kStep) / 4);
  context.Add("bytes", bytes % 4);
  return true;
}

bool Elements(const Context& context) {
  const OpCall& call = context.call();
  for (int i = 0; i < call.InputCount(); ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr && !call.Input(i).IsRowMajor() &&
        !call.Input(i).IsChannelsLast()) {
      return false;
    }
  }
  context.Add("elements", call.Output().Elements());
  return true;
}

bool Softmax(const Context& context) {
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<QuantizedSoftmaxAttributes>();
  if (attributes.output.rounding != Rounding::kFixedPoint) context.terms.model += " float";
  const int64_t elements = call.Output().Elements();
  const int64_t count = call.Output().dims[attributes.softmax.axis];
  if (elements == 0) return true;
  constexpr int64_t kBytes = 256;
  context.Add("lines", elements / count);
  context.Add("elements", elements);
  context.Add("exponentials", elements / count * std::min(count, kBytes));
  return true;
}

namespace {

struct KernelTerms {
  const char* kernel;
  bool (*add)(const Context& context);
};

constexpr KernelTerms kKernelTerms[] = {
    {"cpu.quantized_conv.helium", HeliumConv},
    {"cpu.quantized_conv.helium_in_place", HeliumConv},
    {"cpu.quantized_conv.helium_depthwise", HeliumDepthwise},
    {"cpu.quantized_conv.helium_depthwise_in_place", HeliumDepthwise},
    {"cpu.quantized_matmul.helium", HeliumMatMul},
    {"cpu.quantized_binary.helium", HeliumBinary},
    {"cpu.quantized_average_pool.helium", Pool},
    {"cpu.max_pool.helium", Pool},
    {"cpu.lookup.helium", Elements},
    {"cpu.quantized_conv.dsp", DspConv},
    {"cpu.quantized_conv.dsp_in_place", DspConv},
    {"cpu.quantized_conv.dsp_first", DspFirst},
    {"cpu.quantized_conv.dsp_fives", DspFives},
    {"cpu.quantized_conv.dsp_depthwise_row", DspDepthwiseRow},
    {"cpu.quantized_conv.dsp_winograd", DspWinograd},
    {"cpu.quantized_conv.dsp_winograd_in_place", DspWinograd},
    {"cpu.quantized_conv.dsp_depthwise", DspDepthwise},
    {"cpu.quantized_conv.dsp_depthwise_in_place", DspDepthwise},
    {"cpu.quantized_conv.dsp_depthwise_windows", DspDepthwise},
    {"cpu.quantized_matmul.dsp", DspMatMul},
    {"cpu.quantized_binary.dsp", DspBinary},
    {"cpu.quantized_average_pool.dsp", Pool},
    {"cpu.max_pool.dsp", Pool},
    {"cpu.copy.portable", Copy},
    {"cpu.reshape.portable", Copy},
    {"cpu.slice.portable", Copy},
    {"cpu.transpose.portable", Copy},
    {"cpu.lookup.portable", Elements},
    {"cpu.quantize.portable", Elements},
    {"cpu.dequantize.portable", Elements},
    {"cpu.quantized_binary.portable", Elements},
    {"cpu.quantized_softmax.portable", Softmax},
};

}  // namespace
}  // namespace instructions

std::optional<CostTerms> InstructionTerms(const ProfileOperands& operands,
                                          const KernelCallFacts& facts) {
  const auto* const model = std::find_if(
      std::begin(instructions::kKernelTerms), std::end(instructions::kKernelTerms),
      [&](const instructions::KernelTerms& row) { return operands.kernel() == row.kernel; });
  if (model == std::end(instructions::kKernelTerms)) return std::nullopt;
  CostTerms terms;
  terms.model = operands.kernel();
  const OpCall& call = operands.call();
  // The engine describes each operand from the plan.
  int64_t count = static_cast<int64_t>(call.output_ids.size());
  for (int i = 0; i < call.InputCount(); ++i) count += call.HasInput(i) ? 1 : 0;
  terms.Add("start", 1);
  terms.Add("operands", static_cast<double>(count));
  if (call.Output().Elements() == 0) return terms;
  if (!model->add({operands, facts, terms})) return std::nullopt;
  return terms;
}

}  // namespace tenon::converter
