// What a lowering function sees: one node of the model, its options and tensors, and the means to
// emit ops for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/import/tflite/importer.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Operator;
struct OperatorCode;
enum class BuiltinOperator : int32_t;
enum class ActivationFunctionType : int8_t;
}  // namespace format

/// Operands of an op that wants them all in one order.
struct Operands {
  std::vector<TensorId> ids;
  Order order = Order::kModel;
};

/// True of each width that some operand of a node has whose integers stand for real numbers.
struct QuantizedOperands {
  bool bytes = false;  ///< i8 or u8
  bool words = false;  ///< i16
};

/// One node while it is lowered.
class Node {
 public:
  Node(Importer& importer, const format::Operator& node, format::BuiltinOperator op);

  [[nodiscard]] format::BuiltinOperator op() const { return op_; }
  [[nodiscard]] const format::Operator& stored() const { return node_; }
  [[nodiscard]] const format::OperatorCode& code() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Graph& graph() { return importer_.graph(); }
  /// Tells the user what of this node may surprise, though it can be imported.
  void Warn(std::string_view problem) { importer_.Warn(node_, problem); }

  // --- operands ---------------------------------------------------------------------------------
  [[nodiscard]] int InputCount() const;
  [[nodiscard]] bool HasInput(int index) const;
  [[nodiscard]] int OutputCount() const;
  /// Errors if the input is absent. While computing in floats (below), its real values.
  [[nodiscard]] Result<TensorId> Input(int index, Order order = Order::kModel);
  /// The order in which the input was made; kModel where it is absent or constant.
  [[nodiscard]] Order OrderOf(int index) const;
  /// These inputs in one order: channels first if one of rank 4 was made so. Those of lower rank
  /// get the dims that broadcasting would give them, where their order matters.
  [[nodiscard]] Result<Operands> Aligned(const std::vector<int>& inputs);
  [[nodiscard]] Shape ShapeOf(TensorId id);
  [[nodiscard]] DType DTypeOf(TensorId id);
  [[nodiscard]] Result<DType> InputDType(int index) const;
  [[nodiscard]] Result<DType> OutputDType(int index) const;
  /// True if an input or output is of complex numbers. Here such a tensor is one of f32 with a last
  /// dimension more, of the real and the imaginary part.
  [[nodiscard]] bool HasComplex() const;
  [[nodiscard]] bool ReadsComplex() const;  ///< of its first input
  /// Axis in [-rank, rank) as [0, rank).
  [[nodiscard]] Result<int32_t> Axis(int64_t axis, int32_t rank) const;

  /// A variable tensor: what it holds now, which is zeros before the first inference ...
  [[nodiscard]] Result<TensorId> Kept(int index);
  /// ... and what it holds from here on.
  [[nodiscard]] Status Keep(int index, TensorId value);

  // --- constants --------------------------------------------------------------------------------
  /// True if the input's value is in the file.
  [[nodiscard]] bool IsConstant(int index);
  /// Values of an integer input that must be known now; folds what it is computed from.
  [[nodiscard]] Result<std::vector<int64_t>> Ints(int index);
  [[nodiscard]] Result<std::vector<double>> Doubles(int index);
  /// Makes the tensor a constant.
  [[nodiscard]] Status RequireConstant(TensorId id) { return importer_.Fold(id); }
  /// Of a loop's carried values (see import_graph.hpp).
  void FoldCounters(const std::vector<TensorId>& ids) { importer_.FoldCounters(ids); }
  /// A new constant; integers must be exact in the type.
  [[nodiscard]] TensorId Constant(std::string_view hint, DType dtype, const Shape& shape,
                                  const std::vector<double>& values);
  [[nodiscard]] TensorId Scalar(std::string_view hint, DType dtype, double value);
  /// 0, `step`, 2 `step`, ... along `axis` of a constant of rank `rank`, `count` elements in all.
  [[nodiscard]] Result<TensorId> Counted(std::string_view hint, DType dtype, int64_t count,
                                         int32_t axis, int32_t rank, int64_t step = 1);
  /// Errors (kDoesNotFit): so many doubles are more than constants may take
  /// (Graph::constant_limit).
  [[nodiscard]] Status CheckRoomFor(int64_t numbers);

