// Fourier transforms of rows as matrix products, for every importer: `Node` is its view of a node,
// which emits ops.
//
// A long transform of length N = A B goes in two steps (Cooley and Tukey, "An Algorithm for the
// Machine Calculation of Complex Fourier Series", 1965): with n = B a + b and k = k1 + A k2,
//   X[k] = sum over b of exp(-2 pi i b k / N) (sum over a of exp(-2 pi i a k1 / A) x[B a + b]),
// which takes N (2 A + 2 B) products of real numbers for the bins up to the middle, in place of
// N (N + 2).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "converter/import/fourier.hpp"
#include "converter/import/import_graph.hpp"
#include "converter/ir/graph.hpp"
#include "converter/status.hpp"

namespace tenon::converter::fourier {

/// Of a transform in two steps: A of the formula above, and how many bins each of its k1 has.
struct Steps {
  int64_t first = 1;  ///< 1: one product for all
  int64_t bins = 0;
};

/// The steps that take the fewest products, where these are a fraction of those of one step that
/// pays for moving the elements in between.
inline Steps StepsOf(const Transform& t, int64_t points) {
  constexpr int64_t kShortest = 512;  // below this one product is as fast
  constexpr int64_t kWorth = 4;
  Steps best;
  if (t.parts != 1 || points != t.length || points < kShortest) return best;
  int64_t least = points * t.bins * 2 / kWorth;
  for (int64_t first = 2; first < points; ++first) {
    if (points % first != 0) continue;
    const int64_t bins = (t.bins + first - 1) / first;
    const int64_t products = points * 2 * first + points * 2 * 2 * bins;
    if (products >= least) continue;
    least = products;
    best = {first, bins};
  }
  return best;
}

template <typename Node>
Result<TensorId> Table(Node& node, TensorId x, const std::vector<int64_t>& dims,
                       const std::vector<double>& values) {
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(dims));
  return node.Constant("transform", node.DTypeOf(x), shape, values);
}

template <typename Node>
Status CheckTable(Node& node, TensorId x, int64_t elements) {
  const int64_t bytes = elements * DTypeBytes(node.DTypeOf(x));
  return CheckConstantLimit(node.graph(), bytes, node.name());
}

template <typename Node>
Result<TensorId> Product(Node& node, TensorId x, TensorId y) {
  return node.Emit(OpKind::kMatMul, {x, y}, Attributes(MatMulAttributes()));
}

/// x [rows, points] to [rows, 2 bins].
template <typename Node>
Result<TensorId> TransformInTwoSteps(Node& node, TensorId x, const Transform& t,
                                     const Steps& steps) {
  const int64_t rows = node.ShapeOf(x)[0];
  const int64_t a = steps.first;
  const int64_t b = t.length / a;
  TENON_RETURN_IF_ERROR(CheckTable(node, x, 2 * a * a + 4 * t.length * steps.bins));
  Transform first;
  first.length = first.bins = a;
  std::vector<double> values;
  for (int64_t out = 0; out < 2 * a; ++out) {
    const double sign = t.inverse && out % 2 == 1 ? -1.0 : 1.0;
    for (int64_t n = 0; n < a; ++n) {
      values.push_back(sign * Weight(first, n, 0, out / 2, out % 2));
    }
  }
  TENON_ASSIGN_OR_RETURN(const TensorId left, Table(node, x, {1, 2 * a, a}, values));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {rows, a, b}));
  TENON_ASSIGN_OR_RETURN(x, Product(node, left, x));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {rows, a, 2 * b}));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {1, 0, 2}));
  values.clear();
  for (int64_t k1 = 0; k1 < a; ++k1) {
    for (int64_t from = 0; from < 2 * b; ++from) {
      for (int64_t out = 0; out < 2 * steps.bins; ++out) {
        values.push_back(Weight(t, from % b, from / b, k1 + a * (out / 2), out % 2));
      }
    }
  }
  TENON_ASSIGN_OR_RETURN(const TensorId right, Table(node, x, {a, 2 * b, 2 * steps.bins}, values));
  TENON_ASSIGN_OR_RETURN(x, Product(node, x, right));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {a, rows, steps.bins, 2}));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {1, 2, 0, 3}));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {rows, 2 * a * steps.bins}));
  SliceAttributes slice;
  slice.rank = 2;
  slice.sizes[0] = static_cast<int32_t>(rows);
  slice.sizes[1] = static_cast<int32_t>(2 * t.bins);
  std::fill_n(slice.steps, 2, 1);
  return node.Slice(x, slice);
}

/// x [rows, points * parts] to [rows, 2 bins]: real and imaginary part of each bin. The type is
/// that of x, a float.
template <typename Node>
Result<TensorId> TransformRows(Node& node, TensorId x, const Transform& t, int64_t points) {
  const Steps steps = StepsOf(t, points);
  if (steps.first > 1) return TransformInTwoSteps(node, x, t, steps);
  const int64_t row = points * t.parts;
  TENON_RETURN_IF_ERROR(CheckTable(node, x, row * t.bins * 2));
  TENON_ASSIGN_OR_RETURN(const TensorId matrix,
                         Table(node, x, {row, t.bins * 2}, WeightsOf(t, points)));
  return Product(node, x, matrix);
}

}  // namespace tenon::converter::fourier
