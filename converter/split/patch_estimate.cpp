#include <algorithm>
#include <numeric>

#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"
#include "converter/split/patch_samples.hpp"

namespace tenon::converter {
namespace {

/// What all tiles of a patch make of a tensor.
struct TileSums {
  int32_t columns = 0;    ///< computed
  int32_t from_left = 0;  ///< columns that come from the tile before
  int32_t made = 0;       ///< tiles that compute columns
  int32_t moved = 0;      ///< tiles with columns from the one before
};

class Estimator {
 public:
  Estimator(const Chain& chain, const Patching& patching)
      : chain_(chain),
        patching_(patching),
        ranges_(chain, patching),
        sample_(SampledParts(patching.parts, StepsPerShare(chain, patching))),
        tiles_(SampledTiles(patching.tiles)) {}

  PatchEstimate Run() {
    ReadRanges();
    Classify();
    JoinStorages();
    FollowSource();
    for (size_t i = 0; i < sample_.size(); ++i) {
      for (size_t j = 0; j < tiles_.size(); ++j) SimulateTile(i, j);
    }
    AddCosts();
    return estimate_;
  }

 private:
  void ReadRanges() {
    rows_.resize(sample_.size());
    for (size_t i = 0; i < sample_.size(); ++i) ranges_.Rows(sample_[i], rows_[i]);
    columns_.resize(tiles_.size());
    for (size_t j = 0; j < tiles_.size(); ++j) ranges_.Columns(tiles_[j], columns_[j]);
    sums_.resize(chain_.tensors.size());
    std::vector<PatchRows> columns;
    for (int32_t tile = 0; tile < patching_.tiles; ++tile) {
      ranges_.Columns(tile, columns);
      for (size_t t = 0; t < sums_.size(); ++t) {
        sums_[t].columns += columns[t].New().size();
        sums_[t].from_left += columns[t].FromLast().size();
        sums_[t].made += columns[t].New().size() > 0 ? 1 : 0;
        sums_[t].moved += columns[t].FromLast().size() > 0 ? 1 : 0;
      }
    }
    const auto looked_at = static_cast<int64_t>(sample_.size() * tiles_.size());
    const auto ops = static_cast<int64_t>(chain_.ops.size());
    estimate_.effort = (3 * looked_at + (patching_.tiles > 1 ? patching_.tiles : 0)) * ops;
  }

  /// Finds which tensors get a buffer for old and new rows, and which exits are written in place.
  void Classify() {
    const size_t count = chain_.tensors.size();
    has_halo_.assign(count, 0);
    in_exit_.assign(count, 0);
    for (size_t t = 0; t < count; ++t) {
      has_halo_[t] = HasHalo(rows_, t) || HasHalo(columns_, t) ? 1 : 0;
      if (!chain_.IsExit(t) || has_halo_[t] != 0) continue;
      // Patches make their share and no more.
      bool exact = IsExact(chain_, {patching_.parts, patching_.policy}, sample_, rows_, t);
      if (patching_.tiles > 1) {
        exact = exact && IsExact(*chain_.columns, patching_.Across(), tiles_, columns_, t);
      }
      in_exit_[t] = exact ? 1 : 0;
    }
  }

  [[nodiscard]] static bool HasHalo(const std::vector<std::vector<PatchRows>>& parts, size_t t) {
    return std::any_of(parts.begin(), parts.end(), [t](const std::vector<PatchRows>& rows) {
      return rows[t].begin < rows[t].computed;
    });
  }

  [[nodiscard]] static bool IsExact(const Chain& chain, const Patching& patching,
                                    const std::vector<int32_t>& sample,
                                    const std::vector<std::vector<PatchRows>>& parts, size_t t) {
    if (patching.policy != PatchPolicy::kRecompute) return true;
    for (size_t i = 0; i < sample.size(); ++i) {
      const IndexRange share = ExitShare(chain, t, patching.parts, sample[i]);
      if (share.begin != parts[i][t].begin || share.end != parts[i][t].end) return false;
    }
    return true;
  }

  size_t Root(size_t tensor) {
    while (root_[tensor] != tensor) tensor = root_[tensor] = root_[root_[tensor]];
    return tensor;
  }

  /// Tensors whose patches share bytes: views, and hand-overs from an operand read for the last
  /// time. `release_` then is the op after which a storage is free.
  void JoinStorages() {
    root_.resize(chain_.tensors.size());
    std::iota(root_.begin(), root_.end(), size_t{0});
    for (size_t k = 0; k < chain_.ops.size(); ++k) Join(k);
    release_.assign(root_.size(), 0);
    for (size_t t = 0; t < root_.size(); ++t) {
      int32_t& release = release_[Root(t)];
      release = std::max(release, LastUse(t));
    }
  }

