// Turns a loaded model into a graph: inputs first, then node by node.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/import/onnx/tensor_data.hpp"
#include "converter/import/value_names.hpp"

namespace onnx {
class GraphProto;
class ModelProto;
class TensorProto;
}  // namespace onnx

namespace tenon::converter {

/// State of one import. `model` has been checked (model_file.hpp), its nodes are sorted, and it
/// outlives this.
class Importer {
 public:
  Importer(const onnx::ModelProto& model, const std::filesystem::path& path,
           const ImportOptions& options, const ConstantFolder& fold);

  /// Fills `graph()`. Call once.
  [[nodiscard]] Status Run();
  [[nodiscard]] Graph& graph() { return graph_; }
  /// Tensors by the model's own value names.
  [[nodiscard]] const std::unordered_map<std::string, TensorId>& values() const { return values_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const ImportOptions& options() const { return options_; }

  // --- for Lowering ---------------------------------------------------------------------------
  /// Tensor of a value; an initialiser becomes a constant when it is first asked for.
  [[nodiscard]] Result<TensorId> Value(const std::string& name);
  void Bind(const std::string& name, TensorId id) { values_[name] = id; }
  [[nodiscard]] bool IsUsed(const std::string& name) const { return used_.count(name) != 0; }
  /// A name that neither the model nor the import uses yet.
  [[nodiscard]] std::string FreshName(const std::string& wanted) { return names_.Fresh(wanted); }
  /// Lowers the nodes of a graph inside a node with these inputs; returns its outputs. Its values
  /// are called `scope`/NAME.
  [[nodiscard]] Result<std::vector<TensorId>> InlineGraph(const onnx::GraphProto& body,
                                                          const std::vector<TensorId>& inputs,
                                                          const std::string& scope);
  /// Makes a tensor constant, or says on which graph input it depends.
  [[nodiscard]] Status Fold(TensorId id);
  void FoldCounters(const std::vector<TensorId>& ids);  ///< see import_graph.hpp
  /// Bits of the numbers of a tensor that the model packs into less than a byte; 0: of any other.
  [[nodiscard]] int32_t PackedBitsOf(TensorId id) const;
  void SetPackedBits(TensorId id, int32_t bits) { packed_bits_[id] = bits; }
  /// Tensors of a sequence, whose value is a constant that stands for it; null of any other value.
  [[nodiscard]] const std::vector<TensorId>* SequenceOf(TensorId id) const;
  void SetSequence(TensorId id, const std::vector<TensorId>& elements);
  /// Checks that constants, graphs copied out of nodes and `more` bytes for `what` are not too
  /// much.
  [[nodiscard]] Status CheckMemory(int64_t more, const std::string& what);

 private:
  [[nodiscard]] Status AddInputs();
  [[nodiscard]] Status AddFrozen(const std::string& name);
  /// Makes a constant of an initialiser.
  [[nodiscard]] Result<TensorId> AddInitializer(const onnx::TensorProto& tensor);
  /// Nodes of the model, or of a graph inside, in an order that works.
  [[nodiscard]] Status LowerNodes(const onnx::GraphProto& nodes);
  [[nodiscard]] Status AddOutputs();
  /// Says so if the node takes packed numbers that only few operators may take.
  [[nodiscard]] Status CheckPacked(const onnx::NodeProto& node);
  /// Says so if the node takes a sequence that only few operators may take.
  [[nodiscard]] Status CheckSequences(const onnx::NodeProto& node);
  /// What only moves packed numbers gives such.
  void PassPacked(const onnx::NodeProto& node);
  /// Drops ops and constants that nothing reads (what was folded, Shape's operands, ...).
  void EraseUnused();
  void CollectNames();

  const onnx::ModelProto& model_;
  std::filesystem::path folder_;
  const ImportOptions& options_;
  const ConstantFolder& fold_;
  int opset_ = 0;
  Graph graph_;
  std::unordered_map<std::string, TensorId> values_;
  std::unordered_map<std::string, const onnx::TensorProto*> initializers_;
  ValueNames names_;
  std::unordered_set<std::string> used_;
  /// Copies of graphs inside nodes: initialisers are read from them when they are asked for.
  std::vector<std::shared_ptr<onnx::GraphProto>> inlined_;
  bool unsupported_ = false;  ///< a graph inside a node has an operator that cannot be lowered
  std::unordered_map<TensorId, int32_t> packed_bits_;
  std::unordered_map<TensorId, std::vector<TensorId>> sequences_;
  int64_t inlined_nodes_ = 0;
  int64_t inlined_bytes_ = 0;
  /// Parts of files that have been read, which any number of initialisers may name.
  std::map<TensorPlace, Bytes> external_;
  std::set<std::filesystem::path> external_files_;
  int64_t model_bytes_ = 0;  ///< of the model's file and those of external data, on the disk
};

}  // namespace tenon::converter
