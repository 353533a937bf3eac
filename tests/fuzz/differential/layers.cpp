#include "tests/fuzz/differential/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "converter/ir/elements.hpp"

namespace tenon::test {
namespace {

using converter::Attributes;
using converter::Graph;
using converter::kNone;
using converter::Tensor;
using converter::TensorId;

class Layers {
 public:
  Layers(uint64_t seed, Graph& graph) : random_(seed ^ 0x5EEDF00D), graph_(graph) {
    for (const converter::OpId op : graph.OpOrder()) tensors_.push_back(graph.op(op).outputs[0]);
    for (const Graph::Port& port : graph.inputs()) tensors_.push_back(port.tensor);
  }

  void Run() {
    const int count = 1 + Below(4);
    for (int i = 0; i < count; ++i) {
      const TensorId x = tensors_[static_cast<size_t>(Below(static_cast<int>(tensors_.size())))];
      const Tensor& tensor = graph_.tensor(x);
      constexpr int64_t kLarge = 400;
      const int64_t elements = tensor.shape.Elements();
      if (tensor.dtype != DType::kF32 || tensor.shape.rank == 0) continue;
      if (elements < 1 || elements > kLarge) continue;
      Add(x);
    }
  }

 private:
  int Below(int count) { return static_cast<int>(random_.Next() % static_cast<uint64_t>(count)); }

  void Add(TensorId x) {
    switch (Below(6)) {
      case 0:
      case 1:
        return AddRecurrent(x);
      case 2:
        return AddRunningSum(x);
      case 3:
        return AddLargest(x);
      case 4:
        return AddSampled(x);
      default:
        return AddScatter(x);
    }
  }

