#include "converter/split/patch_rewrite.hpp"

#include <string>
#include <utility>

#include "converter/split/patch_ops.hpp"
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

/// Some rows and columns of a tensor of the chain, as a tensor of the new graph.
struct Piece {
  TensorId id = kNone;
  Region region;
};

class PatchRewriter {
 public:
  PatchRewriter(Graph& graph, const Chain& chain, const Patching& patching)
      : graph_(graph),
        chain_(chain),
        patching_(patching),
        ranges_(chain, patching),
        ops_(graph),
        buffers_(chain.tensors.size()),
        above_(static_cast<size_t>(patching.tiles), buffers_),
        left_(chain.tensors.size()),
        shares_(chain.tensors.size()),
        tile_shares_(chain.tensors.size()) {}

  /// Adds the patches at the end of the order and lets the chain's readers read them, so that the
  /// chain is unused.
  Result<Patches> Run() {
    for (part_ = 0; part_ < patching_.parts; ++part_) {
      ranges_.Rows(part_, rows_);
      for (tile_ = 0; tile_ < patching_.tiles; ++tile_) {
        ranges_.Columns(tile_, columns_);
        ops_.ForgetSlices();
        for (size_t k = 0; k < chain_.ops.size(); ++k) {
          TENON_RETURN_IF_ERROR(MakePatch(k));
          TENON_RETURN_IF_ERROR(KeepAfter(k));
        }
      }
      for (size_t t = 0; t < chain_.tensors.size(); ++t) TENON_RETURN_IF_ERROR(JoinTiles(t));
    }
    Patches patches;
    for (size_t t = 0; t < chain_.tensors.size(); ++t) {
      if (!chain_.IsExit(t)) continue;
      TENON_ASSIGN_OR_RETURN(const TensorId whole,
                             ops_.Join(shares_[t], AxesOf(t).rows, NameOf(t)));
      patches.exits.push_back({chain_.tensors[t].id, whole});
    }
    if (chain_.accumulator != kNone) {
      patches.exits.push_back({graph_.op(chain_.accumulator).outputs[0], sums_});
    }
    for (const Patches::Exit& exit : patches.exits) graph_.ReplaceUses(exit.old, exit.whole);
    patches.ops = ops_.Take();
    return patches;
  }

 private:
  [[nodiscard]] const std::string& NameOf(size_t t) const {
    return graph_.tensor(chain_.tensors[t].id).name;
  }

  [[nodiscard]] std::string PatchName(std::string_view name) const {
    return fmt::format("{}/patch_{}", name, part_ * patching_.tiles + tile_);
  }

  [[nodiscard]] RegionAxes AxesOf(size_t t) const {
    return {chain_.tensors[t].axis,
            chain_.columns == nullptr ? -1 : chain_.columns->tensors[t].axis};
  }

  /// Returns the region `wanted` of the chain's tensor `t`, cut from a piece that contains it.
  Result<TensorId> RegionOf(size_t t, const Piece& piece, const Region& wanted, const char* what) {
    if (piece.id == kNone || !piece.region.Contains(wanted)) {
      return InternalError("patch {} lacks rows of '{}'", part_, NameOf(t));
    }
    if (wanted.Contains(piece.region)) return piece.id;
    const auto inside = [](const IndexRange& range, const IndexRange& whole) {
      return IndexRange{range.begin - whole.begin, range.end - whole.begin};
    };
    return ops_.Slice(
        piece.id, AxesOf(t),
        {inside(wanted.rows, piece.region.rows), inside(wanted.columns, piece.region.columns)},
        PatchName(NameOf(t)) + what);
  }

  /// Copies a region of a piece to where it is needed next.
  Result<TensorId> Move(size_t t, const Piece& piece, const Region& region, const char* from,
                        const char* to) {
    TENON_ASSIGN_OR_RETURN(const TensorId old, RegionOf(t, piece, region, from));
    return ops_.Add(OpKind::kCopy, PatchName(NameOf(t)) + to, {old}, Attributes());
  }

