// Turns a checked TFLite model into a graph: inputs first, then node by node.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "converter/import/import_options.hpp"
#include "converter/import/tflite/model_tensors.hpp"
#include "converter/import/tflite/variables.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Model;
struct Operator;
struct SubGraph;
}  // namespace format

/// In which order a tensor of rank 4 has its dims. The model's is batch, height, width, channels;
/// convolutions and their like want the channels before the image. Others have the model's only.
enum class Order { kModel, kChannelsFirst };

/// Where dimension `axis` of the model's order is.
[[nodiscard]] constexpr int32_t AxisIn(Order order, int32_t axis) {
  constexpr int32_t kPlaces[] = {0, 2, 3, 1};
  return order == Order::kModel ? axis : kPlaces[axis];
}

/// State of one import. `model` has been checked (model_file.hpp) and outlives this.
class Importer {
 public:
  Importer(const format::Model& model, const ImportOptions& options, const ConstantFolder& fold);

  /// Fills `graph()`. Call once.
  [[nodiscard]] Status Run();
  [[nodiscard]] Graph& graph() { return graph_; }

  // --- for Node, which names tensors by their numbers in the model ------------------------------
  [[nodiscard]] const format::Model& model() const { return model_; }
  /// The tensor in that order; permuted once, when it is first asked for. Constants are read, and
  /// permuted without an op.
  [[nodiscard]] Result<TensorId> Value(int32_t tensor, Order order);
  /// The order that the tensor was made in.
  [[nodiscard]] Order OrderOf(int32_t tensor) const;
  void Bind(int32_t tensor, TensorId id, Order order);
  [[nodiscard]] Result<DType> DTypeOf(int32_t tensor) const;
  /// True if the file says that the tensor's elements are complex numbers of two f32.
  [[nodiscard]] bool IsComplex(int32_t tensor) const;
  [[nodiscard]] Result<Quantization> QuantizationOf(int32_t tensor) const;
  [[nodiscard]] std::string NameOf(int32_t tensor) const;
  /// Dims permuted; a constant at once, others by an op.
  [[nodiscard]] Result<TensorId> Permuted(TensorId id, const std::vector<int32_t>& permutation,
                                          const std::string& name);
  [[nodiscard]] Variables& variables() { return variables_; }
  /// Tells the user what of a node may surprise, though it can be imported.
  void Warn(const format::Operator& node, std::string_view problem) const;
  /// Makes a tensor constant, or says on which graph input it depends.
  [[nodiscard]] Status Fold(TensorId id);
  void FoldCounters(const std::vector<TensorId>& ids);  ///< see import_graph.hpp
  /// Lowers the model's graph `index` as if it stood here, with these inputs, and gives its
  /// outputs.
  [[nodiscard]] Result<std::vector<TensorId>> Inline(int32_t index,
                                                     const std::vector<TensorId>& inputs);
  /// True while a graph other than the first is lowered.
  [[nodiscard]] bool IsInside() const { return depth_ > 0; }

 private:
  struct Held {
    TensorId model_order = kNone;
    TensorId channels_first = kNone;
    Order made_in = Order::kModel;
  };

  [[nodiscard]] Status AddInputs();
  [[nodiscard]] Status LowerNodes();
  [[nodiscard]] Status LowerNode(const format::Operator& node);
  [[nodiscard]] Status AddOutputs();
  [[nodiscard]] Result<std::vector<TensorId>> LowerInside(const std::vector<TensorId>& inputs);
  [[nodiscard]] Result<TensorId> AddConstant(int32_t tensor);
  /// `problem` with the node that has it.
  [[nodiscard]] std::string OfNode(const format::Operator& node, std::string_view problem) const;
  [[nodiscard]] Status Describe(bool output, size_t port, int32_t tensor);

  const format::Model& model_;
  const format::SubGraph* model_graph_;  ///< that is lowered now
  const ImportOptions& options_;
  const ConstantFolder& fold_;
  Graph graph_;
  std::vector<Held> held_;  ///< by tensor of that graph
  int depth_ = 0;
  int64_t inlined_ = 0;  ///< nodes and tensors of the graphs inlined so far
  Variables variables_;
};

}  // namespace tenon::converter::tflite
