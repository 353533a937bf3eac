#include "converter/measure/self_test.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "converter/measure/host_session.hpp"
#include "converter/measure/profile_sweep.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tenon/tenon.h"

namespace tenon::converter {
namespace {

/// Of the largest magnitude of an output: kernels add up in different orders, and some in pieces
/// that change the numbers' range (Winograd).
constexpr double kFloatTolerance = 2e-3;
/// Larger ops say nothing more, and take an RTL simulation long.
constexpr int64_t kMostElements = 1 << 16;
constexpr int64_t kMostConstantElements = 1 << 18;

/// The op alone, its constants with it, all else as inputs and outputs.
Result<Graph> Isolate(const Graph& source, const Op& op) {
  Graph graph;
  std::map<TensorId, TensorId> made;
  std::vector<TensorId> inputs;
  for (const TensorId id : op.inputs) {
    if (id == kNone) {
      inputs.push_back(kNone);
      continue;
    }
    auto [place, is_new] = made.try_emplace(id, kNone);
    if (is_new) {
      const Tensor& tensor = source.tensor(id);
      if (tensor.IsConstant()) {
        place->second = graph.AddConstant("constant", tensor.dtype, tensor.shape, tensor.constant);
      } else {
        place->second = graph.AddTensor("input", tensor.dtype, tensor.shape);
        graph.AddInput(place->second, fmt::format("input_{}", graph.inputs().size()));
      }
    }
    inputs.push_back(place->second);
  }
  TENON_ASSIGN_OR_RETURN(const OpId added, graph.AddOp(op.kind, "op", inputs, op.attributes));
  for (const TensorId output : graph.op(added).outputs) {
    graph.AddOutput(output, fmt::format("output_{}", graph.outputs().size()));
  }
  return graph;
}

/// What tells one test of a kind from another.
std::string SignatureOf(const Graph& graph, const Op& op) {
  std::string text;
  for (const TensorId id : op.inputs) {
    if (id == kNone) continue;
    const Tensor& tensor = graph.tensor(id);
    text += fmt::format("{}:", DTypeName(tensor.dtype));
    for (int32_t i = 0; i < tensor.shape.rank; ++i) text += fmt::format("{},", tensor.shape[i]);
  }
  for (const int32_t word : op.attributes.words()) text += fmt::format("/{}", word);
  return text;
}

/// Elements of all operands; -1: too many for a self-test.
int64_t SizeOf(const Graph& graph, const Op& op) {
  int64_t elements = 0;
  for (const auto* list : {&op.inputs, &op.outputs}) {
    for (const TensorId id : *list) {
      if (id == kNone) continue;
      const Tensor& tensor = graph.tensor(id);
      const int64_t count = tensor.shape.Elements();
      if (count > (tensor.IsConstant() ? kMostConstantElements : kMostElements)) return -1;
      elements += count;
    }
  }
  return elements;
}

/// Ops that no network to be profiled has: they cost next to nothing.
SweepNetwork CheapOps() {
  SweepBuilder builder("cheap", 29);
  for (const int32_t size : {1, 7, 12}) {
    const TensorId x = builder.Input({2, size, 5});
    const TensorId y = builder.Input({2, size, 5});
    const TensorId condition = builder.ConstantOf(DType::kBool, {2, size, 1});
    (void)builder.Add(OpKind::kSelect, {condition, x, y}, Attributes(), x);
    (void)builder.Add(OpKind::kCopy, {x}, Attributes(), x);
    TopKAttributes best;
    best.axis = 1;
    best.count = (size + 1) / 2;
    (void)builder.Add(OpKind::kTopK, {x}, Attributes(best), x);
    (void)builder.Add(OpKind::kScatter, {x, builder.Indices(3, 2), builder.Input({3, size, 5})},
                      Attributes(ScatterAttributes{ScatterFunction::kAdd}), x);
    NonMaxSuppressionAttributes suppression;
    suppression.rows = suppression.most_of_class = 4;
    suppression.overlap = 0.3F;
    const TensorId scores = builder.Input({1, 1, size});
    best.axis = 2;
    best.count = size;
    (void)builder.Add(OpKind::kNonMaxSuppression,
                      {builder.Input({1, size, 4}), scores,
                       builder.Add(OpKind::kTopK, {scores}, Attributes(best), scores)},
                      Attributes(suppression), x);
    CumSumAttributes sum;
    sum.axis = size == 1 ? 2 : 1;
    sum.exclusive = size == 7 ? 1 : 0;
    sum.reverse = size == 12 ? 1 : 0;
    (void)builder.Add(OpKind::kCumSum, {x}, Attributes(sum), x);
    (void)builder.Add(OpKind::kLayerNorm, {x, builder.ConstantOf(DType::kF32, {5})},
                      Attributes(LayerNormAttributes{}), x);
    ElementwiseAttributes steps;
    steps.steps = 2;
    steps.operands[0] = -1;
    steps.functions[0] = BinaryFunction::kSub;
    steps.activations[1] = UnaryFunction::kSigmoid;
    (void)builder.Add(OpKind::kElementwise, {x, builder.Input({size, 1})}, Attributes(steps), x);
    (void)builder.Add(OpKind::kAttention, {x, y, builder.Input({2, size, 9})},
                      Attributes(AttentionAttributes{0.5F}), x);
    (void)builder.Add(
        OpKind::kDynamicMatMul,
        {x, builder.ConstantOf(DType::kI8, {5, size}), builder.ConstantOf(DType::kF32, {size}),
         builder.ConstantOf(DType::kF32, {1})},
        Attributes(), x);
    const TensorId image = builder.Input({2, 3, size, 5});
    (void)builder.Add(
        OpKind::kGridSample, {image, builder.Input({2, 4, size, 2})},
        Attributes(GridSampleAttributes{ResizeMode::kLinear, GridPadding::kBorder, 0}), image);
    ExpandAttributes expand;
    expand.rank = 4;
    const int32_t dims[] = {3, 2, size, 5};
    std::copy(std::begin(dims), std::end(dims), expand.dims);
    (void)builder.Add(OpKind::kExpand, {x}, Attributes(expand), x);
  }
  return builder.Finish();
}

struct Candidate {
  int64_t elements;
  size_t network;
  OpId op;
  int32_t rank;  ///< of the first output
  int turn = 0;  ///< how many smaller ones of the rank are different
};

/// Leaves the first of those with the same shapes and attributes, the smallest of every rank first,
/// then the second of every rank: a backend that takes images alone, or matrices, has some to run.
void TakeTurns(const std::vector<SweepNetwork>& networks, std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.elements < b.elements; });
  std::map<int32_t, std::set<std::string>> seen;
  std::vector<Candidate> different;
  for (Candidate& candidate : candidates) {
    const Graph& graph = networks[candidate.network].graph;
    std::set<std::string>& of_rank = seen[candidate.rank];
    candidate.turn = static_cast<int>(of_rank.size());
    if (!of_rank.insert(SignatureOf(graph, graph.op(candidate.op))).second) continue;
    different.push_back(candidate);
  }
  candidates = std::move(different);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.turn < b.turn; });
}

