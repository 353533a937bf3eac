// The dice behind random graphs: which tensors there are, and adding ops that may be refused.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"
#include "tests/support/random_graph.hpp"

namespace tenon::test {

using converter::Attributes;
using converter::Graph;
using converter::kNone;
using converter::SplitMix64;
using converter::Tensor;
using converter::TensorId;

/// A graph that grows by random choices, all from one seed.
class RandomGraphBuilder {
 protected:
  RandomGraphBuilder(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), seed_(seed), options_(options) {}

  int Below(int count) {
    return static_cast<int>(random_.Next() % static_cast<uint64_t>(std::max(count, 1)));
  }
  bool Chance(int percent) { return Below(100) < percent; }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  [[nodiscard]] int CountOps() const { return static_cast<int>(graph_.OpOrder().size()); }
  [[nodiscard]] const Shape& ShapeOf(TensorId id) const { return graph_.tensor(id).shape; }

  // --- inputs and outputs -------------------------------------------------------------------

  Shape RandomShape(int rank) {
    Shape shape;
    shape.rank = rank;
    for (int i = 0; i < rank; ++i) shape[i] = Between(1, 6);
    if (rank == 4) {
      shape[0] = Chance(80) ? 1 : 2;
      if (Chance(15)) shape[1] = 16;
    }
    if (rank > 4) {
      for (int i = 0; i < rank; ++i) shape[i] = Between(1, 3);
    }
    return shape;
  }

  void AddInputs() {
    const int count = Between(1, 3);
    for (int i = 0; i < count; ++i) {
      DType dtype = options_.integers && Chance(15) ? DType::kI32 : DType::kF32;
      if (options_.quantized) dtype = Chance(60) ? DType::kI8 : DType::kU8;
      const Shape shape = RandomShape(Chance(70) ? 4 : Between(0, 5));
      const TensorId id = graph_.AddTensor(fmt::format("x{}", i), dtype, shape);
      graph_.AddInput(id, graph_.tensor(id).name);
      tensors_.push_back(id);
    }
  }

  /// What nothing reads, and sometimes what something reads, an input, or one tensor twice.
  void AddOutputs() {
    random_ = SplitMix64(seed_ ^ 0xABCDEF);
    std::vector<TensorId> outputs;
    for (const TensorId id : tensors_) {
      const bool read = !graph_.Consumers(id).empty();
      if (graph_.tensor(id).producer != kNone && (read ? Chance(8) : Chance(85))) {
        outputs.push_back(id);
      }
    }
    if (outputs.empty()) outputs.push_back(tensors_.back());
    if (Chance(5)) outputs.push_back(outputs[0]);
    if (Chance(3)) outputs.push_back(tensors_[0]);
    if (Chance(2)) outputs.push_back(Constant(DType::kF32, Shape({3})));
    for (size_t i = 0; i < outputs.size(); ++i) graph_.AddOutput(outputs[i], fmt::format("y{}", i));
  }

  // --- operands -----------------------------------------------------------------------------

  /// Any tensor, later ones more often; kNone if none of `attempts` has the property.
  template <typename Property>
  TensorId Pick(const Property& wanted) {
    for (int attempt = 0; attempt < 12; ++attempt) {
      const auto count = static_cast<int>(tensors_.size());
      const int index = Chance(50) ? count - 1 - Below(std::min(count, 3)) : Below(count);
      if (wanted(graph_.tensor(tensors_[static_cast<size_t>(index)]))) {
        return tensors_[static_cast<size_t>(index)];
      }
    }
    return kNone;
  }
  TensorId Float() {
    return Pick([](const Tensor& tensor) { return tensor.dtype == DType::kF32; });
  }
  TensorId Image() {
    return Pick([](const Tensor& tensor) {
      return tensor.dtype == DType::kF32 && tensor.shape.rank == 4 && tensor.shape.Elements() > 0;
    });
  }
  TensorId Any() {
    return Pick([](const Tensor&) { return true; });
  }
  TensorId SameTypeAs(TensorId other) {
    const Tensor& like = graph_.tensor(other);
    return Pick([&](const Tensor& tensor) {
      return tensor.dtype == like.dtype && tensor.shape == like.shape;
    });
  }

  /// Values within `scale` of 0.
  TensorId Constant(DType dtype, const Shape& shape, double scale = 1) {
    std::vector<std::byte> bytes =
        converter::RandomElements(dtype, shape.Elements(), random_.Next());
    if (dtype == DType::kF32 && scale != 1) {
      for (size_t at = 0; at < bytes.size(); at += 4) {
        converter::WriteElement(dtype, scale * converter::ReadElement(dtype, &bytes[at]),
                                &bytes[at]);
      }
    }
    return graph_.AddConstant("c", dtype, shape, std::move(bytes));
  }

  /// Adds the op unless its rule refuses the operands, or the result is large.
  template <typename T>
  TensorId Add(OpKind kind, const std::vector<TensorId>& inputs, const T& attributes) {
    return AddWith(kind, inputs, Attributes(attributes));
  }
  TensorId AddWith(OpKind kind, const std::vector<TensorId>& inputs, const Attributes& attributes) {
    for (const TensorId id : inputs) {
      if (id != kNone && !graph_.IsTensor(id)) return kNone;
    }
    auto added = graph_.AddOp(kind, fmt::format("op{}", CountOps()), inputs, attributes);
    if (!added.ok()) return kNone;
    const TensorId output = graph_.op(*added).outputs[0];
    constexpr int64_t kLarge = 4000;
    if (ShapeOf(output).Elements() > kLarge) {
      graph_.EraseOp(*added);
      return kNone;
    }
    tensors_.push_back(output);
    return output;
  }

  SplitMix64 random_;
  uint64_t seed_;
  RandomGraphOptions options_;
  Graph graph_;
  std::vector<TensorId> tensors_;
};

}  // namespace tenon::test
