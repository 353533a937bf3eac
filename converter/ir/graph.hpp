// The converter's graph: one static DAG of ops over tensors, every shape known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "converter/status.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::converter {

using TensorId = int32_t;
using OpId = int32_t;
inline constexpr int32_t kNone = -1;

/// Physical order of a tensor's elements. Dims stay in the model's order.
enum class Layout : uint8_t { kRowMajor = 0, kChannelsLast = 1 };

/// Bytes of a constant, row-major; shared, never changed in place.
using Bytes = std::shared_ptr<const std::vector<std::byte>>;

struct Tensor {
  std::string name;  ///< unique in the graph, never empty
  DType dtype = DType::kF32;
  Shape shape;
  Layout layout = Layout::kRowMajor;
  Bytes constant;         ///< null unless this is a constant
  OpId producer = kNone;  ///< kNone for inputs and constants

  [[nodiscard]] bool IsConstant() const { return constant != nullptr; }
  [[nodiscard]] int64_t ByteSize() const { return shape.Elements() * DTypeBytes(dtype); }
};

/// The attribute struct of an op as words; empty for ops without attributes.
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
    std::memcpy(&value, words_.data(), std::min(sizeof value, words_.size() * 4));
    return value;
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

  // Decisions of later passes.
  std::string backend;     ///< "cpu", once mapped
  std::string kernel;      ///< kernel id, once chosen
  int64_t workspace_bytes = 0;
  std::string source_ops;  ///< names of source nodes fused into this one, comma-separated
};

/// One static DAG. Ops are kept in a topological order, which is the execution order unless a pass
/// chooses another. Ids stay valid while other ops and tensors are added and erased; erased slots
/// are skipped by `OpOrder()`.
class Graph {
 public:
  std::string name;

  // --- building -----------------------------------------------------------------------------
  /// Adds a tensor; a taken or empty name is made unique by a suffix.
  TensorId AddTensor(std::string_view name, DType dtype, const Shape& shape);
  TensorId AddConstant(std::string_view name, DType dtype, const Shape& shape,
                       std::vector<std::byte> bytes);
  template <typename T>
  TensorId AddConstantOf(std::string_view name, DType dtype, const Shape& shape,
                         const std::vector<T>& values);
  /// Marks as graph input / output, in order. `port_name` is what the user calls it.
  void AddInput(TensorId tensor, std::string_view port_name);
  void AddOutput(TensorId tensor, std::string_view port_name);

  /// Adds an op at the end of the order; output tensors are made with the types that the op's
  /// shape rule infers and are called `output_names` (or after the op).
  Result<OpId> AddOp(OpKind kind, std::string_view name, const std::vector<TensorId>& inputs,
                     const Attributes& attributes,
                     const std::vector<std::string>& output_names = {});
  /// The same for ops with one output; returns that.
  Result<TensorId> AddOpTensor(OpKind kind, std::string_view name,
                               const std::vector<TensorId>& inputs, const Attributes& attributes,
                               std::string_view output_name = {});
  /// Like AddOp, placed just before `position` in the order (at the end if kNone).
  Result<OpId> InsertOp(OpId position, OpKind kind, std::string_view name,
                        const std::vector<TensorId>& inputs, const Attributes& attributes,
                        const std::vector<std::string>& output_names = {});

  // --- reading ------------------------------------------------------------------------------
  [[nodiscard]] const Tensor& tensor(TensorId id) const;
  [[nodiscard]] Tensor& tensor(TensorId id);
  [[nodiscard]] const Op& op(OpId id) const;
  [[nodiscard]] Op& op(OpId id);
  /// Ops alive, in execution order. A copy: safe to change the graph while walking it.
  [[nodiscard]] std::vector<OpId> OpOrder() const { return order_; }
  /// Live tensors in order of creation.
  [[nodiscard]] std::vector<TensorId> Tensors() const;
  [[nodiscard]] TensorId FindTensor(std::string_view name) const;

  struct Port {
    std::string name;
    TensorId tensor;
  };
  [[nodiscard]] const std::vector<Port>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Port>& outputs() const { return outputs_; }
  [[nodiscard]] bool IsInput(TensorId id) const;
  [[nodiscard]] bool IsOutput(TensorId id) const;

  /// Ops that read the tensor, each once, in execution order. O(ops) at worst.
  [[nodiscard]] std::vector<OpId> Consumers(TensorId id) const;
  /// The only op that reads the tensor, if it has exactly one reader and is no graph output.
  [[nodiscard]] OpId OnlyConsumer(TensorId id) const;

  // --- changing -----------------------------------------------------------------------------
  /// Makes every reader of `from` (and graph outputs) use `to` instead.
  void ReplaceUses(TensorId from, TensorId to);
  /// Removes an op; its outputs must have no readers left and are removed too.
  void EraseOp(OpId id);
  /// Removes a tensor that nothing reads or writes.
  void EraseTensor(TensorId id);
  /// Turns a tensor with a producer into a constant (the producer loses this output's tensor only
  /// when erased by dead-code elimination).
  void MakeConstant(TensorId id, std::vector<std::byte> bytes);
  void SetOrder(std::vector<OpId> order) { order_ = std::move(order); }
  void SetPortTensor(bool output, size_t index, TensorId tensor);

 private:
  struct TensorSlot {
    Tensor tensor;
    bool alive = false;
  };
  struct OpSlot {
    Op op;
    bool alive = false;
  };
  std::vector<TensorSlot> tensors_;
  std::vector<OpSlot> ops_;
  std::vector<OpId> order_;
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
};

/// Strides, in elements, of a dense tensor.
[[nodiscard]] std::vector<int32_t> DenseStrides(const Shape& shape, Layout layout);

/// The op as kernels, shape rules and caps see it (no data). Holds what it points to.
class OpCallView {
 public:
  OpCallView(const Graph& graph, const Op& op);
  OpCallView(const OpCallView&) = delete;
  OpCallView& operator=(const OpCallView&) = delete;
  [[nodiscard]] const OpCall& call() const { return call_; }

 private:
  std::vector<TensorView> views_;
  std::vector<std::vector<int32_t>> strides_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
  std::vector<int32_t> attributes_;
  OpCall call_;
};

/// Checks everything that every pass must keep: names unique, ids in range, order topological and
/// complete, every output's type as its op's shape rule says, constants of the right size, ports
/// pointing to live tensors, no op writing a constant or an input.
[[nodiscard]] Status Verify(const Graph& graph);

template <typename T>
TensorId Graph::AddConstantOf(std::string_view constant_name, DType dtype, const Shape& shape,
                              const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return AddConstant(constant_name, dtype, shape, std::move(bytes));
}

}  // namespace tenon::converter
