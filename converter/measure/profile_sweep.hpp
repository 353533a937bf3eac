// Makes networks to profile instead of models, or in addition to them: they run every kernel over
// the shapes that models have, in chains, so that an op finds its input and weights in the same
// caches as in a model (after other ops' traffic, not all in the nearest one).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct SweepNetwork {
  std::string name;
  Graph graph;
};

/// Returns the same networks every time; about 2000 ops, most of at most 60 million
/// multiply-accumulates.
[[nodiscard]] std::vector<SweepNetwork> SweepNetworks();

/// Adds ops in chains; ops that their shape rules refuse are left out.
class SweepBuilder {
 public:
  SweepBuilder(std::string name, uint64_t seed) : random_(seed) { network_.name = std::move(name); }

  [[nodiscard]] int Pick(const std::vector<int>& values) {
    return values[static_cast<size_t>(random_.Next() % values.size())];
  }
  TensorId Input(const std::vector<int32_t>& dims, DType dtype = DType::kF32);
  TensorId Constant(const std::vector<int32_t>& dims);
  TensorId ConstantOf(DType dtype, const std::vector<int32_t>& dims);
  /// Adds a vector of given values.
  template <typename T>
  TensorId Values(const std::vector<T>& values, DType dtype) {
    const int32_t dims[] = {static_cast<int32_t>(values.size())};
    return network_.graph.AddConstantOf("values", dtype, Shape(dims), values);
  }
  /// Returns the first input. A similar op has read it, so it is in the cache, as in a model.
  [[nodiscard]] TensorId Root() const { return network_.graph.inputs().front().tensor; }
  /// Adds small integers below `limit`, i64.
  TensorId Indices(int32_t count, int32_t limit);
  /// Adds an op; returns its first output, or `otherwise` if its rule refuses the operands.
  TensorId Add(OpKind kind, const std::vector<TensorId>& inputs, const Attributes& attributes,
               TensorId otherwise);
  TensorId Conv(TensorId x, int outputs, int kernel, int stride, int group, bool relu,
                bool residual = false);
  [[nodiscard]] const Shape& ShapeOf(TensorId id) const { return network_.graph.tensor(id).shape; }
  /// Makes tensors that nothing reads outputs, and returns the network.
  [[nodiscard]] SweepNetwork Finish();

 private:
  SplitMix64 random_;
  SweepNetwork network_;
  int inputs_ = 0;
};

/// Adds networks of elementwise and reducing ops (profile_sweep_rows.cpp).
void AddRowNetworks(std::vector<SweepNetwork>& networks);
/// Adds networks of ops that move elements (profile_sweep_movement.cpp).
void AddMovementNetworks(std::vector<SweepNetwork>& networks);
/// Adds networks of ops on parts of others' tensors (profile_sweep_stacks.cpp).
void AddStackNetworks(std::vector<SweepNetwork>& networks);
/// Adds networks of quantized ops (profile_sweep_quantized.cpp).
void AddQuantizedNetworks(std::vector<SweepNetwork>& networks);

}  // namespace tenon::converter
