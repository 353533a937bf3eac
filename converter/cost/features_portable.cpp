// Models reductions and ops that move elements: portable kernels, which walk rows of strided
// operands (backends/cpu/kernels/portable).
#include <algorithm>
#include <cmath>

#include "converter/cost/features_rows.hpp"

namespace tenon::converter::features {

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
  const int32_t* const sizes = context.call().Input(0).dims;
  // Neighbours that are resized come from two places each; others go along.
  const bool by_columns = y.rank > 0 && sizes[innermost] != y.dims[innermost];
  context.terms.model += fmt::format(" {}", FunctionName(context.operands));
  context.terms.Add("rows", by_columns ? 0.0 : elements / row);
  context.terms.Add("elements", by_columns ? 0.0 : elements);
  context.terms.Add("columns", by_columns ? elements / row : 0.0);
  context.terms.Add("column_elements", by_columns ? elements : 0.0);
  AddActivationTraffic(context);
}

void GridSample(const Context& context) {
  const TensorView& y = context.call().Output();
  const auto points = static_cast<double>(int64_t{y.dims[0]} * y.dims[2] * y.dims[3]);
  const bool is_dense = y.dims[1] > 1 && y.strides[1] == 1;
  context.terms.model +=
      fmt::format(" {}{}", FunctionName(context.operands), is_dense ? "" : " planes");
  context.terms.Add("points", points);
  context.terms.Add("elements", static_cast<double>(y.Elements()));
  AddActivationTraffic(context);
}

}  // namespace tenon::converter::features
