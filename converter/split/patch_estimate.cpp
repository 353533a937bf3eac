#include <algorithm>
#include <numeric>

#include "converter/split/patch_profile.hpp"
#include "converter/split/patch_ranges.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

/// Returns the patches examined where there are many; they include the first and the last. Of
/// those that add one share together all are examined, or none.
std::vector<int32_t> SampledParts(int32_t parts, int32_t steps) {
  constexpr int32_t kMost = 12;
  const int32_t shares = CeilDiv(parts, steps);
  std::vector<int32_t> sample;
  const auto add = [&](int32_t share) {
    for (int32_t part = share * steps; part < std::min((share + 1) * steps, parts); ++part) {
      sample.push_back(part);
    }
  };
  if (shares <= kMost) {
    for (int32_t share = 0; share < shares; ++share) add(share);
    return sample;
  }
  for (int32_t i = 0; i < 4; ++i) add(i);
  for (int32_t i = 1; i <= 4; ++i) add(static_cast<int32_t>(3 + int64_t{shares - 7} * i / 5));
  for (int32_t i = 4; i > 0; --i) add(shares - i);
  return sample;
}

class Estimator {
 public:
  Estimator(const Chain& chain, const Patching& patching)
      : chain_(chain),
        patching_(patching),
        ranges_(chain, patching),
        sample_(SampledParts(patching.parts, StepsPerShare(chain, patching))) {}

  PatchEstimate Run() {
    ReadRanges();
    Classify();
    JoinStorages();
    for (size_t i = 0; i < sample_.size(); ++i) SimulatePart(i);
    AddCosts();
    return estimate_;
  }

 private:
  void ReadRanges() {
    rows_.resize(sample_.size());
    for (size_t i = 0; i < sample_.size(); ++i) ranges_.Rows(sample_[i], rows_[i]);
    estimate_.effort = static_cast<int64_t>(3 * sample_.size() * chain_.ops.size());
  }

