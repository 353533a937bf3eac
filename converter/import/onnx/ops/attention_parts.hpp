// What attention operators share: from queries, keys and values by head, and masks of several
// forms, to the products and the softmax that passes know as an attention.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// All [B, heads, length, size of a head]: batches, heads, words.
struct Heads {
  TensorId q = kNone;
  TensorId k = kNone;
  TensorId v = kNone;
};

/// Which of a node's inputs say who looks at whom. kNone: there is none.
struct MaskPlaces {
  int mask = kNone;  ///< lengths [B], or ends and starts [2 B]; 0 or 1 in [B, T] or [B, S, T]
  int bias = kNone;  ///< [B or 1, heads or 1, S, T]
};

/// Refuses a node that has one of these inputs: places and names.
[[nodiscard]] Status RefuseInputs(Lowering& node,
                                  std::initializer_list<std::pair<int, std::string_view>> inputs);

/// Refuses a node of which one of these attributes is not 0.
[[nodiscard]] Status RefuseFlags(Lowering& node,
                                 std::initializer_list<std::string_view> attributes);

/// `size` elements along the last axis.
[[nodiscard]] Result<TensorId> LastPart(Lowering& node, TensorId x, int64_t begin, int64_t size);

/// [B, L, heads * size] as [B, heads, L, size].
[[nodiscard]] Result<TensorId> SplitHeads(Lowering& node, TensorId x, int64_t heads);

/// What is added to scores, after the node's attributes unidirectional and mask_filter_value and
/// the inputs at `places`; kNone: nothing. Queries are the last of the words there are keys for.
[[nodiscard]] Result<TensorId> ReadMask(Lowering& node, const Heads& heads,
                                        const MaskPlaces& places);

/// softmax(scale q k' + mask) v, [B, heads, S, size]. The scale is the node's attribute, or
/// 1 / sqrt(size).
[[nodiscard]] Result<TensorId> AttentionByHead(Lowering& node, const Heads& heads, TensorId mask);

/// [B, heads, L, size] as [B, L, heads * size], the node's first output.
[[nodiscard]] Status JoinHeads(Lowering& node, TensorId x);

/// The result of AttentionByHead with its heads joined, the node's first output.
[[nodiscard]] Status EmitAttention(Lowering& node, const Heads& heads, TensorId mask);

/// x behind `past` (both [B, heads, L, size]); what is the node's output `present`, if anything
/// reads that.
[[nodiscard]] Result<TensorId> AfterPast(Lowering& node, TensorId past, TensorId x,
                                         int present = kIntermediate);

}  // namespace tenon::converter
