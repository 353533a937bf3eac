// Defines the converter's graph: one static DAG of ops over tensors whose shapes are all known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "converter/status.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_caps.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

using TensorId = int32_t;
using OpId = int32_t;
inline constexpr int32_t kNone = -1;

/// Selects the physical order of a tensor's elements. Dims stay in the model's order.
enum class Layout : uint8_t {
  kRowMajor = 0,
  kChannelsLast = 1,  ///< axis 1 innermost, the others in order
  kOutputsLast = 2,   ///< weights: axis 0 innermost, then axis 1, then the others in order
};

/// Contains the bytes of a constant in its tensor's layout; shared, never changed in place.
using Bytes = std::shared_ptr<const std::vector<std::byte>>;

struct Tensor {
  std::string name;  ///< unique in the graph, never empty; changed by Graph::RenameTensor only
  DType dtype = DType::kF32;
  Shape shape;
  Layout layout = Layout::kRowMajor;
  Bytes constant;         ///< null unless this is a constant
  OpId producer = kNone;  ///< kNone for inputs and constants

  [[nodiscard]] bool IsConstant() const { return constant != nullptr; }
  [[nodiscard]] int64_t ByteSize() const { return shape.Elements() * DTypeBytes(dtype); }
};

/// Stores the attribute struct of an op as words; empty for ops without attributes.
class Attributes {
 public:
  Attributes() = default;
  template <typename T>
  explicit Attributes(const T& value) : words_(sizeof(T) / 4) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
    std::memcpy(words_.data(), &value, sizeof value);
  }
  explicit Attributes(std::vector<int32_t> words) : words_(std::move(words)) {}

  template <typename T>
  [[nodiscard]] T As() const {
    T value{};
    std::memcpy(static_cast<void*>(&value), words_.data(),
                std::min(sizeof value, words_.size() * 4));
    return value;
  }
  /// Returns the struct's member `T` that begins at word `offset` (OpTraits::output_offset, ...).
  template <typename T>
  [[nodiscard]] T Member(int offset) const {
    T value{};
    std::memcpy(static_cast<void*>(&value), words_.data() + offset, sizeof value);
    return value;
  }
  template <typename T>
  void SetMember(int offset, const T& value) {
    std::memcpy(words_.data() + offset, &value, sizeof value);
  }
  [[nodiscard]] const std::vector<int32_t>& words() const { return words_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<int32_t> words_;
};

struct Op {
  std::string name;  ///< of the source node; for fused ops the main one's
  OpKind kind = OpKind::kCopy;
  std::vector<TensorId> inputs;  ///< kNone where an optional input is absent
  std::vector<TensorId> outputs;
  Attributes attributes;

  // The following are decided by later passes.
  std::string backend;  ///< "cpu", once mapped
  /// Name of a unit of the board; empty: the first unit of the backend that runs the op.
  std::string unit;
  std::string kernel;  ///< kernel id, once chosen; with a variant "id:variant"
  /// Caps of that kernel, from the backend's table; null where only its id is known.
  const KernelCaps* caps = nullptr;
  int64_t workspace_bytes = 0;
  std::string fallback_kernel;  ///< of the CPU, for the very same operands; empty: none
  int64_t fallback_workspace_bytes = 0;
  std::string source_ops;  ///< names of source nodes fused into this one, comma-separated

  /// Returns kNone for an optional input that is absent or lies beyond the last one.
  [[nodiscard]] TensorId InputOrNone(size_t index) const {
    return index < inputs.size() ? inputs[index] : kNone;
  }
};

/// One static DAG. Ops are kept in a topological order, which is the execution order unless a pass
/// chooses another. Ids and references stay valid while other ops and tensors are added and erased;
/// erased slots are skipped by `OpOrder()`.
///
/// Inputs of an op may be changed through the reference of `MutableOp()` until the next query about
/// readers (`Consumers`, ...); after that, get a new reference, or use `SetInput`. Verify finds
/// violations. Reading from several threads is safe once Verify has run and nothing has changed
/// since.
class Graph {
 public:
  std::string name;
  /// Backends to which ops have been given: passes that insert ops use their kernels.
  std::vector<BackendCaps> backends;
  /// Type in which the model's file stores f32 weights of GEMMs: f32, f16, or i8 times a scale.
  /// Importers turn them into f32 constants; StoreWeights writes them to the plan in the model's
  /// type.
  DType weights = DType::kF32;
  /// What a plan keeps from one run to the next: the input finds what the output held when the last
  /// run ended, and `initial` (null: zeros) before the first. Both are ports of the graph by these
  /// names, of one type and shape, and no ports of the plan.
  struct State {
    std::string input;
    std::string output;
    Bytes initial;
  };
  std::vector<State> states;
  /// Bytes that all constants together may take: see CheckConstantLimit.
  int64_t constant_limit = std::numeric_limits<int64_t>::max();

