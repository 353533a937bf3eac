#include "converter/split/patch_rewrite.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "converter/split/patch_ranges.hpp"

namespace tenon::converter {
namespace {

/// The ops and tensors that have been made for a chain.
struct Patches {
  std::vector<OpId> ops;  ///< in order
  struct Exit {
    TensorId old;
    TensorId whole;  ///< read in its stead
  };
  std::vector<Exit> exits;
};

/// Some rows of a tensor of the chain, as a tensor of the new graph.
struct Piece {
  TensorId id = kNone;
  IndexRange rows;
};

class PatchRewriter {
 public:
  PatchRewriter(Graph& graph, const Chain& chain, const Patching& patching)
      : graph_(graph),
        chain_(chain),
        patching_(patching),
        ranges_(chain, patching),
        buffers_(chain.tensors.size()),
        kept_(chain.tensors.size()),
        shares_(chain.tensors.size()) {}

  /// Adds the patches at the end of the order and lets the chain's readers read them, so that the
  /// chain is unused.
  Result<Patches> Run() {
    for (part_ = 0; part_ < patching_.parts; ++part_) {
      ranges_.Rows(part_, rows_);
      slices_.clear();
      for (size_t k = 0; k < chain_.ops.size(); ++k) {
        TENON_RETURN_IF_ERROR(MakePatch(k));
        TENON_RETURN_IF_ERROR(KeepRowsAfter(k));
      }
    }
    Patches patches;
    for (size_t t = 0; t < chain_.tensors.size(); ++t) {
      if (!chain_.IsExit(t)) continue;
      TENON_ASSIGN_OR_RETURN(const TensorId whole, JoinShares(t));
      patches.exits.push_back({chain_.tensors[t].id, whole});
    }
    if (chain_.accumulator != kNone) {
      patches.exits.push_back({graph_.op(chain_.accumulator).outputs[0], sums_});
    }
    for (const Patches::Exit& exit : patches.exits) graph_.ReplaceUses(exit.old, exit.whole);
    patches.ops = std::move(new_ops_);
    return patches;
  }

 private:
  [[nodiscard]] std::string PatchName(std::string_view name) const {
    return fmt::format("{}/patch_{}", name, part_);
  }

  Result<TensorId> Add(OpKind kind, const std::string& name, const std::vector<TensorId>& inputs,
                       const Attributes& attributes) {
    Result<OpId> added = graph_.AddOp(kind, name, inputs, attributes, {name});
    if (!added.ok()) {
      return InternalError("a patch of the split is refused: {}: {}", name, added.error().message);
    }
    new_ops_.push_back(*added);
    return graph_.op(*added).outputs[0];
  }

  Result<TensorId> Slice(TensorId source, int32_t axis, const IndexRange& rows,
                         const std::string& name) {
    const std::tuple key(source, axis, rows.begin, rows.end);
    if (const auto found = slices_.find(key); found != slices_.end()) return found->second;
    const Shape& shape = graph_.tensor(source).shape;
    SliceAttributes slice;
    slice.rank = shape.rank;
    for (int32_t i = 0; i < shape.rank; ++i) {
      slice.sizes[i] = shape[i];
      slice.steps[i] = 1;
    }
    slice.begins[axis] = rows.begin;
    slice.sizes[axis] = rows.size();
    TENON_ASSIGN_OR_RETURN(const TensorId made,
                           Add(OpKind::kSlice, name, {source}, Attributes(slice)));
    slices_.emplace(key, made);
    return made;
  }

  /// Returns the rows `wanted` of the chain's tensor `t`, cut from a piece that contains them.
  Result<TensorId> RowsOf(size_t t, const Piece& piece, const IndexRange& wanted,
                          const char* what) {
    if (piece.id == kNone || wanted.begin < piece.rows.begin || wanted.end > piece.rows.end) {
      return InternalError("patch {} lacks rows of '{}'", part_,
                           graph_.tensor(chain_.tensors[t].id).name);
    }
    if (wanted.begin == piece.rows.begin && wanted.end == piece.rows.end) return piece.id;
    const int32_t offset = piece.rows.begin;
    return Slice(piece.id, chain_.tensors[t].axis, {wanted.begin - offset, wanted.end - offset},
                 PatchName(graph_.tensor(chain_.tensors[t].id).name) + what);
  }

