#include "converter/split/patch_ranges.hpp"

#include <algorithm>

#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

int32_t RoundUpTo(int32_t value, int32_t multiple, int32_t most) {
  return static_cast<int32_t>(std::min<int64_t>(RoundUp<int64_t>(value, multiple), most));
}

/// Returns of how many rows a step makes multiples, where the exits have more than one row for each
/// share: as many, since kernels take several rows at once in less time.
int32_t LeastRowsOfStep(const Chain& chain, const Patching& patching, int32_t steps) {
  if (patching.steps <= 1) return 1;
  return CeilDiv(chain.MostSharedRows(), CeilDiv(patching.parts, steps));
}

/// Of a tensor before what reads it is known.
constexpr PatchRows kNoRows = {INT32_MAX, INT32_MAX, 0, 0};

}  // namespace

IndexRange ExitShare(const Chain& chain, size_t tensor, int32_t parts, int32_t part) {
  const int32_t rows = chain.tensors[tensor].rows;
  const int32_t granularity =
      chain.ops[static_cast<size_t>(chain.tensors[tensor].producer)].granularity;
  const auto boundary = [&](int32_t index) {
    if (index >= parts) return rows;
    return static_cast<int32_t>(int64_t{rows} * index / parts) / granularity * granularity;
  };
  return {boundary(part), boundary(part + 1)};
}

int32_t StepsPerShare(const Chain& chain, const Patching& patching) {
  if (patching.policy == PatchPolicy::kRecompute) return 1;
  const auto least = static_cast<int32_t>(CeilDiv<int64_t>(patching.parts, chain.MostSharedRows()));
  return std::max(patching.steps, least);
}

std::vector<uint8_t> ComputedAgain(const Chain& chain, PatchPolicy policy) {
  constexpr int64_t kLeastWidening = 2;
  if (policy == PatchPolicy::kRecompute) return std::vector<uint8_t>(chain.tensors.size(), 1);
  std::vector<uint8_t> again(chain.tensors.size(), 0);
  if (policy != PatchPolicy::kKeepNarrow) return again;
  std::vector<int64_t> kept;  // bytes from which a row of each tensor is made again
  for (size_t t = 0; t < again.size(); ++t) {
    kept.push_back(chain.tensors[t].row_bytes);
    const ChainOp& op = chain.ops[static_cast<size_t>(chain.tensors[t].producer)];
    if (op.once || op.granularity != 1 || chain.IsShared(t)) continue;
    int64_t source = 0;  // nothing for what enters the chain, all of which is there
    bool is_pointwise = true;
    int operands = 0;
    for (const ChainInput& input : op.inputs) {
      if (input.need.axis < 0) continue;
      ++operands;
      is_pointwise = is_pointwise && input.need == InputSplit{input.need.axis};
      if (input.tensor >= 0) source = kept[static_cast<size_t>(input.tensor)];
    }
    if (!is_pointwise || operands != 1 || kLeastWidening * source > kept[t]) continue;
    again[t] = 1;
    kept[t] = source;
  }
  return again;
}

bool HasWideRows(const Chain& chain) {
  const std::vector<uint8_t> again = ComputedAgain(chain, PatchPolicy::kKeepNarrow);
  return std::find(again.begin(), again.end(), 1) != again.end();
}

PatchRanges::PatchRanges(const Chain& chain, const Patching& patching)
    : chain_(chain),
      patching_(patching),
      steps_(StepsPerShare(chain, patching)),
      least_rows_(LeastRowsOfStep(chain, patching, steps_)),
      again_(ComputedAgain(chain, patching.policy)) {
  Boundary(patching_.parts, final_);
}

/// Computes the rows of every tensor that the first `part` patches make: what the first shares need
/// and, of what the next one needs besides, the part of the steps that are done.
void PatchRanges::Boundary(int32_t part, std::vector<int32_t>& done) const {
  done.assign(chain_.tensors.size(), 0);
  const bool is_end = part >= patching_.parts;
  const int32_t share = is_end ? CeilDiv(part, steps_) : part / steps_;
  const int32_t step = is_end ? 0 : part % steps_;
  AddNeeds(share, done);
  if (step == 0) return;
  std::vector<int32_t> whole(done.size(), 0);
  AddNeeds(share + 1, whole);
  for (const ChainOp& op : chain_.ops) {
    const auto out = static_cast<size_t>(op.output);
    const int64_t more = int64_t{whole[out] - done[out]} * step / steps_;
    const int64_t rows = RoundUp<int64_t>(least_rows_, op.granularity);
    done[out] += static_cast<int32_t>(more / rows * rows);
  }
  AddNeeds(share, done);
}

