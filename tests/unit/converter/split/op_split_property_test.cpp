// The split table against the portable kernels: whatever part a row says can be made from the
// inputs it names is, bit for bit, that part of the whole op's output.
#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "converter/ir/elements.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/split/random_op.hpp"

namespace tenon::converter {
namespace {

using Values = std::map<TensorId, std::vector<std::byte>>;

/// Naive: every element of [begin, end) along `axis`, one by one.
std::vector<std::byte> Slice(const std::vector<std::byte>& from, const Tensor& tensor, int32_t axis,
                             const IndexRange& range) {
  if (axis < 0) return from;
  int64_t inner = 1;
  for (int32_t i = axis + 1; i < tensor.shape.rank; ++i) inner *= tensor.shape[i];
  const auto bytes = static_cast<int64_t>(DTypeBytes(tensor.dtype));
  std::vector<std::byte> to;
  for (int64_t element = 0; element < tensor.shape.Elements(); ++element) {
    const int64_t index = element / inner % tensor.shape[axis];
    if (index < range.begin || index >= range.end) continue;
    to.insert(to.end(), from.begin() + element * bytes, from.begin() + (element + 1) * bytes);
  }
  return to;
}

/// A kept axis of one element between reduced ones lets the kernel take them as one, in another
/// order of summing up.
bool MayRoundOtherwise(const Op& op, const Tensor& x, const InputSplit& split,
                       const IndexRange& out) {
  if (op.kind != OpKind::kReduce || out.size() > 1) return false;
  const int32_t mask = op.attributes.As<ReduceAttributes>().axes_mask;
  const int32_t before = mask & ((1 << split.axis) - 1);
  return before != 0 && mask != before && split.axis < x.shape.rank;
}

/// A logarithm says little about a sum that is almost 0: there the sums are compared.
bool GivesLogarithm(const Op& op) {
  return op.kind == OpKind::kReduce &&
         op.attributes.As<ReduceAttributes>().function == ReduceFunction::kLogSum;
}

bool AreClose(double got, double want, bool logarithms) {
  if (std::isnan(got) && std::isnan(want)) return true;
  if (logarithms) {
    got = std::exp(got);
    want = std::exp(want);
  }
  return std::abs(got - want) <= 1e-5 * (1 + std::abs(want));
}

bool AreEqual(const std::vector<std::byte>& a, const std::vector<std::byte>& b, bool exactly,
              bool logarithms) {
  if (exactly || a == b) return a == b;
  for (size_t at = 0; at < a.size() && a.size() == b.size(); at += sizeof(float)) {
    const double want = ReadElement(DType::kF32, &b[at]);
    if (!AreClose(ReadElement(DType::kF32, &a[at]), want, logarithms)) return false;
  }
  return a.size() == b.size();
}

/// The part, built from the row alone and run; "" or what is wrong.
std::string CheckPart(const Graph& graph, const Op& op, const Values& values, int32_t axis,
                      const std::vector<InputSplit>& splits, const IndexRange& out) {
  Graph part;
  std::vector<TensorId> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i] == kNone) {
      inputs.push_back(kNone);
      continue;
    }
    const Tensor& whole = graph.tensor(op.inputs[i]);
    Shape shape = whole.shape;
    IndexRange range;
    if (splits[i].axis >= 0) {
      range = InputRange(splits[i], out, shape[splits[i].axis]);
      if (range.begin < 0 || range.end > shape[splits[i].axis] || range.size() < 1) {
        return fmt::format("input {}: range {} to {}", i, range.begin, range.end);
      }
      shape[splits[i].axis] = range.size();
    }
    inputs.push_back(part.AddConstant(
        "x", whole.dtype, shape, Slice(values.at(op.inputs[i]), whole, splits[i].axis, range)));
  }
  const OpCallView view(graph, op);
  std::vector<int32_t> words = op.attributes.words();
  const OpSplit& row = GetOpHostRow(op.kind).split;
  if (row.part_attributes != nullptr) row.part_attributes(view.call(), axis, out, words.data());
  auto added = part.AddOpTensor(op.kind, "part", inputs, Attributes(words));
  if (!added.ok()) return added.error().message;
  const Tensor& whole = graph.tensor(op.outputs[0]);
  Shape expected = whole.shape;
  expected[axis] = out.size();
  if (part.tensor(*added).shape != expected) return "the part has another shape";
  const test::Evaluation evaluation = test::EvaluateGraph(part, {});
  if (!evaluation.error.empty()) return evaluation.error;
  const bool exactly = !MayRoundOtherwise(op, graph.tensor(op.inputs[0]), splits[0], out);
  const bool same =
      AreEqual(evaluation.values.at(*added), Slice(values.at(op.outputs[0]), whole, axis, out),
               exactly, GivesLogarithm(op));
  return same ? "" : "the values differ";
}

