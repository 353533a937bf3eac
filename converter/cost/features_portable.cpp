// Models portable kernels, which walk rows of strided operands (backends/cpu/kernels/portable).
#include <algorithm>
#include <cmath>

#include "backends/cpu/caps/f32_caps.hpp"
#include "converter/cost/features_kernels.hpp"
#include "runtime/base/loop_nest.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter::features {
namespace {

constexpr int kMostOperands = 3;

/// Describes the loops that a portable kernel runs, with strides in elements.
using Nest = LoopNest<kMostOperands>;

double RowOf(const Nest& nest) { return static_cast<double>(nest.RowLength()); }

/// A row of one element is contiguous.
int64_t RowStride(const Nest& nest, int operand) {
  return nest.rank == 0 ? 1 : nest.RowStride(operand);
}

const char* FunctionName(const ProfileOperands& operands) {
  for (const AttributeField& field : GetOpHostRow(operands.kind()).text.fields) {
    if (field.kind != FieldKind::kEnum) continue;
    const int32_t value = static_cast<const int32_t*>(operands.call().attributes)[field.offset];
    if (value >= 0 && value < field.enum_count) return field.enum_names[value];
  }
  return "any";
}

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
  terms.Add("rows", contiguous ? rows : 0.0);
  terms.Add(is_vector ? "repeated_rows" : "staged_rows", contiguous ? 0.0 : rows);
  terms.Add("elements", elements);
  terms.Add("staged", staged * elements);
  terms.Add("repeated", repeated * rows * std::min(RowOf(nest), 128.0));
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
    if (step == 0 && RowStride(nest, kMostOperands - 1) == 1) ++counts.repeated;
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

void Reduce(const Context& context) {
  constexpr int64_t kLanes = 16;
  const OpCall& call = context.call();
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const TensorView& x = call.Input(0);
  int lane = -1;
  double reduced = 1;
  int64_t run = 1;
  int64_t run_stride = INT64_MAX;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (((attributes.axes_mask >> axis) & 1) != 0) {
      reduced *= x.dims[axis];
      if (x.dims[axis] > 1 && x.strides[axis] < run_stride) {
        run_stride = x.strides[axis];
        run = x.dims[axis];
      }
    } else if (x.dims[axis] > 1 && (lane < 0 || x.strides[axis] < x.strides[lane])) {
      lane = axis;
    }
  }
  const auto elements = static_cast<double>(x.Elements());
  const int64_t lanes = lane < 0 ? 1 : x.dims[lane];
  const bool side_by_side = lane >= 0 && x.strides[lane] == 1;
  const int64_t in_vectors = side_by_side ? lanes / kLanes * kLanes : 0;
  const double share = static_cast<double>(in_vectors) / static_cast<double>(lanes);
  const double outputs = elements / std::max(reduced, 1.0);
  const double blocks =
      outputs / static_cast<double>(lanes) * static_cast<double>(CeilDiv<int64_t>(lanes, kLanes));
  CostTerms& terms = context.terms;
  terms.model += fmt::format(" {}", FunctionName(context.operands));
  terms.Add("blocks", blocks);
  terms.Add("runs", blocks * reduced / static_cast<double>(run));
  terms.Add("vector_steps", elements * share / static_cast<double>(kLanes));
  terms.Add("scalar_elements", elements * (1 - share));
  terms.Add("scalar_runs", (1 - share) * elements / static_cast<double>(run));
  AddActivationTraffic(context);
}

namespace {

/// Contains the cost of copying from `x` to a part of the output.
struct Copies {
  double rows = 0;
  double contiguous = 0;
  double converted = 0;
  double strided = 0;
  double interleaved = 0;  ///< few planes become one or the reverse
  double transposed = 0;
  double single = 0;
  double tiles = 0;

  /// As portable/movement/copy_strided.cpp has them.
  static constexpr int64_t kFewPlanes = 4;
  static constexpr int64_t kLongTile = 512;

