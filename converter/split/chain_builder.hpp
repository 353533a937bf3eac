// Makes chains from a graph: follows the axis that is cut from op to op through the split table.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "converter/ir/outside_inputs.hpp"
#include "converter/split/chain.hpp"

namespace tenon::converter {

/// Returns the inputs (bit mask) that the op's output may take over because a kernel allows it, in
/// addition to those that its kind allows.
using InPlaceInputs = std::function<uint32_t(const Graph& graph, const Op& op)>;

/// The order of a graph, and each tensor's uses in it.
struct GraphOrder {
  /// `in_place` may be empty if there are no such kernels.
  explicit GraphOrder(const Graph& graph, const InPlaceInputs& in_place = {},
                      const OutsideInputs& outside_inputs = {});

  /// Returns the inputs (bit mask) that usually share bytes with the op's output at no cost: those
  /// of views, unless a reshape must first bring the elements into row-major order.
  [[nodiscard]] uint32_t ViewInputs(const Graph& graph, const Op& op) const;

  /// Returns the input that comes by rows and that the op copies, or null.
  [[nodiscard]] const OutsideInput* TakenBy(OpId id) const;

  std::vector<OpId> ops;
  std::vector<uint32_t> in_place_inputs;  ///< by position: allowed by the op's kind or a kernel
  std::vector<int64_t> last_use;  ///< by TensorId: position; INT64_MAX for outputs; -1: never read
  /// By TensorId: true if the tensor probably has a channels-last layout, since a convolution or a
  /// pool makes it, or an op that keeps the layout of such a tensor.
  std::vector<bool> channels_last;
  OutsideInputs outside;  ///< take none of the memory that is counted
};

/// Grows a chain op by op.
class ChainBuilder {
 public:
  /// The chain begins at position `first` of the order. Both arguments must outlive the builder.
  ChainBuilder(const Graph& graph, const GraphOrder& order, int64_t first,
               SplitDimension dimension);

  /// Adds the next op of the order. Returns false and changes nothing if the op has several
  /// outputs, cannot be cut along the axis of its operands, or needs the whole of one.
  [[nodiscard]] bool Add();
  [[nodiscard]] const Chain& chain() const { return chain_; }

  /// Makes a chain, built for this graph and order, end in the op that follows it, an average over
  /// all its rows. Returns false and changes nothing if that is another op, if the rows have
  /// another reader, or if partial sums would not be bit-equal.
  [[nodiscard]] static bool Accumulate(const Graph& graph, const GraphOrder& order, Chain& chain);

  /// Finds the largest tensor that such a chain by height reads row by row, of which `is_last` says
  /// that nothing else needs it from the chain's end on. Sets Chain::source if its rows, and those
  /// of the only exit, lie one behind the other.
  static void FindSource(const Graph& graph, const GraphOrder& order,
                         const std::function<bool(TensorId source)>& is_last, Chain& chain);

  /// Gives a chain by height, built for this graph and order, its columns. Returns false and
  /// changes nothing if an op cannot be cut by width too, or its rows come once, or a sum ends the
  /// chain.
  [[nodiscard]] static bool AddColumns(const Graph& graph, const GraphOrder& order, Chain& chain);

 private:
  [[nodiscard]] int32_t TensorOf(TensorId id) const;
  [[nodiscard]] bool Fits(const Op& op, const std::vector<InputSplit>& needs) const;
  void Append(OpId id, const OpCall& call, int32_t axis, const std::vector<InputSplit>& needs,
              int32_t granularity);

  const Graph& graph_;
  const GraphOrder& order_;
  Chain chain_;
  std::unordered_map<TensorId, int32_t>
      index_;  ///< index of each tensor that the chain makes; never iterated
};

}  // namespace tenon::converter