  // --- quantization -----------------------------------------------------------------------------
  /// What an input or output stands for; none if it is absent or not quantized.
  [[nodiscard]] Result<Quantization> InputQuantization(int index) const;
  [[nodiscard]] Result<Quantization> OutputQuantization(int index) const;
  /// The same of a tensor that only says how the node quantizes what it computes inside.
  [[nodiscard]] Result<Quantization> Intermediate(int index) const;
  /// Which integers among the operands stand for real numbers.
  [[nodiscard]] Result<QuantizedOperands> Quantized() const;
  /// From here on inputs that are quantized are read as floats, and results are quantized again
  /// where the output is: what an op without integer arithmetic does.
  void ComputeInFloats() { in_floats_ = true; }

  /// Another graph of the model; null if there is none of that number.
  [[nodiscard]] const format::SubGraph* GraphAt(int32_t graph) const;
  /// What an operator of any graph is.
  [[nodiscard]] format::BuiltinOperator OperatorOf(const format::Operator& node) const;

  /// Lowers another graph of the model in this node's place.
  [[nodiscard]] Result<std::vector<TensorId>> Inline(int32_t graph,
                                                     const std::vector<TensorId>& inputs) {
    return importer_.Inline(graph, inputs);
  }

  // --- emitting ---------------------------------------------------------------------------------
  /// Adds an op with one output.
  [[nodiscard]] Result<TensorId> Emit(OpKind kind, const std::vector<TensorId>& inputs,
                                      const Attributes& attributes);
  /// The node's output `index` is this tensor, which gets its name if it was emitted for the node.
  /// Errors: its type is not what the file says.
  [[nodiscard]] Status SetOutput(int index, TensorId id, Order order = Order::kModel);

  /// The same of an output of complex numbers, whose parts are the last dimension of `id`.
  [[nodiscard]] Status SetComplexOutput(int index, TensorId id);

  /// These leave out what would change nothing.
  [[nodiscard]] Result<TensorId> Reshape(TensorId x, const std::vector<int64_t>& dims);
  [[nodiscard]] Result<TensorId> Transpose(TensorId x, const std::vector<int32_t>& permutation);
  [[nodiscard]] Result<TensorId> Cast(TensorId x, DType to);
  [[nodiscard]] Result<TensorId> Unary(TensorId x, const UnaryAttributes& attributes);
  [[nodiscard]] Result<TensorId> Binary(BinaryFunction function, TensorId x, TensorId y);
  [[nodiscard]] Result<TensorId> Reduce(ReduceFunction function, TensorId x, int32_t axes_mask,
                                        bool keep_dims);
  [[nodiscard]] Result<TensorId> Slice(TensorId x, const SliceAttributes& attributes);
  [[nodiscard]] Result<TensorId> Expand(TensorId x, const Shape& shape);
  /// Real values of integers, f32; of a constant at once.
  [[nodiscard]] Result<TensorId> Dequantize(TensorId x, const Quantization& quantization);
  /// Integers for real values: halves away from zero, as TFLite rounds.
  [[nodiscard]] Result<TensorId> Quantize(TensorId x, DType to, const Quantization& quantization);
  /// A fused activation of floats. Errors: one that is not known.
  [[nodiscard]] Result<TensorId> Activate(TensorId x, format::ActivationFunctionType activation);

 private:
  [[nodiscard]] int32_t InputTensor(int index) const;
  [[nodiscard]] Result<TensorId> WithRank4(TensorId x);
  /// Gives what was emitted for this node the output's name.
  void NameOutput(int32_t output, TensorId id);

  Importer& importer_;
  const format::Operator& node_;
  format::BuiltinOperator op_;
  std::string name_;
  bool in_floats_ = false;
};

}  // namespace tenon::converter::tflite
