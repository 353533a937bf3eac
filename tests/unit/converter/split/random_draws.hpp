// What the generators of random ops draw with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::test {

/// Makes a graph of one op of a kind; a derived class says which.
class RandomDraws {
 public:
  RandomDraws(OpKind kind, uint64_t seed) : kind_(kind), random_(seed) {}
  virtual ~RandomDraws() = default;
  RandomDraws(const RandomDraws&) = delete;
  RandomDraws& operator=(const RandomDraws&) = delete;

  converter::Graph Run(uint64_t seed) {
    while (graph_.OpOrder().empty()) {
      graph_ = converter::Graph();
      graph_.name = fmt::format("random_op_{}", seed);
      Add();
    }
    graph_.AddOutput(graph_.op(graph_.OpOrder()[0]).outputs[0], "y");
    return std::move(graph_);
  }

 protected:
  /// Adds an op with its inputs to `graph_`, or none where the op refuses what was drawn.
  virtual void Add() = 0;

  int Below(int count) { return static_cast<int>(random_.Next() % static_cast<uint64_t>(count)); }
  int Between(int low, int high) { return low + Below(high - low + 1); }
  bool Chance(int percent) { return Below(100) < percent; }

  Shape RandomShape(int rank, int most = 7) {
    Shape shape;
    shape.rank = rank;
    for (int i = 0; i < rank; ++i) shape[i] = Between(1, rank > 4 ? 4 : most);
    return shape;
  }
  Shape Image() {
    Shape shape({Between(1, 3), Between(1, 9), Between(1, 14), Between(1, 14)});
    if (Chance(20)) shape[1] = 16;
    return shape;
  }

  converter::TensorId Input(const Shape& shape, DType dtype = DType::kF32) {
    const converter::TensorId id = graph_.AddTensor("x", dtype, shape);
    graph_.AddInput(id, graph_.tensor(id).name);
    return id;
  }
  /// Broadcasts to `shape`.
  Shape Broadcasting(const Shape& shape) {
    Shape result = shape;
    for (int i = 0; i < shape.rank; ++i) {
      if (Chance(35)) result[i] = 1;
    }
    const int dropped = Chance(30) ? Below(shape.rank + 1) : 0;
    std::copy(result.dims + dropped, result.dims + shape.rank, result.dims);
    result.rank -= dropped;
    return result;
  }

  template <typename T>
  void AddOp(const std::vector<converter::TensorId>& inputs, const T& attributes) {
    (void)graph_.AddOp(kind_, "op", inputs, converter::Attributes(attributes));
  }
  void AddOp(const std::vector<converter::TensorId>& inputs) {
    (void)graph_.AddOp(kind_, "op", inputs, converter::Attributes());
  }

  OpKind kind_;                   // NOLINT(misc-non-private-member-variables-in-classes)
  converter::SplitMix64 random_;  // NOLINT(misc-non-private-member-variables-in-classes)
  converter::Graph graph_;        // NOLINT(misc-non-private-member-variables-in-classes)
};

}  // namespace tenon::test
