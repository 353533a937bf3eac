// Models functions of one element, of two, and chains of them: rows, or blocks where rows are
// short.
#include <algorithm>
#include <cmath>

#include "backends/cpu/caps/f32_caps.hpp"
#include "converter/cost/features_rows.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter::features {

const char* FunctionName(const ProfileOperands& operands) {
  for (const AttributeField& field : GetOpHostRow(operands.kind()).text.fields) {
    if (field.kind != FieldKind::kEnum) continue;
    const int32_t value = static_cast<const int32_t*>(operands.call().attributes)[field.offset];
    if (value >= 0 && value < field.enum_count) return field.enum_names[value];
  }
  return "any";
}

namespace {

/// Returns the model of a function: functions that take about the same time share one.
const char* BinaryClass(const Context& context) {
  switch (context.call().AttributesAs<BinaryAttributes>().function) {
    case BinaryFunction::kDiv:
      return "div";
    case BinaryFunction::kMod:
    case BinaryFunction::kFmod:
      return "mod";
    case BinaryFunction::kPow: {
      const float* exponent = ConstantExponent(context.call(), OpKind::kBinary);
      if (exponent == nullptr) return "pow";
      if (*exponent >= 1 && *exponent <= 4 &&
          *exponent == static_cast<float>(static_cast<int>(*exponent))) {
        return "cheap";
      }
      return *exponent == 0.5F || *exponent == -1.0F || *exponent == -2.0F ? "div" : "pow";
    }
    default:
      return "cheap";
  }
}

}  // namespace

void Unary(const Context& context) {
  const TensorView& x = context.call().Input(0);
  const TensorView& y = context.call().Output();
  Nest nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k], 0);
  nest.Simplify();
  nest.LengthenRows();
  const auto elements = static_cast<double>(y.Elements());
  const bool staged = RowStride(nest, 0) != 1 || RowStride(nest, 1) != 1;
  context.terms.model += fmt::format(" {}", FunctionName(context.operands));
  context.terms.Add("rows", elements / RowOf(nest));
  context.terms.Add("elements", elements);
  context.terms.Add("staged", staged ? elements : 0.0);
  AddActivationTraffic(context);
}

namespace {

/// Returns true if the vector kernel goes along rows (f32/binary.cpp), and else through blocks.
bool HasVectorRows(const Nest& nest, BinaryFunction function) {
  if (GivesBool(function)) return false;
  const int last = nest.rank - 1;
  if (last < 1 || nest.dims[last] < cpu::f32::kShortestBinaryRow) return false;
  if (int64_t{nest.dims[last]} * nest.dims[last - 1] < cpu::f32::kFewestRowElements) return false;
  const ptrdiff_t x = nest.strides[1][last];
  const ptrdiff_t y = nest.strides[2][last];
  const auto is_row = [](ptrdiff_t stride) { return stride == 0 || stride == 1; };
  return nest.strides[0][last] == 1 && is_row(x) && is_row(y) && x + y > 0;
}

/// Returns true where the elements of an operand do not lie like a row of all elements, and are no
/// single one.
bool IsCopiedToBlocks(const Nest& nest, int operand) {
  int64_t dense = 1;
  bool repeats = true;
  bool is_dense = true;
  for (int k = nest.rank - 1; k >= 0; --k) {
    repeats = repeats && nest.strides[operand][k] == 0;
    is_dense = is_dense && nest.strides[operand][k] == dense;
    dense *= nest.dims[k];
  }
  return !is_dense && (!repeats || operand == 0);
}

void AddBlocks(CostTerms& terms, double elements, double copied, double rows) {
  terms.model += " blocks";
  terms.Add("blocks", std::ceil(elements / cpu::f32::kElementwiseTile));
  terms.Add("copied", copied * elements);
  terms.Add("copied_rows", copied * rows);
}

}  // namespace