  /// Returns the last op of a patch that touches the tensor.
  [[nodiscard]] int32_t LastUse(size_t t) const {
    const ChainTensor& tensor = chain_.tensors[t];
    return tensor.readers.empty() ? tensor.producer : tensor.readers.back();
  }

  void Join(size_t k) {
    const ChainOp& op = chain_.ops[k];
    const auto out = static_cast<size_t>(op.output);
    bool handed_over = false;
    for (size_t i = 0; i < op.inputs.size() && i < 32; ++i) {
      if (op.inputs[i].tensor < 0) continue;
      const auto in = static_cast<size_t>(op.inputs[i].tensor);
      const bool free_source = has_halo_[in] == 0 && !chain_.IsExit(in);
      const bool view = (op.views >> i & 1U) != 0 && (free_source || has_halo_[out] == 0) &&
                        (op.inputs.size() == 1 || HasNoOthers(k, i));
      const bool dies = chain_.tensors[in].readers.back() == static_cast<int32_t>(k);
      const bool in_place = (InPlace(k) >> i & 1U) != 0 && !handed_over && free_source && dies &&
                            has_halo_[out] == 0 && !chain_.IsExit(out);
      if (!view && !in_place) continue;
      handed_over = handed_over || in_place;
      root_[Root(in)] = Root(out);
    }
  }

  [[nodiscard]] uint32_t InPlace(size_t k) const {
    const uint32_t by_rows = chain_.ops[k].in_place;
    return chain_.columns == nullptr ? by_rows : by_rows & chain_.columns->ops[k].in_place;
  }

  /// A part of a concatenation lies inside it if patches have no rows of it that only other ops
  /// read.
  [[nodiscard]] bool HasNoOthers(size_t k, size_t i) const {
    return HasNoOthers(chain_, rows_, k, i) &&
           (chain_.columns == nullptr || HasNoOthers(*chain_.columns, columns_, k, i));
  }

  [[nodiscard]] static bool HasNoOthers(const Chain& chain,
                                        const std::vector<std::vector<PatchRows>>& parts, size_t k,
                                        size_t i) {
    const ChainInput& input = chain.ops[k].inputs[i];
    const auto in = static_cast<size_t>(input.tensor);
    const auto out = static_cast<size_t>(chain.ops[k].output);
    return std::all_of(parts.begin(), parts.end(), [&](const std::vector<PatchRows>& rows) {
      if (rows[out].New().size() <= 0) return true;
      const IndexRange read = InputRange(input.need, rows[out].New(), chain.tensors[in].rows);
      return read.begin == rows[in].begin && read.end == rows[in].end;
    });
  }

  [[nodiscard]] int32_t Width(size_t t) const {
    return chain_.columns == nullptr ? 1 : std::max(chain_.columns->tensors[t].rows, 1);
  }

  [[nodiscard]] int64_t Bytes(size_t t, int64_t rows, int64_t columns) const {
    return chain_.tensors[t].row_bytes * rows * columns / Width(t);
  }

  /// Returns the bytes that the previous patch and the previous tile keep for this one.
  [[nodiscard]] int64_t WaitingBytes(size_t i, size_t j, size_t t) const {
    if (has_halo_[t] == 0) return 0;
    const PatchRows& rows = rows_[i][t];
    const PatchRows& columns = columns_[j][t];
    const int64_t left = Bytes(t, rows.All().size(), columns.FromLast().size());
    if (rows.FromLast().size() <= 0) return left;
    int32_t above = rows.FromLast().size();
    if (patching_.policy == PatchPolicy::kKeepBuffer && i > 0) {
      above = std::max(rows_[i - 1][t].All().size(), above);
    }
    return left + Bytes(t, above, columns.New().size());
  }

  /// Returns the bytes that the previous patch keeps for the tiles after this one, and the tiles
  /// before this one for the next patch.
  [[nodiscard]] int64_t OtherTilesBytes(size_t i, size_t j, size_t t) const {
    const PatchRows& rows = rows_[i][t];
    const int32_t kept = std::max(rows.FromLast().size(), rows.Kept().size());
    return Bytes(t, kept, sums_[t].columns - columns_[j][t].New().size());
  }