/// Goes over all ops of a graph and all axes that their rows accept.
class Checker {
 public:
  void CheckGraph(const Graph& graph, uint64_t seed, int ranges) {
    SplitMix64 random(seed);
    std::vector<std::vector<std::byte>> inputs;
    for (const Graph::Port& port : graph.inputs()) {
      const Tensor& tensor = graph.tensor(port.tensor);
      inputs.push_back(RandomElements(tensor.dtype, tensor.shape.Elements(), random.Next()));
    }
    const test::Evaluation evaluation = test::EvaluateGraph(graph, inputs);
    if (!evaluation.error.empty()) return;  // a kernel that takes fewer dtypes than its op
    for (const OpId id : graph.OpOrder()) {
      const Op& op = graph.op(id);
      for (int32_t axis = 0; axis < graph.tensor(op.outputs[0]).shape.rank; ++axis) {
        for (int i = 0; i < ranges; ++i) CheckAxis(graph, op, evaluation.values, axis, random);
      }
    }
  }

  [[nodiscard]] int cases(OpKind kind) const { return cases_[static_cast<size_t>(kind)]; }
  [[nodiscard]] int refusals(OpKind kind) const { return refusals_[static_cast<size_t>(kind)]; }

 private:
  void CheckAxis(const Graph& graph, const Op& op, const Values& values, int32_t axis,
                 SplitMix64& random) {
    const OpCallView view(graph, op);
    std::vector<InputSplit> splits(op.inputs.size());
    int32_t granularity = 0;
    if (!GetOpHostRow(op.kind).split.along(view.call(), axis, splits.data(), &granularity)) {
      ++refusals_[static_cast<size_t>(op.kind)];
      return;
    }
    REQUIRE(granularity >= 1);
    const int32_t extent = graph.tensor(op.outputs[0]).shape[axis];
    const int32_t units = (extent + granularity - 1) / granularity;
    if (units == 0) return;
    const auto first = static_cast<int32_t>(random.Next() % static_cast<uint64_t>(units));
    const auto count =
        1 + static_cast<int32_t>(random.Next() % static_cast<uint64_t>(units - first));
    const IndexRange out = {first * granularity, std::min(extent, (first + count) * granularity)};
    const std::string wrong = CheckPart(graph, op, values, axis, splits, out);
    if (wrong.empty()) {
      ++cases_[static_cast<size_t>(op.kind)];
      return;
    }
    FAIL_CHECK(std::string(GetOpRow(op.kind).name)
               << " \"" << op.name << "\" of " << graph.name << ", axis " << axis << ", "
               << out.begin << " to " << out.end << ": " << wrong);
  }

  std::array<int, kOpKindCount> cases_ = {};
  std::array<int, kOpKindCount> refusals_ = {};
};

TEST_CASE("Split rows: any part of any op of random graphs is that part of the whole output") {
  Checker checker;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    checker.CheckGraph(test::RandomGraph(seed), seed, 2);
  }
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    CAPTURE(std::string(GetOpRow(kind).name));
    // Random graphs have no copies, running sums, choices by value, sampled images and quantized
    // ops, and attention and several elementwise steps in pieces only: the next test has them.
    const bool left_out = kind == OpKind::kCopy || kind == OpKind::kCumSum ||
                          kind == OpKind::kAttention || kind == OpKind::kElementwise ||
                          kind == OpKind::kDynamicMatMul || kind == OpKind::kTopK ||
                          kind == OpKind::kScatter || kind == OpKind::kNonMaxSuppression ||
                          kind == OpKind::kGridSample || TraitsOf(kind).quantized;
    if (!left_out) CHECK(checker.cases(kind) > 100);
  }
}

TEST_CASE("Split rows: parts of ops with windows, groups, steps and odd extents") {
  Checker checker;
  for (uint64_t seed = 0; seed < 200 * kOpKindCount; ++seed) {
    checker.CheckGraph(test::RandomOp(seed), seed, 2);
  }
  for (int i = 0; i < kOpKindCount; ++i) {
    const auto kind = static_cast<OpKind>(i);
    CAPTURE(std::string(GetOpRow(kind).name));
    // What is taken depends on all that was taken before: no part can be cut off.
    const bool is_whole = kind == OpKind::kNonMaxSuppression;
    CHECK((is_whole ? checker.cases(kind) == 0 : checker.cases(kind) > 200));
  }
  // The axes along which they work are among those tried.
  for (const OpKind kind :
       {OpKind::kSoftmax, OpKind::kLrn, OpKind::kCumSum, OpKind::kTopK, OpKind::kScatter,
        OpKind::kNonMaxSuppression, OpKind::kConcat, OpKind::kReduce, OpKind::kResize,
        OpKind::kReshape, OpKind::kPad, OpKind::kQuantizedReduce, OpKind::kQuantizedSoftmax}) {
    CAPTURE(std::string(GetOpRow(kind).name));
    CHECK(checker.refusals(kind) > 20);
  }
}

}  // namespace
}  // namespace tenon::converter
