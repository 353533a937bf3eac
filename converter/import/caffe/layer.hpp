// What a lowering function sees: one layer of the network, its blobs and weights, and the means to
// emit ops for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "converter/import/caffe/importer.hpp"

namespace tenon::converter::caffe {

/// One layer while it is lowered.
class Layer {
 public:
  Layer(Importer& importer, const format::Layer& layer) : importer_(importer), layer_(layer) {}

  [[nodiscard]] const format::Layer& stored() const { return layer_; }
  [[nodiscard]] Graph& graph() { return importer_.graph(); }

  // --- operands ---------------------------------------------------------------------------------
  [[nodiscard]] int BottomCount() const;
  [[nodiscard]] int TopCount() const;
  /// Errors: it has none, or nothing makes it.
  [[nodiscard]] Result<TensorId> Bottom(int index);
  [[nodiscard]] Shape ShapeOf(TensorId id) { return importer_.graph().tensor(id).shape; }
  /// Axis in [-rank, rank) as [0, rank).
  [[nodiscard]] Result<int32_t> Axis(int64_t axis, int32_t rank) const;
  /// The layer's top `index` is this tensor, which gets its name if it was emitted for the layer.
  [[nodiscard]] Status SetTop(int index, TensorId id);

  // --- weights ----------------------------------------------------------------------------------
  /// Errors: the file of weights has no such array, or one of another number of elements than
  /// `shape`. Leading dims of 1, which old files have, do not matter.
  [[nodiscard]] Result<TensorId> Weights(int index, std::string_view hint, const Shape& shape);
  [[nodiscard]] Result<std::vector<float>> WeightValues(int index, int64_t count);
  [[nodiscard]] size_t WeightCount() const;
  [[nodiscard]] TensorId Constant(std::string_view hint, const Shape& shape,
                                  const std::vector<float>& values);

  // --- emitting ---------------------------------------------------------------------------------
  /// Adds an op with one output.
  [[nodiscard]] Result<TensorId> Emit(OpKind kind, const std::vector<TensorId>& inputs,
                                      const Attributes& attributes);
  /// These leave out what would change nothing.
  [[nodiscard]] Result<TensorId> Reshape(TensorId x, const std::vector<int64_t>& dims);
  [[nodiscard]] Result<TensorId> Transpose(TensorId x, const std::vector<int32_t>& permutation);
  [[nodiscard]] Result<TensorId> Slice(TensorId x, const SliceAttributes& attributes);
  [[nodiscard]] Result<TensorId> Expand(TensorId x, const Shape& shape);
  [[nodiscard]] Result<TensorId> Unary(TensorId x, UnaryFunction function, float a = 0,
                                       float b = 0);
  [[nodiscard]] Result<TensorId> Binary(BinaryFunction function, TensorId x, TensorId y);
  /// With a number for all elements.
  [[nodiscard]] Result<TensorId> Binary(BinaryFunction function, TensorId x, float y);

 private:
  Importer& importer_;
  const format::Layer& layer_;
};

/// `dims` without what shape an axis other than `axis` has: [C, 1, 1] for axis 1 of 4.
[[nodiscard]] Shape ShapeAlong(const Shape& shape, int32_t axis, int32_t axes = 1);

}  // namespace tenon::converter::caffe