  void SimulateTile(size_t i, size_t j) {
    const size_t count = chain_.tensors.size();
    std::vector<int64_t>& bytes = bytes_;
    std::vector<uint8_t>& placed = placed_;
    bytes.assign(count, 0);
    placed.assign(count, 0);
    int64_t live = chain_.accumulator == kNone ? 0 : chain_.sum_bytes;
    for (size_t t = 0; t < count; ++t) {
      const size_t root = Root(t);
      bytes[root] =
          std::max(bytes[root], Bytes(t, rows_[i][t].All().size(), columns_[j][t].All().size()));
      live += WaitingBytes(i, j, t) + OtherTilesBytes(i, j, t);
      if (chain_.source.id == kNone && chain_.IsExit(t) && Begun(i, j, t)) live += Whole(t);
    }
    if (chain_.source.id != kNone) live += j == 0 ? before_exit_[i] : behind_exit_[i];
    for (size_t t = 0; t < count; ++t) {
      if (in_exit_[t] != 0) bytes[Root(t)] = 0;  // written where it belongs
    }
    for (size_t k = 0; k < chain_.ops.size(); ++k) {
      const auto out = static_cast<size_t>(chain_.ops[k].output);
      const size_t root = Root(out);
      if (chain_.IsExit(out)) live += Written(i, j, out);
      if (placed[root] == 0) live += bytes[root];
      placed[root] = 1;
      estimate_.peak = std::max(estimate_.peak, live);
      live -= WaitingBytes(i, j, out);
      live -= Release(i, j, k, live);
    }
  }

  /// Releases the storages that op `k` is the last to need. Returns their bytes, less what is kept
  /// for the next patch.
  int64_t Release(size_t i, size_t j, size_t k, int64_t live) {
    int64_t freed = 0;
    int64_t kept = 0;
    const auto visit = [&](size_t t) {
      const size_t root = Root(t);
      if (placed_[root] == 0 || release_[root] != static_cast<int32_t>(k)) return;
      placed_[root] = 0;
      freed += bytes_[root];
    };
    const auto keep = [&](size_t t) {
      if (has_halo_[t] == 0 || LastUse(t) != static_cast<int32_t>(k)) return;
      const PatchRows& rows = rows_[i][t];
      const PatchRows& columns = columns_[j][t];
      kept += Bytes(t, rows.All().size(), columns.Kept().size());
      if (rows.Kept().size() <= 0) return;
      const bool whole = patching_.policy == PatchPolicy::kKeepBuffer;
      const int32_t below = whole ? rows.All().size() : rows.Kept().size();
      kept += Bytes(t, below, columns.New().size());
    };
    const ChainOp& op = chain_.ops[k];
    keep(static_cast<size_t>(op.output));
    visit(static_cast<size_t>(op.output));
    for (size_t n = 0; n < op.inputs.size(); ++n) {
      const int32_t source = op.inputs[n].tensor;
      if (source < 0) continue;
      bool seen = source == op.output;
      for (size_t before = 0; before < n; ++before) seen |= op.inputs[before].tensor == source;
      if (seen) continue;
      keep(static_cast<size_t>(source));
      visit(static_cast<size_t>(source));
    }
    const bool copies = CopiesKeptRows(patching_.policy) || CopiesKeptRows(patching_.tile_policy);
    if (copies && kept > 0) {
      estimate_.peak = std::max(estimate_.peak, live + kept);
    }
    return freed - kept;
  }

  [[nodiscard]] int64_t Whole(size_t t) const { return Bytes(t, chain_.tensors[t].rows, Width(t)); }

  /// Returns the bytes that an exit needs more of from its op on.
  [[nodiscard]] int64_t Written(size_t i, size_t j, size_t t) const {
    if (chain_.source.id == kNone) return Begun(i, j, t) ? 0 : Whole(t);
    return j == 0 ? behind_exit_[i] - before_exit_[i] : 0;
  }

  /// Counts what has been made of the exit less what has been read of the source for the last time,
  /// whose bytes other rows may take too.
  void FollowSource() {
    const ChainSource& source = chain_.source;
    if (source.id == kNone) return;
    const size_t last = chain_.tensors.size() - 1;
    const bool reads_source = source.readers.back().first == static_cast<int32_t>(last);
    // The last op of a patch, or of a tile, writes its share.
    const bool reads_more = reads_source || patching_.tiles > 1;
    const ChainTensor& exit = chain_.tensors[last];
    std::vector<PatchRows> rows;
    for (size_t i = 0; i < sample_.size(); ++i) {
      const int32_t part = sample_[i];
      IndexRange made = rows_[i][last].New();
      if (patching_.policy == PatchPolicy::kRecompute) {
        made = ExitShare(chain_, last, patching_.parts, part);
      }
      const int32_t first = FirstOfSource(rows_[i]);
      int32_t next = first;
      if (!reads_more) {
        ranges_.Rows(std::min(part + 1, patching_.parts - 1), rows);
        next = part + 1 == patching_.parts ? source.rows : FirstOfSource(rows);
      }
      before_exit_.push_back(made.begin * exit.row_bytes - first * source.row_bytes);
      behind_exit_.push_back(made.end * exit.row_bytes - next * source.row_bytes);
    }
  }