  /// Finds which tensors get a buffer for old and new rows, and which exits are written in place.
  void Classify() {
    const size_t count = chain_.tensors.size();
    has_halo_.assign(count, 0);
    in_exit_.assign(count, 0);
    for (size_t t = 0; t < count; ++t) {
      bool exact = true;  // patches make their share and no more
      for (size_t i = 0; i < sample_.size(); ++i) {
        const PatchRows& rows = rows_[i][t];
        if (rows.begin < rows.computed) has_halo_[t] = 1;
        if (patching_.policy != PatchPolicy::kRecompute || !chain_.IsExit(t)) continue;
        const IndexRange share = ExitShare(chain_, t, patching_.parts, sample_[i]);
        exact = exact && share.begin == rows.begin && share.end == rows.end;
      }
      in_exit_[t] = chain_.IsExit(t) && has_halo_[t] == 0 && exact ? 1 : 0;
    }
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
                        (op.inputs.size() == 1 || HasNoOtherRows(op, i));
      const bool dies = chain_.tensors[in].readers.back() == static_cast<int32_t>(k);
      const bool in_place = (op.in_place >> i & 1U) != 0 && !handed_over && free_source && dies &&
                            has_halo_[out] == 0 && !chain_.IsExit(out);
      if (!view && !in_place) continue;
      handed_over = handed_over || in_place;
      root_[Root(in)] = Root(out);
    }
  }

  /// A part of a concatenation lies inside it if patches have no rows of it that only other ops
  /// read.
  [[nodiscard]] bool HasNoOtherRows(const ChainOp& op, size_t i) const {
    const auto in = static_cast<size_t>(op.inputs[i].tensor);
    const auto out = static_cast<size_t>(op.output);
    return std::all_of(rows_.begin(), rows_.end(), [&](const std::vector<PatchRows>& rows) {
      if (rows[out].New().size() <= 0) return true;
      const IndexRange read =
          InputRange(op.inputs[i].need, rows[out].New(), chain_.tensors[in].rows);
      return read.begin == rows[in].begin && read.end == rows[in].end;
    });
  }

  [[nodiscard]] int64_t Bytes(size_t tensor, int32_t rows) const {
    return chain_.tensors[tensor].row_bytes * rows;
  }

  /// Returns the bytes that the previous patch keeps for this one.
  [[nodiscard]] int64_t WaitingBytes(size_t i, size_t t) const {
    const PatchRows& rows = rows_[i][t];
    if (has_halo_[t] == 0 || rows.FromLast().size() <= 0) return 0;
    if (patching_.policy == PatchPolicy::kKeepBuffer && i > 0) {
      return Bytes(t, std::max(rows_[i - 1][t].All().size(), rows.FromLast().size()));
    }
    return Bytes(t, rows.FromLast().size());
  }

  void SimulatePart(size_t i) {
    const std::vector<PatchRows>& rows = rows_[i];
    const size_t count = chain_.tensors.size();
    std::vector<int64_t>& bytes = bytes_;
    std::vector<uint8_t>& placed = placed_;
    bytes.assign(count, 0);
    placed.assign(count, 0);
    int64_t live = chain_.accumulator == kNone ? 0 : chain_.sum_bytes;
    for (size_t t = 0; t < count; ++t) {
      const size_t root = Root(t);
      bytes[root] = std::max(bytes[root], Bytes(t, rows[t].All().size()));
      live += WaitingBytes(i, t);
      if (sample_[i] > 0 && chain_.IsExit(t) && Begun(i, t)) live += Whole(t);
    }
    for (size_t t = 0; t < count; ++t) {
      if (in_exit_[t] != 0) bytes[Root(t)] = 0;  // written where it belongs
    }
    for (size_t k = 0; k < chain_.ops.size(); ++k) {
      const auto out = static_cast<size_t>(chain_.ops[k].output);
      const size_t root = Root(out);
      if (chain_.IsExit(out) && (sample_[i] == 0 || !Begun(i, out))) live += Whole(out);
      if (placed[root] == 0) live += bytes[root];
      placed[root] = 1;
      estimate_.peak = std::max(estimate_.peak, live);
      live -= WaitingBytes(i, out);
      live -= Release(i, k, placed, bytes, live);
    }
  }

  /// Releases the storages that op `k` is the last to need. Returns their bytes, less what is kept
  /// for the next patch.
  int64_t Release(size_t i, size_t k, std::vector<uint8_t>& placed,
                  const std::vector<int64_t>& bytes, int64_t live) {
    int64_t freed = 0;
    int64_t kept = 0;
    const auto visit = [&](size_t t) {
      const size_t root = Root(t);
      if (placed[root] == 0 || release_[root] != static_cast<int32_t>(k)) return;
      placed[root] = 0;
      freed += bytes[root];
    };
    const auto keep = [&](size_t t) {
      if (has_halo_[t] == 0 || LastUse(t) != static_cast<int32_t>(k)) return;
      const PatchRows& rows = rows_[i][t];
      if (rows.Kept().size() <= 0) return;
      const bool whole = patching_.policy == PatchPolicy::kKeepBuffer;
      kept += Bytes(t, whole ? rows.All().size() : rows.Kept().size());
    };
    const ChainOp& op = chain_.ops[k];
    keep(static_cast<size_t>(op.output));
    visit(static_cast<size_t>(op.output));
    for (size_t j = 0; j < op.inputs.size(); ++j) {
      const int32_t source = op.inputs[j].tensor;
      if (source < 0) continue;
      bool seen = source == op.output;
      for (size_t before = 0; before < j; ++before) seen |= op.inputs[before].tensor == source;
      if (seen) continue;
      keep(static_cast<size_t>(source));
      visit(static_cast<size_t>(source));
    }
    if (CopiesKeptRows(patching_.policy) && kept > 0) {
      estimate_.peak = std::max(estimate_.peak, live + kept);
    }
    return freed - kept;
  }

  [[nodiscard]] int64_t Whole(size_t t) const { return Bytes(t, chain_.tensors[t].rows); }

  /// Returns true if an earlier patch has made rows of the tensor.
  [[nodiscard]] bool Begun(size_t i, size_t t) const {
    if (patching_.policy != PatchPolicy::kRecompute) return rows_[i][t].computed > 0;
    return ExitShare(chain_, t, patching_.parts, sample_[i]).begin > 0;
  }

  /// Sums over the examined patches, scaled to all of them.
  void AddCosts() {
    const int64_t moves = CopiesKeptRows(patching_.policy) ? 2 : 1;
    int64_t copied = 0;
    int64_t ops = 0;
    double work = 0;
    for (size_t i = 0; i < sample_.size(); ++i) {
      for (size_t t = 0; t < chain_.tensors.size(); ++t) {
        const PatchRows& rows = rows_[i][t];
        const ChainOp& op = chain_.ops[static_cast<size_t>(chain_.tensors[t].producer)];
        if (rows.New().size() <= 0) continue;
        ops += op.views != 0 ? 0 : 1;
        work += static_cast<double>(op.work) * rows.New().size() / chain_.tensors[t].rows;
        const bool moved = chain_.IsExit(t) && in_exit_[t] == 0;
        copied += moved ? Bytes(t, rows.New().size()) : 0;
        ops += chain_.IsSummed(t) ? 1 : 0;
        if (rows.FromLast().size() <= 0) continue;
        copied += moves * Bytes(t, rows.FromLast().size());
        ops += moves;
      }
    }
    const auto looked_at = static_cast<int64_t>(sample_.size());
    const auto all = [&](int64_t sum) { return sum * patching_.parts / looked_at; };
    estimate_.copied_bytes = all(copied);
    estimate_.ops = all(ops);
    double once = 0;
    for (const ChainOp& op : chain_.ops) once += static_cast<double>(op.work);
    const double done = work * patching_.parts / static_cast<double>(looked_at);
    const bool repeats =
        patching_.policy == PatchPolicy::kRecompute || patching_.policy == PatchPolicy::kKeepNarrow;
    if (repeats && done > once) {
      estimate_.recomputed_work = static_cast<int64_t>(done - once);
    }
  }

  const Chain& chain_;
  Patching patching_;
  PatchRanges ranges_;
  std::vector<int32_t> sample_;
  std::vector<std::vector<PatchRows>> rows_;  ///< by examined patch, then tensor
  // Flags are bytes because that is faster than bits.
  std::vector<uint8_t> has_halo_;
  std::vector<uint8_t> in_exit_;  ///< patches are written straight into the whole
  std::vector<size_t> root_;
  std::vector<int32_t> release_;  ///< by root: the op after which its bytes are free
  PatchEstimate estimate_;

  // Scratch of the simulation of one patch, by root.
  std::vector<int64_t> bytes_;   ///< of the storage
  std::vector<uint8_t> placed_;  ///< it is alive
};

}  // namespace

PatchEstimate EstimatePatches(const Chain& chain, const Patching& patching) {
  return Estimator(chain, patching).Run();
}

}  // namespace tenon::converter