  /// Makes the buffer of an op's output: what comes from the tile on the left, and beside it what
  /// comes from the last patch, above what is computed.
  Status MakePatch(size_t k) {
    const auto t = static_cast<size_t>(chain_.ops[k].output);
    const PatchRows& columns = columns_[t];
    if (columns.New().size() <= 0) {  // existing columns stay unchanged
      buffers_[t] = left_[t];
      return {};
    }
    TENON_RETURN_IF_ERROR(MakeColumns(k));
    if (columns.FromLast().size() <= 0) return {};
    const IndexRange rows = rows_[t].All();
    if (rows.size() <= 0) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId moved,
                           Move(t, left_[t], {rows, columns.FromLast()}, ".left", ".edge"));
    TENON_ASSIGN_OR_RETURN(const TensorId made,
                           RegionOf(t, buffers_[t], {rows, columns.New()}, ".right"));
    TENON_ASSIGN_OR_RETURN(const TensorId buffer, ops_.Join({moved, made}, AxesOf(t).columns,
                                                            PatchName(NameOf(t)) + ".tile"));
    buffers_[t] = {buffer, {rows, columns.All()}};
    return {};
  }

  /// Makes all rows of the new columns.
  Status MakeColumns(size_t k) {
    const ChainOp& cut = chain_.ops[k];
    const auto t = static_cast<size_t>(cut.output);
    const PatchRows& rows = rows_[t];
    const IndexRange columns = columns_[t].New();
    Piece& above = above_[static_cast<size_t>(tile_)][t];
    if (rows.New().size() <= 0) {  // existing rows stay unchanged
      buffers_[t] = above;
      return {};
    }
    TensorId moved = kNone;
    if (rows.FromLast().size() > 0) {
      TENON_ASSIGN_OR_RETURN(moved, Move(t, above, {rows.FromLast(), columns}, ".old", ".halo"));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId made, Compute(cut, {rows.New(), columns}));
    buffers_[t] = {made, {rows.New(), columns}};
    if (chain_.IsShared(t)) TENON_RETURN_IF_ERROR(AddShare(t, buffers_[t]));
    if (moved == kNone) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId buffer, ops_.Join({moved, made}, AxesOf(t).rows,
                                                            PatchName(NameOf(t)) + ".buffer"));
    buffers_[t] = {buffer, {rows.All(), columns}};
    return {};
  }

  /// Adds the op that computes the region `out` of its output, with the inputs that it needs.
  Result<TensorId> Compute(const ChainOp& cut, const Region& out) {
    const Op& op = graph_.op(cut.id);
    const auto t = static_cast<size_t>(cut.output);
    std::vector<TensorId> inputs = op.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == kNone) continue;
      TENON_ASSIGN_OR_RETURN(inputs[i], InputOf(cut, i, inputs[i], out));
    }
    std::vector<int32_t> words = op.attributes.words();
    const OpSplit& row = GetOpHostRow(op.kind).split;
    if (row.part_attributes != nullptr) {
      const OpCallView view(graph_, op);
      const RegionAxes axes = AxesOf(t);
      row.part_attributes(view.call(), axes.rows, out.rows, words.data());
      if (axes.columns >= 0) {
        row.part_attributes(view.call(), axes.columns, out.columns, words.data());
      }
    }
    const std::string source_ops = op.source_ops;
    TENON_ASSIGN_OR_RETURN(const TensorId made, ops_.Add(op.kind, PatchName(op.name), inputs,
                                                         Attributes(std::move(words)), source_ops));
    TENON_RETURN_IF_ERROR(CheckExtent(cut, made, AxesOf(t).rows, out.rows));
    TENON_RETURN_IF_ERROR(CheckExtent(cut, made, AxesOf(t).columns, out.columns));
    return made;
  }

  /// Returns what the op's region `out` needs of its input `i`.
  Result<TensorId> InputOf(const ChainOp& cut, size_t i, TensorId whole, const Region& out) {
    const ChainInput& input = cut.inputs[i];
    const Shape& shape = graph_.tensor(whole).shape;
    RegionAxes axes{input.need.axis, -1};
    Region region{out.rows, {0, 1}};
    if (axes.rows >= 0) region.rows = InputRange(input.need, out.rows, shape[axes.rows]);
    if (chain_.columns != nullptr) {
      const InputSplit& need = chain_.columns->ops[OpIndex(cut)].inputs[i].need;
      axes.columns = need.axis;
      if (need.axis >= 0) region.columns = InputRange(need, out.columns, shape[need.axis]);
    }
    if (input.tensor >= 0) {
      const auto source = static_cast<size_t>(input.tensor);
      return RegionOf(source, buffers_[source], region, ".rows");
    }
    const bool all_rows = axes.rows < 0 || region.rows.size() == shape[axes.rows];
    const bool all_columns = axes.columns < 0 || region.columns.size() == shape[axes.columns];
    if (all_rows && all_columns) return whole;
    return ops_.Slice(whole, axes, region, PatchName(graph_.tensor(whole).name) + ".rows");
  }

  /// Every op makes the tensor of its own index.
  [[nodiscard]] static size_t OpIndex(const ChainOp& cut) {
    return static_cast<size_t>(cut.output);
  }

  [[nodiscard]] Status CheckExtent(const ChainOp& cut, TensorId made, int32_t axis,
                                   const IndexRange& out) const {
    if (axis < 0 || graph_.tensor(made).shape[axis] == out.size()) return {};
    return InternalError("patch {} of '{}' has {} rows instead of {}", part_,
                         graph_.op(cut.id).name, graph_.tensor(made).shape[axis], out.size());
  }

  /// Adds the region of an exit that this tile makes first.
  Status AddShare(size_t t, const Piece& piece) {
    Region share = piece.region;
    if (patching_.policy == PatchPolicy::kRecompute) {
      share.rows = ExitShare(chain_, t, patching_.parts, part_);
    }
    if (chain_.columns != nullptr && patching_.tile_policy == PatchPolicy::kRecompute) {
      share.columns = ExitShare(*chain_.columns, t, patching_.tiles, tile_);
    }
    if (share.IsEmpty()) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId made, RegionOf(t, piece, share, ".share"));
    if (chain_.IsSummed(t)) return Accumulate(t, made, share.rows);
    tile_shares_[t].push_back(made);
    return {};
  }

  /// Puts the tiles that this patch adds to an exit side by side.
  Status JoinTiles(size_t t) {
    if (tile_shares_[t].empty()) return {};
    tile_ = 0;
    TENON_ASSIGN_OR_RETURN(
        const TensorId share,
        ops_.Join(tile_shares_[t], AxesOf(t).columns, PatchName(NameOf(t)) + ".share_of_patch"));
    shares_[t].push_back(share);
    tile_shares_[t].clear();
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
    TENON_ASSIGN_OR_RETURN(sums_, ops_.Add(OpKind::kQuantizedAveragePool, name, inputs,
                                           Attributes(attributes), source_ops));
    return {};
  }

  /// Saves what later tiles and patches need of a tensor, after the last op of this tile that
  /// touches it.
  Status KeepAfter(size_t k) {
    const ChainOp& op = chain_.ops[k];
    TENON_RETURN_IF_ERROR(KeepOf(static_cast<size_t>(op.output), k));
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      TENON_RETURN_IF_ERROR(KeepOf(static_cast<size_t>(input.tensor), k));
    }
    return {};
  }

  Status KeepOf(size_t t, size_t k) {
    const ChainTensor& tensor = chain_.tensors[t];
    const int32_t last = tensor.readers.empty() ? tensor.producer : tensor.readers.back();
    if (last != static_cast<int32_t>(k) || columns_[t].New().size() <= 0) return {};
    const Piece& buffer = buffers_[t];
    if (rows_[t].New().size() > 0) {
      TENON_RETURN_IF_ERROR(Keep(t, {rows_[t].Kept(), columns_[t].New()}, patching_.policy, ".last",
                                 ".kept", above_[static_cast<size_t>(tile_)][t]));
    }
    return Keep(t, {buffer.region.rows, columns_[t].Kept()}, patching_.tile_policy, ".last_columns",
                ".kept_columns", left_[t]);
  }

  /// Makes `kept` the region `keep` of the tensor's buffer, unless that is empty.
  Status Keep(size_t t, const Region& keep, PatchPolicy policy, const char* from, const char* to,
              Piece& kept) {
    const Piece& buffer = buffers_[t];
    if (keep.IsEmpty()) return {};
    if (keep.Contains(buffer.region) || !CopiesKeptRows(policy)) {
      kept = buffer;
      return {};
    }
    // An op with two equal operands comes here twice.
    if (kept.region.Contains(keep) && keep.Contains(kept.region)) return {};
    TENON_ASSIGN_OR_RETURN(const TensorId copy, Move(t, buffer, keep, from, to));
    kept = {copy, keep};
    return {};
  }

  Graph& graph_;
  const Chain& chain_;
  Patching patching_;
  TileRanges ranges_;
  PatchOps ops_;
  std::vector<PatchRows> rows_;                     ///< of this patch, by tensor of the chain
  std::vector<PatchRows> columns_;                  ///< of this tile
  std::vector<Piece> buffers_;                      ///< what this tile's ops read
  std::vector<std::vector<Piece>> above_;           ///< by tile: rows that the previous patch kept
  std::vector<Piece> left_;                         ///< columns that the previous tile kept
  std::vector<std::vector<TensorId>> shares_;       ///< of exits, by patch
  std::vector<std::vector<TensorId>> tile_shares_;  ///< of exits, by tile of this patch
  TensorId sums_ = kNone;                           ///< of the accumulator, so far
  int32_t part_ = 0;
  int32_t tile_ = 0;
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