/// Raises `done` to the rows that the first `shares` shares of the exits need, and to what `done`
/// needs itself.
void PatchRanges::AddNeeds(int32_t shares, std::vector<int32_t>& done) const {
  const int32_t all = CeilDiv(patching_.parts, steps_);
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const ChainOp& op = chain_.ops[k];
    const auto out = static_cast<size_t>(op.output);
    const ChainTensor& tensor = chain_.tensors[out];
    int32_t& made = done[out];
    if (shares > 0 && chain_.IsShared(out)) {
      made = std::max(made, ExitShare(chain_, out, all, std::min(shares, all) - 1).end);
    }
    made = RoundUpTo(made, op.granularity, tensor.rows);
    if (made == 0) continue;
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      const auto source = static_cast<size_t>(input.tensor);
      const IndexRange range = InputRange(input.need, {0, made}, chain_.tensors[source].rows);
      done[source] = std::max(done[source], range.end);
    }
  }
}

/// Computes the first row of every tensor that readers still need once they have made `done` rows.
void PatchRanges::NeededFrom(const std::vector<int32_t>& done, std::vector<int32_t>& needed) const {
  needed = done;  // none of the existing rows, unless a reader needs them
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const ChainOp& op = chain_.ops[k];
    const auto out = static_cast<size_t>(op.output);
    const int32_t begin = again_[out] != 0 ? needed[out] : done[out];
    if (begin >= final_[out]) continue;  // nothing left to do
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      const auto source = static_cast<size_t>(input.tensor);
      const IndexRange range =
          InputRange(input.need, {begin, final_[out]}, chain_.tensors[source].rows);
      needed[source] = std::min(needed[source], range.begin);
    }
  }
}

void PatchRanges::KeepingRows(int32_t part, std::vector<PatchRows>& rows) {
  if (cached_ == part) {
    std::swap(before_, after_);
    std::swap(needed_before_, needed_after_);
  } else {
    Boundary(part, before_);
    NeededFrom(before_, needed_before_);
  }
  Boundary(part + 1, after_);
  NeededFrom(after_, needed_after_);
  cached_ = part + 1;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = {needed_before_[i], before_[i], after_[i], needed_after_[i]};
    if (again_[i] != 0) rows[i] = kNoRows;
  }
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const auto out = static_cast<size_t>(chain_.ops[k].output);
    if (again_[out] != 0) EndAtMultiples(out, rows[out]);
    if (rows[out].New().size() > 0) AddRead(chain_.ops[k], rows);
  }
}

/// Adds the rows that an op reads to the tensors of which all rows are computed again.
void PatchRanges::AddRead(const ChainOp& op, std::vector<PatchRows>& rows) const {
  const IndexRange made = rows[static_cast<size_t>(op.output)].New();
  for (const ChainInput& input : op.inputs) {
    if (input.tensor < 0) continue;
    const auto source = static_cast<size_t>(input.tensor);
    const IndexRange range = InputRange(input.need, made, chain_.tensors[source].rows);
    if (again_[source] == 0 || range.size() <= 0) continue;
    rows[source].begin = std::min(rows[source].begin, range.begin);
    rows[source].end = std::max(rows[source].end, range.end);
  }
}

/// Completes the rows of a tensor of which all rows are computed again, once all reads are added.
void PatchRanges::EndAtMultiples(size_t tensor, PatchRows& made) const {
  if (made.begin >= made.end) {
    made = {};
    return;
  }
  const int32_t granularity =
      chain_.ops[static_cast<size_t>(chain_.tensors[tensor].producer)].granularity;
  made.begin = made.begin / granularity * granularity;
  made.end = RoundUpTo(made.end, granularity, chain_.tensors[tensor].rows);
  made.computed = made.begin;
  made.next = made.end;
}

void PatchRanges::RecomputedRows(int32_t part, std::vector<PatchRows>& rows) const {
  for (PatchRows& tensor : rows) tensor = kNoRows;
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const auto out = static_cast<size_t>(chain_.ops[k].output);
    PatchRows& made = rows[out];
    if (chain_.IsShared(out)) {
      const IndexRange share = ExitShare(chain_, out, patching_.parts, part);
      if (share.size() > 0) {
        made.begin = std::min(made.begin, share.begin);
        made.end = std::max(made.end, share.end);
      }
    }
    EndAtMultiples(out, made);
    if (made.New().size() > 0) AddRead(chain_.ops[k], rows);
  }
}

void PatchRanges::Rows(int32_t part, std::vector<PatchRows>& rows) {
  rows.resize(chain_.tensors.size());
  if (patching_.policy == PatchPolicy::kRecompute) {
    RecomputedRows(part, rows);
  } else {
    KeepingRows(part, rows);
  }
}

TileRanges::TileRanges(const Chain& chain, const Patching& patching)
    : tensors_(chain.tensors.size()), rows_(chain, patching) {
  if (chain.columns != nullptr) columns_.emplace(*chain.columns, patching.Across());
}

void TileRanges::Columns(int32_t tile, std::vector<PatchRows>& columns) {
  if (columns_) return columns_->Rows(tile, columns);
  columns.assign(tensors_, PatchRows{0, 0, 1, 1});
}

}  // namespace tenon::converter