  // --- building -----------------------------------------------------------------------------
  /// Adds a tensor; a taken name is made unique by a suffix, an empty one becomes "tensor".
  TensorId AddTensor(std::string_view name, DType dtype, const Shape& shape);
  TensorId AddConstant(std::string_view name, DType dtype, const Shape& shape,
                       std::vector<std::byte> bytes);
  TensorId AddConstant(std::string_view name, DType dtype, const Shape& shape, Bytes bytes);
  template <typename T>
  TensorId AddConstantOf(std::string_view name, DType dtype, const Shape& shape,
                         const std::vector<T>& values);
  /// Marks as graph input / output, in order. `port_name` is the name that the user sees.
  void AddInput(TensorId tensor, std::string_view port_name);
  void AddOutput(TensorId tensor, std::string_view port_name);

  /// Adds an op at the end of the order; output tensors are made with the types that the op's
  /// shape rule infers and are called `output_names` (or after the op). Attributes shorter than
  /// the op's struct get its defaults. Errors (kInput): operands or attributes that the op's row
  /// refuses; nothing is added then.
  Result<OpId> AddOp(OpKind kind, std::string_view name, const std::vector<TensorId>& inputs,
                     const Attributes& attributes,
                     const std::vector<std::string>& output_names = {});
  /// Does the same for ops with one output and returns that.
  Result<TensorId> AddOpTensor(OpKind kind, std::string_view name,
                               const std::vector<TensorId>& inputs, const Attributes& attributes,
                               std::string_view output_name = {});
  /// Works like AddOp, but places the op just before `position` in the order (at the end if kNone).
  Result<OpId> InsertOp(OpId position, OpKind kind, std::string_view name,
                        const std::vector<TensorId>& inputs, const Attributes& attributes,
                        const std::vector<std::string>& output_names = {});

  // --- reading ------------------------------------------------------------------------------
  [[nodiscard]] bool IsTensor(TensorId id) const;  ///< a live tensor
  [[nodiscard]] bool IsOp(OpId id) const;          ///< a live op
  [[nodiscard]] const Tensor& tensor(TensorId id) const;
  [[nodiscard]] Tensor& MutableTensor(TensorId id);
  [[nodiscard]] const Op& op(OpId id) const;
  [[nodiscard]] Op& MutableOp(OpId id);
  /// Returns the live ops in execution order, as a copy, so the graph may change during iteration.
  [[nodiscard]] std::vector<OpId> OpOrder() const { return order_; }
  /// Returns the live tensors in order of creation.
  [[nodiscard]] std::vector<TensorId> Tensors() const;
  /// Returns the tensor with this name, or kNone.
  [[nodiscard]] TensorId FindTensor(std::string_view name) const;

  struct Port {
    std::string name;
    TensorId tensor;
    /// A quantized port stands for (q - zero_point) * scale; scale 0: not quantized.
    float scale = 0.0F;
    int32_t zero_point = 0;
  };
  [[nodiscard]] const std::vector<Port>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Port>& outputs() const { return outputs_; }
  /// The input or output with this name, or null.
  [[nodiscard]] const Port* FindPort(bool output, std::string_view port_name) const;
  [[nodiscard]] bool IsInput(TensorId id) const;
  [[nodiscard]] bool IsOutput(TensorId id) const;

  /// Returns the ops that read the tensor, each once, in execution order. O(readers log readers).
  [[nodiscard]] std::vector<OpId> Consumers(TensorId id) const;
  /// Returns true if an op or a graph output reads the tensor.
  [[nodiscard]] bool IsRead(TensorId id) const;
  /// Returns the only op that reads the tensor; kNone if there is none or several or a graph
  /// output.
  [[nodiscard]] OpId OnlyConsumer(TensorId id) const;
  /// Returns true if `a` comes before `b` in the order.
  [[nodiscard]] bool IsBefore(OpId a, OpId b) const;
  /// Returns the bytes of all constants; those that several tensors share count once. O(tensors).
  [[nodiscard]] int64_t ConstantBytes() const;
  /// Returns no less than ConstantBytes() in O(1), unless constants were given to tensors through
  /// references. It is exact again after ConstantBytes().
  [[nodiscard]] int64_t ConstantBytesAtMost() const { return constant_bytes_; }