  /// Returns the first row of the source that a patch with these rows reads.
  [[nodiscard]] int32_t FirstOfSource(const std::vector<PatchRows>& rows) const {
    int32_t first = chain_.source.rows;
    for (const auto& [op, need] : chain_.source.readers) {
      const IndexRange made =
          rows[static_cast<size_t>(chain_.ops[static_cast<size_t>(op)].output)].New();
      if (made.size() <= 0) continue;
      first = std::min(first, InputRange(need, made, chain_.source.rows).begin);
    }
    return first;
  }

  /// Returns true if an earlier patch, or an earlier tile of this one, has made some of the exit.
  [[nodiscard]] bool Begun(size_t i, size_t j, size_t t) const {
    const bool again = patching_.policy == PatchPolicy::kRecompute;
    const PatchRows& rows = rows_[i][t];
    if ((again ? ExitShare(chain_, t, patching_.parts, sample_[i]).begin : rows.computed) > 0) {
      return true;
    }
    if (tiles_[j] == 0 || rows.New().size() <= 0) return false;
    const bool again_across = patching_.tile_policy == PatchPolicy::kRecompute;
    return (again_across ? ExitShare(*chain_.columns, t, patching_.tiles, tiles_[j]).begin
                         : columns_[j][t].computed) > 0;
  }

  /// Sums over the examined patches, scaled to all of them.
  void AddCosts() {
    const int64_t moves = CopiesKeptRows(patching_.policy) ? 2 : 1;
    int64_t copied = 0;
    int64_t ops = 0;
    int64_t moved_ops = 0;
    double work = 0;
    for (size_t i = 0; i < sample_.size(); ++i) {
      for (size_t t = 0; t < chain_.tensors.size(); ++t) {
        const PatchRows& rows = rows_[i][t];
        const TileSums& tiles = sums_[t];
        const ChainOp& op = chain_.ops[static_cast<size_t>(chain_.tensors[t].producer)];
        if (rows.New().size() <= 0) continue;
        ops += op.views != 0 ? 0 : tiles.made;
        work += static_cast<double>(op.work) * rows.New().size() / chain_.tensors[t].rows *
                tiles.columns / Width(t);
        const bool moved = chain_.IsExit(t) && in_exit_[t] == 0;
        copied += moved ? Bytes(t, rows.New().size(), tiles.columns) : 0;
        ops += chain_.IsSummed(t) ? 1 : 0;
        copied += 2 * Bytes(t, rows.All().size(), tiles.from_left);
        moved_ops += 2 * tiles.moved;
        if (rows.FromLast().size() <= 0) continue;
        copied += moves * Bytes(t, rows.FromLast().size(), tiles.columns);
        moved_ops += moves * tiles.made;
      }
    }
    const auto looked_at = static_cast<int64_t>(sample_.size());
    const auto all = [&](int64_t sum) { return sum * patching_.parts / looked_at; };
    estimate_.copied_bytes = all(copied);
    estimate_.moves = all(moved_ops);
    estimate_.ops = all(ops + moved_ops);
    double once = 0;
    for (const ChainOp& op : chain_.ops) once += static_cast<double>(op.work);
    const double done = work * patching_.parts / static_cast<double>(looked_at);
    const bool repeats = patching_.policy == PatchPolicy::kRecompute ||
                         patching_.policy == PatchPolicy::kKeepNarrow || patching_.tiles > 1;
    if (repeats && done > once) {
      estimate_.recomputed_work = static_cast<int64_t>(done - once);
    }
  }

  const Chain& chain_;
  Patching patching_;
  TileRanges ranges_;
  std::vector<int32_t> sample_;
  std::vector<int32_t> tiles_;                   ///< examined, of every patch
  std::vector<std::vector<PatchRows>> rows_;     ///< by examined patch, then tensor
  std::vector<std::vector<PatchRows>> columns_;  ///< by examined tile, then tensor
  std::vector<TileSums> sums_;                   ///< by tensor
  // Flags are bytes because that is faster than bits.
  std::vector<uint8_t> has_halo_;
  std::vector<uint8_t> in_exit_;  ///< patches are written straight into the whole
  std::vector<size_t> root_;
  std::vector<int32_t> release_;  ///< by root: the op after which its bytes are free
  /// Of a chain with a source, by examined patch: bytes of the exit that are written before its op
  /// runs, and behind it, less those of the source that are no longer needed.
  std::vector<int64_t> before_exit_;
  std::vector<int64_t> behind_exit_;
  PatchEstimate estimate_;

  // Scratch of the simulation of one tile, by root.
  std::vector<int64_t> bytes_;   ///< of the storage
  std::vector<uint8_t> placed_;  ///< it is alive
};

}  // namespace

PatchEstimate EstimatePatches(const Chain& chain, const Patching& patching) {
  return Estimator(chain, patching).Run();
}

}  // namespace tenon::converter
