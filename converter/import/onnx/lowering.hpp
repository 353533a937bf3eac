// What a lowering function sees: one node of the model, its attributes and inputs, and the means
// to emit ops for it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converter/import/import_options.hpp"
#include "converter/import/onnx/tensor_data.hpp"
#include "converter/ir/graph.hpp"

namespace onnx {
class AttributeProto;
class GraphProto;
class NodeProto;
}  // namespace onnx

namespace tenon::converter {

class Importer;

/// `output` of the emitting functions: the result is not an output of the node.
inline constexpr int kIntermediate = -1;

/// One node while it is lowered. Attributes of the wrong type, or out of the range that an op's
/// attribute can hold, make the whole lowering fail after the function returns; so do attributes
/// that the function never asked for, since ignoring one could give silently wrong answers.
class Lowering {
 public:
  Lowering(Importer& importer, const onnx::NodeProto& node, int opset, std::string name)
      : importer_(importer), node_(node), opset_(opset), name_(std::move(name)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& op_type() const;
  /// Version of the operator set that the model was written for.
  [[nodiscard]] int opset() const { return opset_; }
  [[nodiscard]] Graph& graph();
  /// Folder of the model, for external data of constants.
  [[nodiscard]] const std::filesystem::path& folder() const;
  [[nodiscard]] const ImportOptions& options() const;
  /// Tells the user something of the node that may not be as expected though it converts.
  void Warn(std::string_view problem);

  // --- operands -----------------------------------------------------------------------------
  [[nodiscard]] int InputCount() const;
  [[nodiscard]] bool HasInput(int index) const;
  /// Declared outputs, used or not.
  [[nodiscard]] int OutputCount() const;
  /// True if something reads output `index`.
  [[nodiscard]] bool OutputUsed(int index) const;
  /// Errors if the input is absent.
  [[nodiscard]] Result<TensorId> Input(int index);
  /// All inputs; an error if there are none or one is absent.
  [[nodiscard]] Result<std::vector<TensorId>> Inputs();
  [[nodiscard]] Shape ShapeOf(TensorId id);
  [[nodiscard]] DType DTypeOf(TensorId id);
  /// Bits of a tensor's numbers where the model packs them into less than a byte, else 0; and what
  /// says so of a result.
  [[nodiscard]] int32_t PackedBitsOf(TensorId id) const;
  void SetPackedBits(TensorId id, int32_t bits);
  /// Tensors of a sequence; null: the value is none.
  [[nodiscard]] const std::vector<TensorId>* SequenceOf(TensorId id) const;
  /// The node's output is a sequence of these.
  [[nodiscard]] Status SequenceOutput(const std::vector<TensorId>& elements);
  /// Says so if an output other than the first is used: what it would hold is not computed.
  [[nodiscard]] Status OnlyFirstOutput();

  // --- attributes ---------------------------------------------------------------------------
  [[nodiscard]] bool HasAttribute(std::string_view attribute) const;
  [[nodiscard]] int64_t Int(std::string_view attribute, int64_t default_value);
  [[nodiscard]] int32_t Int32(std::string_view attribute, int32_t default_value);
  [[nodiscard]] bool Flag(std::string_view attribute, bool default_value);
  [[nodiscard]] float Float(std::string_view attribute, float default_value);
  [[nodiscard]] std::string Text(std::string_view attribute, std::string_view default_value);
  /// Empty if absent.
  [[nodiscard]] std::vector<int64_t> Ints(std::string_view attribute);
  [[nodiscard]] std::vector<float> Floats(std::string_view attribute);
  [[nodiscard]] std::vector<std::string> Texts(std::string_view attribute);
  [[nodiscard]] const onnx::TensorProto* TensorAttribute(std::string_view attribute);
  /// A graph inside the node; null if absent.
  [[nodiscard]] const onnx::GraphProto* GraphAttribute(std::string_view attribute);
  /// These attributes change nothing at inference.
  void Ignore(std::initializer_list<std::string_view> attributes);
  /// Axis attribute or value in [-rank, rank) as [0, rank).
  [[nodiscard]] Result<int32_t> Axis(int64_t axis, int32_t rank) const;
  [[nodiscard]] Result<std::vector<int32_t>> Axes(const std::vector<int64_t>& axes,
                                                  int32_t rank) const;

  // --- constants ----------------------------------------------------------------------------
  /// Makes the tensor a constant, folding what it is computed from. Errors if it depends on an
  /// input of the graph.
  [[nodiscard]] Status RequireConstant(TensorId id);
  /// Of a loop's carried values (see import_graph.hpp).
  void FoldCounters(const std::vector<TensorId>& ids);
  [[nodiscard]] Result<std::vector<int64_t>> ConstantInts(TensorId id);
  [[nodiscard]] Result<std::vector<double>> ConstantDoubles(TensorId id);
  /// An error where memory would not be allowed so many numbers: dims of an input, which cost
  /// nothing in the file, can ask for any number of them.
  [[nodiscard]] Status CheckRoomFor(int64_t numbers);
  [[nodiscard]] Status CheckRoomForBytes(int64_t bytes);
  /// New constants; `hint` becomes part of the name.
  [[nodiscard]] Result<TensorId> Constant(std::string_view hint, TensorData data);
  [[nodiscard]] Result<TensorId> Constant(std::string_view hint, DType dtype, const Shape& shape,
                                          const std::vector<double>& values);
  [[nodiscard]] Result<TensorId> Scalar(std::string_view hint, DType dtype, double value);

  // --- emitting -----------------------------------------------------------------------------
  /// Adds an op with one output. With `output` >= 0 the result becomes that output of the node
  /// and carries its name.
  [[nodiscard]] Result<TensorId> Emit(OpKind kind, const std::vector<TensorId>& inputs,
                                      const Attributes& attributes, int output = kIntermediate);
  /// The node's output is a tensor that exists already.
  void Alias(int output, TensorId id);
  /// The node's output is a constant.
  [[nodiscard]] Status ConstantOutput(int output, TensorData data);

  /// These leave out what would change nothing, and work on constants without emitting an op.
  [[nodiscard]] Result<TensorId> Reshape(TensorId x, const std::vector<int64_t>& dims,
                                         int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Transpose(TensorId x, const std::vector<int32_t>& permutation,
                                           int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Cast(TensorId x, DType to, int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Unary(TensorId x, const UnaryAttributes& attributes,
                                       int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Binary(BinaryFunction function, TensorId x, TensorId y,
                                        int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Reduce(ReduceFunction function, TensorId x,
                                        const std::vector<int32_t>& axes, bool keep_dims,
                                        int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Slice(TensorId x, const SliceAttributes& attributes,
                                       int output = kIntermediate);
  [[nodiscard]] Result<TensorId> Expand(TensorId x, const Shape& shape, int output = kIntermediate);

  // --- graphs inside ------------------------------------------------------------------------
  /// Lowers the nodes of `body` as if they stood here, with `inputs` as its inputs, and returns its
  /// outputs. `tag` tells the names of one use from those of another.
  [[nodiscard]] Result<std::vector<TensorId>> Inline(const onnx::GraphProto& body,
                                                     const std::vector<TensorId>& inputs,
                                                     std::string_view tag);

  /// What went wrong with attributes, after the lowering function has returned.
  [[nodiscard]] Status CheckAttributes() const;

 private:
  [[nodiscard]] const onnx::AttributeProto* Find(std::string_view attribute, int type);
  void BadAttribute(std::string_view attribute, std::string_view problem);
  [[nodiscard]] Result<TensorId> Finish(TensorId id, int output);

  Importer& importer_;
  const onnx::NodeProto& node_;
  int opset_;
  std::string name_;
  std::set<std::string, std::less<>> read_attributes_;
  std::string attribute_error_;
};

using LoweringFunction = Status (*)(Lowering& node);

// Which ONNX operators can be imported. The rows stand with the lowerings (ops/ops.hpp).

struct LoweringRow {
  std::string_view op_type;
  LoweringFunction lower = nullptr;
  std::string_view domain = {};  ///< of operators; empty: ONNX's own
  std::string_view limits = {};  ///< what is refused though ONNX has it, in words; empty: nothing
};

/// Oldest and newest versions of the default operator set whose definitions the lowerings follow.
inline constexpr int kOldestOpset = 1;
inline constexpr int kNewestOpset = 28;

/// Null if the operator cannot be imported. Of other domains than the default one, some quantized
/// operators of com.microsoft can.
[[nodiscard]] const LoweringRow* FindLowering(std::string_view domain, std::string_view op_type);

}  // namespace tenon::converter