/// Random numbers of ordinary size; integers over all their range where a byte is one.
void FillInput(HostSession& session, size_t index) {
  std::minstd_rand random(static_cast<unsigned>(index) + 1);
  std::byte* const bytes = session.Input(index);
  const size_t count = session.InputBytes(index);
  std::memset(bytes, 0, count);
  switch (session.InputType(index)) {
    case DType::kF32:
      for (size_t i = 0; i + sizeof(float) <= count; i += sizeof(float)) {
        const float value = std::uniform_real_distribution<float>(-1.0F, 1.0F)(random);
        std::memcpy(bytes + i, &value, sizeof value);
      }
      break;
    case DType::kI8:
    case DType::kU8:
      for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(random() >> 8 & 255);
      break;
    default:  // zeros: in range as an index of anything
      break;
  }
}

template <typename Integer>
void CompareIntegers(Span<const std::byte> a, Span<const std::byte> b, OpComparison& comparison) {
  for (size_t i = 0; i + sizeof(Integer) <= a.size(); i += sizeof(Integer)) {
    Integer x;
    Integer y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    const double difference = std::abs(static_cast<double>(x) - static_cast<double>(y));
    comparison.worst_integer = std::max(comparison.worst_integer, difference);
  }
}

void CompareFloats(Span<const std::byte> a, Span<const std::byte> b, OpComparison& comparison) {
  double largest = 0;
  double worst = 0;
  for (size_t i = 0; i + sizeof(float) <= a.size(); i += sizeof(float)) {
    float x;
    float y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    if (std::isnan(x) && std::isnan(y)) continue;
    largest = std::max(largest, std::abs(static_cast<double>(y)));
    const double difference = std::abs(static_cast<double>(x) - static_cast<double>(y));
    // A number that is none on one side only is as wrong as can be.
    worst = std::max(worst, x == y ? 0.0 : std::isnan(difference) ? HUGE_VAL : difference);
  }
  if (worst > 0) comparison.worst_error = std::max(comparison.worst_error, worst / largest);
}