  Status MakePatch(size_t k) {
    const ChainOp& cut = chain_.ops[k];
    const auto t = static_cast<size_t>(cut.output);
    const PatchRows& rows = rows_[t];
    if (rows.New().size() <= 0) {  // existing rows stay unchanged
      buffers_[t] = kept_[t];
      return {};
    }
    TensorId moved = kNone;
    const std::string name = PatchName(graph_.tensor(chain_.tensors[t].id).name);
    if (rows.FromLast().size() > 0) {
      TENON_ASSIGN_OR_RETURN(const TensorId old, RowsOf(t, kept_[t], rows.FromLast(), ".old"));
      TENON_ASSIGN_OR_RETURN(moved, Add(OpKind::kCopy, name + ".halo", {old}, Attributes()));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId made, ComputeRows(cut, rows.New()));
    buffers_[t] = {made, rows.New()};
    if (chain_.IsShared(t)) {
      TENON_RETURN_IF_ERROR(AddShare(t, {made, rows.New()}));
    }
    if (moved == kNone) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId buffer,
                           Add(OpKind::kConcat, name + ".buffer", {moved, made},
                               Attributes(ConcatAttributes{chain_.tensors[t].axis})));
    buffers_[t] = {buffer, rows.All()};
    return {};
  }

  /// Adds the op that computes the output rows `out`, with the inputs that it needs.
  Result<TensorId> ComputeRows(const ChainOp& cut, const IndexRange& out) {
    const Op& op = graph_.op(cut.id);
    const size_t t = static_cast<size_t>(cut.output);
    std::vector<TensorId> inputs = op.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ChainInput& input = cut.inputs[i];
      if (inputs[i] == kNone || input.need.axis < 0) continue;
      const int32_t extent = graph_.tensor(inputs[i]).shape[input.need.axis];
      const IndexRange range = InputRange(input.need, out, extent);
      if (input.tensor >= 0) {
        const auto source = static_cast<size_t>(input.tensor);
        TENON_ASSIGN_OR_RETURN(inputs[i], RowsOf(source, buffers_[source], range, ".rows"));
      } else if (range.size() != extent) {
        TENON_ASSIGN_OR_RETURN(inputs[i],
                               Slice(inputs[i], input.need.axis, range,
                                     PatchName(graph_.tensor(inputs[i]).name) + ".rows"));
      }
    }
    std::vector<int32_t> words = op.attributes.words();
    const OpSplit& row = GetOpHostRow(op.kind).split;
    if (row.part_attributes != nullptr) {
      const OpCallView view(graph_, op);
      row.part_attributes(view.call(), chain_.tensors[t].axis, out, words.data());
    }
    TENON_ASSIGN_OR_RETURN(const TensorId made,
                           Add(op.kind, PatchName(op.name), inputs, Attributes(std::move(words))));
    graph_.MutableOp(new_ops_.back()).source_ops = graph_.op(cut.id).source_ops;
    if (graph_.tensor(made).shape[chain_.tensors[t].axis] != out.size()) {
      return InternalError("patch {} of '{}' has {} rows instead of {}", part_,
                           graph_.op(cut.id).name,
                           graph_.tensor(made).shape[chain_.tensors[t].axis], out.size());
    }
    return made;
  }

  /// Adds the rows of an exit that this patch makes first.
  Status AddShare(size_t t, const Piece& piece) {
    IndexRange share = piece.rows;
    if (patching_.policy == PatchPolicy::kRecompute) {
      share = ExitShare(chain_, t, patching_.parts, part_);
      if (share.size() <= 0) return {};
    }
    TENON_ASSIGN_OR_RETURN(const TensorId rows, RowsOf(t, piece, share, ".share"));
    if (chain_.IsSummed(t)) return Accumulate(t, rows, share);
    shares_[t].push_back(rows);
    return {};
  }

  /// Adds a share's sums to those so far, or makes the average of them. The window covers the whole
  /// extent: rows outside of the share count as zero padding.
  Status Accumulate(size_t t, TensorId rows, const IndexRange& share) {
    const Op& op = graph_.op(chain_.accumulator);
    auto attributes = op.attributes.As<QuantizedAveragePoolAttributes>();
    attributes.pool.pads[0] = share.begin;
    attributes.pool.pads[2] = chain_.tensors[t].rows - share.end;
    attributes.pool.count_include_pad = 1;
    if (share.end < chain_.tensors[t].rows) {
      attributes.output.to = static_cast<int32_t>(chain_.sum_dtype);
    }
    const std::string source_ops = op.source_ops;
    const std::string name = PatchName(op.name);
    std::vector<TensorId> inputs = {rows};
    if (sums_ != kNone) inputs.push_back(sums_);
    TENON_ASSIGN_OR_RETURN(
        sums_, Add(OpKind::kQuantizedAveragePool, name, inputs, Attributes(attributes)));
    graph_.MutableOp(new_ops_.back()).source_ops = source_ops;
    return {};
  }