void Binary(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& z = call.Output();
  Nest nest;
  for (int k = 0; k < z.rank; ++k) {
    nest.Add(z.dims[k], z.strides[k], BroadcastStride(call.Input(BinaryInput::kX), z.rank, k),
             BroadcastStride(call.Input(BinaryInput::kY), z.rank, k));
  }
  nest.Simplify();
  // The vector kernel takes rows as they are, or in blocks.
  const bool is_vector = context.operands.kernel() == "cpu.binary.vector";
  if (!is_vector) nest.LengthenRows();
  const auto elements = static_cast<double>(z.Elements());
  const double rows = elements / RowOf(nest);
  double staged = 0;    // operands that pass through a buffer
  double repeated = 0;  // operands that are one element per row
  for (int i = 0; i < kMostOperands; ++i) {
    if (i > 0 && RowStride(nest, i) == 0) {
      repeated += 1;
    } else if (RowStride(nest, i) != 1) {
      staged += 1;
    }
  }
  const bool contiguous = staged == 0 && repeated == 0;
  CostTerms& terms = context.terms;
  terms.model += fmt::format(" {}", BinaryClass(context));
  if (is_vector && !HasVectorRows(nest, call.AttributesAs<BinaryAttributes>().function)) {
    double copied = 0;
    for (int i = 0; i < kMostOperands; ++i) copied += IsCopiedToBlocks(nest, i) ? 1 : 0;
    AddBlocks(terms, elements, copied, rows);
  } else {
    terms.Add("rows", contiguous ? rows : 0.0);
    terms.Add(is_vector ? "repeated_rows" : "staged_rows", contiguous ? 0.0 : rows);
    terms.Add("staged", staged * elements);
    terms.Add("repeated", repeated * rows * std::min(RowOf(nest), 128.0));
  }
  terms.Add("elements", elements);
  const Activation& activation = call.AttributesAs<BinaryAttributes>().activation;
  terms.Add("clamped", activation.function != UnaryFunction::kIdentity ? elements : 0.0);
  AddActivation(context, activation);
  AddActivationTraffic(context);
}

namespace {

/// Describes what the steps of an elementwise op do to the elements of the output.
struct StepCounts {
  double rows = 1;
  double gathered = 0;  ///< operands, of which each element is fetched by itself
  double repeated = 0;  ///< operands that are one short row, of which as many are made
  double divided = 0;
  double activated = 0;  ///< by weight
};

/// Returns true where short rows of y and x follow each other, so that a tile of them is one row.
bool HasShortRows(const Nest& nest) {
  const int row = nest.rank - 1;
  if (row < 1 || nest.dims[row] >= cpu::f32::kShortColumns) return false;
  return std::all_of(nest.strides, nest.strides + 2, [&](const auto& strides) {
    return strides[row] == 1 && strides[row - 1] == nest.dims[row];
  });
}

/// Counts how the loops go over x and one operand.
void CountOperand(const OpCall& call, int input, StepCounts& counts) {
  const TensorView& y = call.Output();
  Nest nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], y.strides[k], BroadcastStride(call.Input(0), y.rank, k),
             BroadcastStride(call.Input(input), y.rank, k));
  }
  nest.Simplify();
  if (HasShortRows(nest)) {
    const int64_t step = nest.strides[kMostOperands - 1][nest.rank - 2];
    const bool is_row = RowStride(nest, kMostOperands - 1) == 1;
    const bool is_apart =
        step != nest.RowLength() && nest.RowLength() < cpu::f32::kFewStridedColumns;
    if (step == 0 && is_row) ++counts.repeated;
    if (step != 0 && is_row && is_apart) ++counts.gathered;
    return;
  }
  nest.LengthenRows();
  counts.rows = std::max(counts.rows, static_cast<double>(y.Elements()) / RowOf(nest));
  const int64_t stride = RowStride(nest, kMostOperands - 1);
  if (input == 0 ? stride != 1 : stride != 0 && stride != 1) ++counts.gathered;
  if (input == 0 && RowStride(nest, 0) != 1) ++counts.gathered;
}

StepCounts CountSteps(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ElementwiseAttributes>();
  StepCounts counts;
  CountOperand(call, 0, counts);
  for (int step = 0; step < attributes.steps; ++step) {
    counts.activated += ActivationWeight(attributes.activations[step]);
    const int input = attributes.InputOf(step);
    if (input == 0) continue;
    CountOperand(call, input, counts);
    const BinaryFunction function = attributes.functions[step];
    if (function == BinaryFunction::kDiv || function == BinaryFunction::kPow) ++counts.divided;
  }
  return counts;
}

}  // namespace

void Elementwise(const Context& context) {
  const StepCounts counts = CountSteps(context.call());
  const double steps = context.call().AttributesAs<ElementwiseAttributes>().steps;
  const auto elements = static_cast<double>(context.call().Output().Elements());
  CostTerms& terms = context.terms;
  terms.Add("tile_steps", steps * std::ceil(elements / cpu::f32::kElementwiseTile));
  terms.Add("row_steps", steps * counts.rows);
  terms.Add("step_elements", (steps + counts.repeated) * elements);
  terms.Add("gathered", counts.gathered * elements);
  terms.Add("divided", counts.divided * elements);
  terms.Add("activated", counts.activated * elements);
  AddActivationTraffic(context);
}

}  // namespace tenon::converter::features