  void Take(Nest nest, double elements, bool same_type) {
    nest.Simplify();
    if (const int crossing = nest.CrossingDimension(); crossing >= 0) {
      const int64_t across = nest.dims[crossing];
      const auto row = static_cast<int64_t>(RowOf(nest));
      if (row <= kFewPlanes || across < kFewPlanes) {
        interleaved += elements;
        tiles += elements / static_cast<double>(std::min(across, row) * kLongTile);
        return;
      }
      // Tiles of 32 x 32 are copied by blocks of 4 x 4 in registers; the rest by elements.
      const int64_t in_blocks = (across / 4 * 4) * (row / 4 * 4);
      const double blocked = static_cast<double>(in_blocks) / static_cast<double>(across * row);
      transposed += elements * blocked;
      single += elements * (1 - blocked);
      tiles += elements / static_cast<double>(across * row) *
               static_cast<double>(CeilDiv<int64_t>(across, 32) * CeilDiv<int64_t>(row, 32));
    } else {
      rows += elements / RowOf(nest);
      const bool runs = RowStride(nest, 0) == 1 && RowStride(nest, 1) == 1;
      (!runs ? strided : same_type ? contiguous : converted) += elements;
    }
  }
};

Nest NestOfMovement(const Context& context, const TensorView& x) {
  const OpCall& call = context.call();
  const TensorView& y = call.Output();
  Nest nest;
  switch (context.operands.kind()) {
    case OpKind::kTranspose: {
      const auto& attributes = call.AttributesAs<TransposeAttributes>();
      for (int k = 0; k < y.rank; ++k) {
        nest.Add(y.dims[k], y.strides[k], x.strides[attributes.permutation[k]], 0);
      }
      break;
    }
    case OpKind::kSlice: {
      const auto& attributes = call.AttributesAs<SliceAttributes>();
      for (int k = 0; k < y.rank; ++k) {
        nest.Add(y.dims[k], y.strides[k], int64_t{x.strides[k]} * attributes.steps[k], 0);
      }
      break;
    }
    case OpKind::kReshape: {
      // Both sides have the elements in the same order: where one is dense, its strides under the
      // other's dimensions are known.
      const TensorView& dims = y.IsRowMajor() ? x : y;
      const TensorView& dense = y.IsRowMajor() ? y : x;
      int64_t stride = dense.Elements();
      for (int k = 0; k < dims.rank; ++k) {
        stride /= std::max(dims.dims[k], 1);
        const int64_t other = dims.strides[k];
        nest.Add(dims.dims[k], y.IsRowMajor() ? stride : other, y.IsRowMajor() ? other : stride, 0);
      }
      break;
    }
    case OpKind::kExpand:
      for (int k = 0; k < y.rank; ++k) {
        nest.Add(y.dims[k], y.strides[k], BroadcastStride(x, y.rank, k), 0);
      }
      break;
    default:  // copy, cast, concat and pad: the input's own dimensions
      for (int k = 0; k < x.rank && k < y.rank; ++k) {
        nest.Add(x.dims[k], y.strides[k], x.strides[k], 0);
      }
      break;
  }
  return nest;
}

}  // namespace

void Movement(const Context& context) {
  const OpCall& call = context.call();
  const OpKind kind = context.operands.kind();
  Copies copies;
  const int inputs = kind == OpKind::kConcat ? call.InputCount() : 1;
  for (int i = 0; i < inputs; ++i) {
    const TensorView& x = call.Input(i);
    const bool whole_output = kind != OpKind::kConcat && kind != OpKind::kPad;
    const auto elements =
        static_cast<double>(whole_output ? call.Output().Elements() : x.Elements());
    copies.Take(NestOfMovement(context, x), elements, x.dtype == call.Output().dtype);
  }
  // The same code copies for all of them; a cast and a padding do more.
  CostTerms& terms = context.terms;
  if (kind != OpKind::kCast && kind != OpKind::kPad) terms.model = "cpu.copy.portable";
  if (kind == OpKind::kPad) terms.model += fmt::format(" {}", FunctionName(context.operands));
  if (copies.tiles > 0) terms.model += " transposed";
  terms.Add("rows", copies.rows);
  terms.Add("contiguous", copies.contiguous);
  terms.Add("converted", copies.converted);
  terms.Add("strided", copies.strided);
  terms.Add("interleaved", copies.interleaved);
  terms.Add("transposed", copies.transposed);
  terms.Add("transposed_singly", copies.single);
  terms.Add("transposed_tiles", copies.tiles);
  if (kind == OpKind::kPad) terms.Add("outputs", static_cast<double>(call.Output().Elements()));
  AddActivationTraffic(context);
}

void Gather(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& x = call.Input(GatherInput::kX);
  const TensorView& indices = call.Input(GatherInput::kIndices);
  const TensorView& y = call.Output();
  const int axis = call.AttributesAs<GatherAttributes>().axis;
  Nest nest;
  int out = 0;
  for (int k = 0; k < axis; ++k, ++out) nest.Add(y.dims[out], y.strides[out], x.strides[k], 0);
  for (int k = 0; k < indices.rank; ++k, ++out) {
    nest.Add(y.dims[out], y.strides[out], 0, indices.strides[k]);
  }
  for (int k = axis + 1; k < x.rank; ++k, ++out) {
    nest.Add(y.dims[out], y.strides[out], x.strides[k], 0);
  }
  nest.Simplify();
  const auto elements = static_cast<double>(y.Elements());
  const bool slabs = RowStride(nest, 2) == 0;
  const bool runs = slabs && RowStride(nest, 0) == 1 && RowStride(nest, 1) == 1;
  context.terms.Add("indices", static_cast<double>(indices.Elements()));
  context.terms.Add("rows", elements / RowOf(nest));
  context.terms.Add("contiguous", runs ? elements : 0.0);
  context.terms.Add("strided", slabs && !runs ? elements : 0.0);
  context.terms.Add("single", slabs ? 0.0 : elements);
  AddActivationTraffic(context);
}

void Resize(const Context& context) {
  const OpCall& call = context.call();
  const TensorView& y = call.Output();
  const auto elements = static_cast<double>(y.Elements());
  int innermost = 0;
  for (int k = 0; k < y.rank; ++k) {
    if (y.dims[k] > 1 && y.strides[k] == 1) innermost = k;
  }
  const double row = y.rank > 0 ? std::max(y.dims[innermost], 1) : 1;
  context.terms.model += fmt::format(" {}", FunctionName(context.operands));
  context.terms.Add("rows", elements / row);
  context.terms.Add("elements", elements);
  AddActivationTraffic(context);
}

}  // namespace tenon::converter::features