  /// Saves the rows of a tensor that later patches need, after the last op of this patch that
  /// touches it.
  Status KeepRowsAfter(size_t k) {
    const ChainOp& op = chain_.ops[k];
    TENON_RETURN_IF_ERROR(KeepRowsOf(static_cast<size_t>(op.output), k));
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      TENON_RETURN_IF_ERROR(KeepRowsOf(static_cast<size_t>(input.tensor), k));
    }
    return {};
  }

  Status KeepRowsOf(size_t t, size_t k) {
    const ChainTensor& tensor = chain_.tensors[t];
    const int32_t last = tensor.readers.empty() ? tensor.producer : tensor.readers.back();
    const IndexRange keep = rows_[t].Kept();
    if (last != static_cast<int32_t>(k) || keep.size() <= 0) return {};
    const Piece& buffer = buffers_[t];
    const bool all = keep.begin == buffer.rows.begin && keep.end == buffer.rows.end;
    if (all || !CopiesKeptRows(patching_.policy) || rows_[t].New().size() <= 0) {
      kept_[t] = buffer;
      return {};
    }
    if (kept_[t].rows.begin == keep.begin && kept_[t].rows.end == keep.end) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId rows, RowsOf(t, buffer, keep, ".last"));
    TENON_ASSIGN_OR_RETURN(const TensorId copy,
                           Add(OpKind::kCopy, PatchName(graph_.tensor(tensor.id).name) + ".kept",
                               {rows}, Attributes()));
    kept_[t] = {copy, keep};
    return {};
  }

  Result<TensorId> JoinShares(size_t t) {
    if (shares_[t].size() == 1) return shares_[t][0];
    return Add(OpKind::kConcat, graph_.tensor(chain_.tensors[t].id).name, shares_[t],
               Attributes(ConcatAttributes{chain_.tensors[t].axis}));
  }

  Graph& graph_;
  const Chain& chain_;
  Patching patching_;
  PatchRanges ranges_;
  std::vector<PatchRows> rows_;                ///< of this patch, by tensor of the chain
  std::vector<Piece> buffers_;                 ///< what this patch's ops read
  std::vector<Piece> kept_;                    ///< rows that the previous patch kept
  std::vector<std::vector<TensorId>> shares_;  ///< of exits, in order
  /// Of this patch, by source, axis, first row and end.
  std::map<std::tuple<TensorId, int32_t, int32_t, int32_t>, TensorId> slices_;
  TensorId sums_ = kNone;  ///< of the accumulator, so far
  std::vector<OpId> new_ops_;
  int32_t part_ = 0;
};

/// Returns the old order with every chain replaced by its patches; the chains' ops come last.
std::vector<OpId> NewOrder(const std::vector<OpId>& old_order, const std::vector<ChainCut>& cuts,
                           const std::vector<Patches>& patches) {
  std::vector<OpId> order;
  int64_t position = 0;
  const auto take_until = [&](int64_t end) {
    order.insert(order.end(), old_order.begin() + position, old_order.begin() + end);
    position = end;
  };
  for (size_t i = 0; i < cuts.size(); ++i) {
    take_until(cuts[i].chain->first);
    order.insert(order.end(), patches[i].ops.begin(), patches[i].ops.end());
    position = cuts[i].chain->end();
  }
  take_until(static_cast<int64_t>(old_order.size()));
  for (const ChainCut& cut : cuts) {
    for (const ChainOp& op : cut.chain->ops) order.push_back(op.id);
    if (cut.chain->accumulator != kNone) order.push_back(cut.chain->accumulator);
  }
  return order;
}

}  // namespace

Status CutIntoPatches(Graph& graph, const std::vector<ChainCut>& cuts) {
  const std::vector<OpId> old_order = graph.OpOrder();
  std::vector<Patches> patches(cuts.size());
  // A chain may read another's exit, which is therefore replaced after its readers have their
  // patches.
  for (size_t i = cuts.size(); i-- > 0;) {
    TENON_ASSIGN_OR_RETURN(patches[i],
                           PatchRewriter(graph, *cuts[i].chain, cuts[i].patching).Run());
  }
  graph.SetOrder(NewOrder(old_order, cuts, patches));
  // Erases from the end of the order, where this moves no other op.
  for (size_t i = cuts.size(); i-- > 0;) {
    std::vector<OpId> ops;
    for (const ChainOp& op : cuts[i].chain->ops) ops.push_back(op.id);
    if (cuts[i].chain->accumulator != kNone) ops.push_back(cuts[i].chain->accumulator);
    for (size_t k = ops.size(); k-- > 0;) {
      const TensorId output = graph.op(ops[k]).outputs[0];
      std::string name = graph.tensor(output).name;
      graph.EraseOp(ops[k]);
      for (const Patches::Exit& exit : patches[i].exits) {
        if (exit.old == output) graph.RenameTensor(exit.whole, name);
      }
    }
  }
  return {};
}

}  // namespace tenon::converter
