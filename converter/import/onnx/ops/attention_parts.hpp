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
  /// Lengths [B], also with more behind them [3 B + 2], or ends and starts [2 B]; 0 or 1 in [B, T]
  /// or [B, S, T], or [B, 1, M, M] for all of M words.
  int mask = kNone;
  int bias = kNone;              ///< [B or 1, heads or 1, S, T]
  int64_t past = 0;              ///< keys that stand before that of the first query
  bool may_be_dummy = false;     ///< a mask [B, 1] or [1, 1] hides nothing
  bool may_be_negative = false;  ///< lengths: below 0 they are 0
};

/// A mask that hides no query's every key, and for which queries it would have done so.
struct SeenMask {
  TensorId mask = kNone;
  TensorId blind = kNone;  ///< bool [.., S, 1]; kNone: every query sees a key
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

/// Takes apart a mask that is minus infinity where a key is hidden.
[[nodiscard]] Result<SeenMask> TakeApart(Lowering& node, TensorId mask);

/// y [B, heads, S, size], or 0 for queries that see no key.
[[nodiscard]] Result<TensorId> ZeroWhereBlind(Lowering& node, const SeenMask& mask, TensorId y);

/// A tensor [B or 1, heads or 1, S, T or 1] for queries of which `shared` heads, those that share
/// keys, stand behind each other as more queries of one head.
[[nodiscard]] Result<TensorId> ForGroups(Lowering& node, TensorId mask, int64_t heads,
                                         int64_t shared);

/// The scores of AttentionByHead before the mask, [B, heads, S, T]: scale q k', soft-capped as the
/// node's attribute softcap asks. The scale is the node's attribute, or 1 / sqrt(size).
[[nodiscard]] Result<TensorId> Scores(Lowering& node, const Heads& heads);

/// Scores in two steps: before and after the soft cap.
[[nodiscard]] Result<TensorId> Products(Lowering& node, const Heads& heads);
[[nodiscard]] Result<TensorId> Capped(Lowering& node, TensorId products);

/// softmax(scores + mask). `sink` [B, heads, S, 1], if it is there, is one more score of each
/// query, for a key without a value.
[[nodiscard]] Result<TensorId> Shares(Lowering& node, TensorId scores, TensorId mask,
                                      TensorId sink = kNone);

/// softmax(scale q k' + mask) v, [B, heads, S, size], by Scores and Shares.
[[nodiscard]] Result<TensorId> AttentionByHead(Lowering& node, const Heads& heads, TensorId mask,
                                               TensorId sink = kNone);

/// [B, heads, L, size] as [B, L, heads * size], the node's first output.
[[nodiscard]] Status JoinHeads(Lowering& node, TensorId x);

/// The result of AttentionByHead with its heads joined, the node's first output.
[[nodiscard]] Status EmitAttention(Lowering& node, const Heads& heads, TensorId mask);

/// x behind `past` (both [B, heads, L, size]); what is the node's output `present`, if anything
/// reads that.
[[nodiscard]] Result<TensorId> AfterPast(Lowering& node, TensorId past, TensorId x,
                                         int present = kIntermediate);

}  // namespace tenon::converter