void CompareOutput(DType type, Span<const std::byte> a, Span<const std::byte> b,
                   OpComparison& comparison) {
  switch (type) {
    case DType::kF32:
      CompareFloats(a, b, comparison);
      break;
    case DType::kI8:
      CompareIntegers<int8_t>(a, b, comparison);
      break;
    case DType::kI32:
      CompareIntegers<int32_t>(a, b, comparison);
      break;
    default:
      if (a.size() != b.size() || std::memcmp(a.data(), b.data(), a.size()) != 0) {
        CompareIntegers<uint8_t>(a, b, comparison);
      }
  }
}

}  // namespace

std::vector<SingleOp> SelfTestOps(size_t each) {
  std::vector<SweepNetwork> networks = SweepNetworks();
  networks.push_back(CheapOps());
  std::map<OpKind, std::vector<Candidate>> by_kind;
  for (size_t n = 0; n < networks.size(); ++n) {
    const Graph& graph = networks[n].graph;
    for (const OpId id : graph.OpOrder()) {
      const int64_t elements = SizeOf(graph, graph.op(id));
      if (elements < 0) continue;
      const int32_t rank = graph.tensor(graph.op(id).outputs[0]).shape.rank;
      by_kind[graph.op(id).kind].push_back({elements, n, id, rank});
    }
  }
  std::vector<SingleOp> ops;
  for (auto& [kind, candidates] : by_kind) {
    TakeTurns(networks, candidates);
    size_t taken = 0;
    for (const Candidate& candidate : candidates) {
      if (taken == each) break;
      const Graph& graph = networks[candidate.network].graph;
      Result<Graph> isolated = Isolate(graph, graph.op(candidate.op));
      if (!isolated.ok()) continue;
      ++taken;
      ops.push_back({kind, fmt::format("{} {}", OpName(kind), taken), std::move(*isolated)});
    }
  }
  return ops;
}

Result<OpComparison> CompareRuns(const std::vector<uint8_t>& plan,
                                 const std::vector<uint8_t>& reference, const std::string& backend,
                                 std::vector<std::pair<std::string, uint64_t>>* counters) {
  TENON_ASSIGN_OR_RETURN(HostSession tested, HostSession::Open(plan, HostKernels::kEveryBackend));
  TENON_ASSIGN_OR_RETURN(HostSession expected,
                         HostSession::Open(reference, HostKernels::kPortable));
  for (size_t i = 0; i < tested.input_count(); ++i) {
    FillInput(tested, i);
    FillInput(expected, i);
  }
  if (Status status = tested.Run(); !status.ok()) {
    return Error{ErrorKind::kBackend, status.error().message, {}};
  }
  TENON_RETURN_IF_ERROR(expected.Run());
  OpComparison comparison;
  for (size_t i = 0; i < tested.output_count(); ++i) {
    CompareOutput(tested.OutputType(i), tested.Output(i), expected.Output(i), comparison);
  }
  comparison.is_equal = comparison.worst_integer == 0 && comparison.worst_error <= kFloatTolerance;
  *counters = tested.Counters(backend);
  return comparison;
}

Result<MemoryWalk> WalkMemory(const std::string& backend, size_t bytes) {
  const tenon_backend* const found = tenon_backend_named(backend.c_str());
  if (found == nullptr) {
    return Error{ErrorKind::kBackend, fmt::format("this build has no backend '{}'", backend), {}};
  }
  tenon_memory_test test{};
  tenon_error error{};
  if (tenon_backend_test_memory(found, bytes, &test, &error) != TENON_OK) {
    return Error{ErrorKind::kBackend, error.message, {}};
  }
  return MemoryWalk{bytes, test.wrong_bytes, test.first_wrong, test.write_bytes_per_s,
                    test.read_bytes_per_s};
}

}  // namespace tenon::converter
