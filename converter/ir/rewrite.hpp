// Provides steps that several passes share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Records why `op` was left as it is.
void Decline(const Graph& graph, OpId op, std::string_view reason, PassReport& report);

/// Erases `op` if nothing reads its outputs, then its producers for the same reason, and constants
/// that nothing reads any more.
void EraseIfUnread(Graph& graph, OpId op);

/// Returns why readers of `from` cannot read `to` instead, or an empty text. They can unless types
/// or layouts differ, or a graph output would become the storage of an input, a constant or another
/// output.
[[nodiscard]] std::string WhyNotBypass(const Graph& graph, TensorId from, TensorId to);

/// Makes the readers of the op's only output read `to`, and erases the op.
void BypassAndErase(Graph& graph, OpId op, TensorId to);

/// Adds the names of `absorbed` to the source ops of `main`.
void RecordFusion(Graph& graph, OpId main, OpId absorbed);

/// Erases `absorbed`, whose only output `main` computes now, as its own only output, which takes
/// the name: tensors of plans are compared with the model's by name.
void AbsorbResult(Graph& graph, OpId main, OpId absorbed);

/// Returns the op that writes the tensor if it is of this kind, else kNone.
[[nodiscard]] OpId ProducerOfKind(const Graph& graph, TensorId id, OpKind kind);

/// Returns the value of a float constant with one element.
[[nodiscard]] std::optional<double> ScalarValue(const Graph& graph, TensorId id);

/// Returns true if the op, as it is, satisfies its row with the outputs it has.
[[nodiscard]] bool IsValidOp(const Graph& graph, OpId op);

/// Returns, for a convolution or matrix product, the dimension of the output (or of the weights)
/// along which its channels (a matrix's columns) lie.
[[nodiscard]] int32_t ChannelAxis(const Graph& graph, const Op& op);
[[nodiscard]] int32_t WeightsChannelAxis(const Graph& graph, const Op& op);

/// Returns true for ops with an `Activation` among their attributes. Others apply the identity.
[[nodiscard]] bool HasActivation(OpKind kind);
[[nodiscard]] Activation GetActivation(const Op& op);
void SetActivation(Op& op, const Activation& activation);

}  // namespace tenon::converter