  template <typename T>
  TensorId Emit(OpKind kind, const std::vector<TensorId>& inputs, const T& attributes) {
    for (const TensorId id : inputs) {
      if (!graph_.IsTensor(id)) return kNone;
    }
    const auto op =
        graph_.AddOp(kind, fmt::format("layer{}", names_++), inputs, Attributes(attributes));
    return op.ok() ? graph_.op(*op).outputs[0] : kNone;
  }
  TensorId Binary(BinaryFunction function, TensorId x, TensorId y) {
    return Emit(OpKind::kBinary, {x, y}, BinaryAttributes{function, {}});
  }
  TensorId Unary(UnaryFunction function, TensorId x) {
    return Emit(OpKind::kUnary, {x}, UnaryAttributes{function});
  }
  TensorId Reshaped(TensorId x, const std::vector<int32_t>& dims) {
    ReshapeAttributes attributes;
    attributes.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), attributes.dims);
    return Emit(OpKind::kReshape, {x}, attributes);
  }
  /// x times random weights, [columns, columns].
  TensorId Mixed(TensorId x, int32_t columns) {
    const Shape shape({columns, columns});
    std::vector<std::byte> bytes =
        converter::RandomElements(DType::kF32, shape.Elements(), random_.Next());
    const double scale = 1 / std::sqrt(static_cast<double>(columns));
    for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
      converter::WriteElement(DType::kF32, scale * converter::ReadElement(DType::kF32, &bytes[at]),
                              &bytes[at]);
    }
    const TensorId w = graph_.AddConstant("w", DType::kF32, shape, std::move(bytes));
    return Emit(OpKind::kMatMul, {x, w}, MatMulAttributes{});
  }
  void AddOutput(TensorId id) {
    if (id != kNone && graph_.IsTensor(id)) graph_.AddOutput(id, fmt::format("l{}", names_++));
  }

  /// A gated unit over a sequence (as GRU with one gate): h = z h + (1 - z) tanh(W x + U h).
  void AddRecurrent(TensorId x) {
    const Shape shape = graph_.tensor(x).shape;
    const int32_t columns = shape[shape.rank - 1];
    auto rows = static_cast<int32_t>(shape.Elements() / columns);
    int32_t steps = 1;
    for (int32_t tried : {2, 3, 4}) steps = rows % tried == 0 ? tried : steps;
    rows /= steps;
    const TensorId sequence = Reshaped(x, {steps, rows, columns});
    const std::string name = fmt::format("h{}", names_++);
    TensorId state = graph_.AddTensor(name, DType::kF32, Shape({rows, columns}));
    graph_.AddInput(state, name);
    std::vector<TensorId> results;
    for (int32_t step = 0; step < steps; ++step) {
      SliceAttributes slice{3, {step, 0, 0}, {1, rows, columns}, {1, 1, 1}};
      const TensorId part = Emit(OpKind::kSlice, {sequence}, slice);
      state = NextState(Reshaped(part, {rows, columns}), state, columns);
      results.push_back(Reshaped(state, {1, rows, columns}));
    }
    AddOutput(Emit(OpKind::kConcat, results, ConcatAttributes{0}));
    AddOutput(state);
  }

  TensorId NextState(TensorId x, TensorId state, int32_t columns) {
    const TensorId sum = Binary(BinaryFunction::kAdd, Mixed(x, columns), Mixed(state, columns));
    const TensorId candidate = Unary(UnaryFunction::kTanh, sum);
    const TensorId gate = Unary(UnaryFunction::kSigmoid, Mixed(x, columns));
    const TensorId difference = Binary(BinaryFunction::kSub, state, candidate);
    return Binary(BinaryFunction::kAdd, candidate, Binary(BinaryFunction::kMul, gate, difference));
  }

  void AddRunningSum(TensorId x) {
    const int32_t rank = graph_.tensor(x).shape.rank;
    AddOutput(Emit(OpKind::kCumSum, {x}, CumSumAttributes{Below(rank), Below(2), Below(2)}));
  }

  /// The largest along an axis, by indices that are known only at run time. Indices themselves may
  /// differ where elements are as good as equal.
  void AddLargest(TensorId x) {
    const TensorId flat = Reshaped(x, {static_cast<int32_t>(graph_.tensor(x).shape.Elements())});
    const int32_t count = 1 + Below(std::min(graph_.tensor(flat).shape[0], 5));
    const TensorId places = Emit(OpKind::kTopK, {flat}, TopKAttributes{0, count, Below(2)});
    AddOutput(Emit(OpKind::kGather, {flat, places}, GatherAttributes{0}));
  }

  /// x as an image of one row or one column, at points that it says itself. Which pixel is nearest
  /// may differ where two are as good as equally far.
  void AddSampled(TensorId x) {
    const auto elements = static_cast<int32_t>(graph_.tensor(x).shape.Elements());
    if (elements % 2 != 0) return;
    const TensorId image =
        Below(2) == 0 ? Reshaped(x, {1, 2, 1, elements / 2}) : Reshaped(x, {1, 1, elements, 1});
    const TensorId grid = Unary(UnaryFunction::kTanh, Reshaped(x, {1, elements / 2, 1, 2}));
    const auto mode = Below(2) == 0 ? ResizeMode::kLinear : ResizeMode::kCubic;
    AddOutput(Emit(
        OpKind::kGridSample, {image, grid},
        GridSampleAttributes{mode, static_cast<GridPadding>(Below(kGridPaddingCount)), Below(2)}));
  }

  /// Rows of x joined with others of it, at constant places, some of them twice.
  void AddScatter(TensorId x) {
    const Shape shape = graph_.tensor(x).shape;
    const int32_t rows = shape[0];
    SliceAttributes slice;
    slice.rank = shape.rank;
    for (int i = 0; i < shape.rank; ++i) {
      slice.sizes[i] = shape[i];
      slice.steps[i] = 1;
    }
    slice.sizes[0] = 1 + Below(rows);
    const TensorId updates = Emit(OpKind::kSlice, {x}, slice);
    std::vector<std::byte> bytes(static_cast<size_t>(slice.sizes[0]) * sizeof(int64_t));
    for (size_t at = 0; at < bytes.size(); at += sizeof(int64_t)) {
      converter::WriteElement(DType::kI64, Below(rows), &bytes[at]);
    }
    const TensorId places =
        graph_.AddConstant("places", DType::kI64, Shape({slice.sizes[0]}), std::move(bytes));
    constexpr ScatterFunction kFunctions[] = {ScatterFunction::kReplace, ScatterFunction::kAdd,
                                              ScatterFunction::kMax, ScatterFunction::kMin};
    AddOutput(
        Emit(OpKind::kScatter, {x, places, updates}, ScatterAttributes{kFunctions[Below(4)]}));
  }

  converter::SplitMix64 random_;
  Graph& graph_;
  std::vector<TensorId> tensors_;
  int names_ = 0;
};

}  // namespace

void AddLayers(uint64_t seed, Graph& graph) { Layers(seed, graph).Run(); }

}  // namespace tenon::test