  // --- changing -----------------------------------------------------------------------------
  void SetInput(OpId op, size_t index, TensorId tensor);  ///< O(1), also of an op with many inputs
  void RenameTensor(TensorId id, std::string_view name);  ///< made unique as by AddTensor
  /// Makes every reader of `from` (and graph outputs) use `to` instead. O(their number).
  void ReplaceUses(TensorId from, TensorId to);
  /// Removes an op; its outputs must have no readers left and are removed too.
  void EraseOp(OpId id);
  /// Removes a tensor that nothing reads or writes.
  void EraseTensor(TensorId id);
  /// Turns a tensor with a producer into a constant. The producer gets a new output that nothing
  /// reads, which dead-code elimination will find.
  void MakeConstant(TensorId id, std::vector<std::byte> bytes);
  /// Moves an op in the order to just before `position` (to the end if kNone).
  void MoveOp(OpId id, OpId position);
  void SetOrder(std::vector<OpId> order);
  void SetPortTensor(bool output, size_t index, TensorId tensor);
  void SetPortQuantization(bool output, size_t index, float scale, int32_t zero_point);

 private:
  friend Status Verify(const Graph& graph);

  struct Use {
    OpId op;
    int32_t input;
  };
  struct TensorSlot {
    Tensor tensor;
    bool alive = false;
    int input_ports = 0;
    std::vector<size_t> output_ports;  ///< positions in outputs_, in no order
    std::vector<Use> uses;             ///< in no order; see Sync
  };
  static constexpr size_t kNoUse = SIZE_MAX;
  struct IndexedInput {
    TensorId tensor = kNone;
    size_t use = kNoUse;  ///< position in the tensor's `uses`
  };
  struct OpSlot {
    Op op;
    bool alive = false;
    bool touched = false;               ///< op.inputs may have changed since Sync
    int64_t label = 0;                  ///< grows along the order
    std::vector<IndexedInput> indexed;  ///< the inputs that `uses` know of
  };
  struct NameHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  template <typename Value>
  using NameMap = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;

  [[nodiscard]] std::string UniqueName(std::string_view name);
  [[nodiscard]] size_t PositionOf(OpId id) const;
  void Touch(OpId id);
  void PlaceInOrder(OpId id, OpId position);
  void RelabelOrder();
  void Sync() const;
  [[nodiscard]] static bool IsIndexed(const OpSlot& slot);
  void IndexInputs(OpId id) const;
  void AddUse(OpId id, size_t input, TensorId tensor) const;
  void RemoveUse(OpId id, size_t input) const;

  // These are deques, so that references outlive additions. They are mutable, because the first
  // query after a change updates the use lists.
  mutable std::deque<TensorSlot> tensors_;
  mutable std::deque<OpSlot> ops_;
  mutable std::vector<OpId> touched_;
  mutable int64_t constant_bytes_ = 0;  ///< what was added since they were counted last included
  std::vector<OpId> order_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  NameMap<TensorId> names_;
  NameMap<int> next_suffix_;
};

/// Returns the strides, in elements, of a dense tensor. kChannelsLast puts axis 1 innermost; on
/// tensors of rank 2 and less it is the same as kRowMajor.
[[nodiscard]] std::vector<int32_t> DenseStrides(const Shape& shape, Layout layout);

/// Checks that the constants, and `more` bytes that are about to be computed for `what`, stay
/// within `graph.constant_limit`: a few nodes can ask for any amount of memory. Errors:
/// kDoesNotFit, with the limit that would do.
[[nodiscard]] Status CheckConstantLimit(const Graph& graph, int64_t more, std::string_view what);

/// Presents the op as shape rules and caps see it: only constants have data. Owns everything that
/// the call points to, except constants' bytes. Inputs and outputs must be live tensors or kNone.
class OpCallView {
 public:
  OpCallView(const Graph& graph, const Op& op);
  OpCallView(const OpCallView&) = delete;
  OpCallView& operator=(const OpCallView&) = delete;
  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  void AddView(const Tensor& tensor);

  std::vector<TensorView> views_;
  std::deque<Shape> dims_;
  std::deque<std::vector<int32_t>> strides_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
  std::vector<int32_t> attributes_;
  OpCall call_;
};

/// Checks everything that every pass must preserve: names are unique, ids are in range, the order
/// is topological and complete, every output's type is what its op's shape rule says, constants
/// have the right size, ports point to live tensors, and no op writes a constant or an input.
[[nodiscard]] Status Verify(const Graph& graph);

template <typename T>
TensorId Graph::AddConstantOf(std::string_view constant_name, DType dtype, const Shape& shape,
                              const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return AddConstant(constant_name, dtype, shape, std::move(bytes));
}

}  // namespace tenon::converter
