// TFLite variables as state of a plan: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE, CALL_ONCE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/import/value_names.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Model;
struct Operator;
struct SubGraph;
enum class BuiltinOperator : int32_t;
}  // namespace format

class Importer;

/// True for the operators that Variables lowers, and no row of the table of operators.
[[nodiscard]] bool IsVariableOperator(format::BuiltinOperator op);

/// The variables of one import. Operators come in the order of execution, so that a variable's
/// value is known at every one of them: what the last run left, or what was assigned in this one.
class Variables {
 public:
  /// Both are borrowed; the model has been checked.
  Variables(Importer& importer, const format::Model& model) : importer_(importer), model_(model) {}

  /// Errors: initialisation that computes or that comes late, a variable that nothing has set,
  /// types that differ.
  [[nodiscard]] Status Lower(const format::Operator& node, format::BuiltinOperator op);

  /// A tensor of the model's first graph that is a variable: what it holds now, zeros before the
  /// first run, and what it holds from here on.
  [[nodiscard]] Result<TensorId> Kept(int32_t tensor);
  [[nodiscard]] Status Keep(int32_t tensor, TensorId value);

  /// Makes states of the variables that one run leaves to the next. Call after the last node.
  [[nodiscard]] Status AddStates();

 private:
  using Key = std::pair<std::string, std::string>;  ///< container, name
  struct Variable {
    Bytes initial;
    DType dtype = DType::kF32;
    Shape shape;
    TensorId input = kNone;  ///< what the last run left; none if nobody reads that
    std::string port;        ///< that input's
    TensorId value = kNone;  ///< now
  };

  [[nodiscard]] Status Initialise(const format::Operator& node);
  [[nodiscard]] Status SetInitial(const format::SubGraph& graph, const Key& key, int32_t tensor);
  [[nodiscard]] Status Read(const format::Operator& node);
  [[nodiscard]] Status Assign(const format::Operator& node);
  [[nodiscard]] Result<Variable*> VariableAt(int32_t resource);
  [[nodiscard]] Key KeyOfTensor(int32_t tensor) const;
  /// The variable's value now is what the last run left.
  void ReadLast(Variable& variable, const std::string& name);
  /// A name that no port has yet.
  [[nodiscard]] std::string PortName(bool output, const std::string& wanted);
  /// Errors (kDoesNotFit): that many bytes more, of what variables begin with, are too many.
  [[nodiscard]] Status TakeInitialBytes(int64_t bytes, const std::string& name);

  Importer& importer_;
  const format::Model& model_;
  std::map<Key, Variable> variables_;
  int64_t initial_bytes_ = 0;
  std::optional<ValueNames> port_names_[2];  ///< of inputs, of outputs; from the first use on
  std::map<int32_t, Key> key_of_resource_;   ///< by tensor of the model's first graph
};

}  // namespace tenon::converter::tflite
