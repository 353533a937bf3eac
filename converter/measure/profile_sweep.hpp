// Networks to profile where no model is given, or beside models: every kernel over the shapes that
// models have, in chains, so that an op finds its input and weights where it does in a model
// (behind other ops' traffic through the caches, not all ready in the nearest one).
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

/// The same networks every time; about 2000 ops, most of at most 60 million multiply-accumulates.
[[nodiscard]] std::vector<SweepNetwork> SweepNetworks();

/// Adds ops in chains; ops that their shape rules refuse are left out.
class SweepBuilder {
 public:
  SweepBuilder(std::string name, uint64_t seed) : random_(seed) { network_.name = std::move(name); }

  [[nodiscard]] int Pick(const std::vector<int>& values) {
    return values[static_cast<size_t>(random_.Next() % values.size())];
  }
  TensorId Input(const std::vector<int32_t>& dims);
  TensorId Constant(const std::vector<int32_t>& dims);
  TensorId ConstantOf(DType dtype, const std::vector<int32_t>& dims);
  /// A vector of given values.
  template <typename T>
  TensorId Values(const std::vector<T>& values, DType dtype) {
    const int32_t dims[] = {static_cast<int32_t>(values.size())};
    return network_.graph.AddConstantOf("values", dtype, Shape(dims), values);
  }
  /// The first input: what an op finds in the cache after its like has read it, as in a model.
  [[nodiscard]] TensorId Root() const { return network_.graph.inputs().front().tensor; }
  /// Small integers below `limit`, i64.
  TensorId Indices(int32_t count, int32_t limit);
  /// The op's first output, or `otherwise` if its rule refuses the operands.
  TensorId Add(OpKind kind, const std::vector<TensorId>& inputs, const Attributes& attributes,
               TensorId otherwise);
  TensorId Conv(TensorId x, int outputs, int kernel, int stride, int group, bool relu,
                bool residual = false);
  [[nodiscard]] const Shape& ShapeOf(TensorId id) const { return network_.graph.tensor(id).shape; }
  /// Makes what nothing reads outputs, and gives the network.
  [[nodiscard]] SweepNetwork Finish();

 private:
  SplitMix64 random_;
  SweepNetwork network_;
  int inputs_ = 0;
};

/// Elementwise, reducing and moving ops (profile_sweep_rows.cpp).
void AddRowNetworks(std::vector<SweepNetwork>& networks);
/// Quantized ops (profile_sweep_quantized.cpp).
void AddQuantizedNetworks(std::vector<SweepNetwork>& networks);

}  // namespace tenon::converter
