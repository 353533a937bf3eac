#include "converter/split/patch_ranges.hpp"

#include <algorithm>

#include "runtime/base/round_up.hpp"

namespace tenon::converter {
namespace {

int32_t RoundUpTo(int32_t value, int32_t multiple, int32_t most) {
  return static_cast<int32_t>(std::min<int64_t>(RoundUp<int64_t>(value, multiple), most));
}

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

PatchRanges::PatchRanges(const Chain& chain, const Patching& patching)
    : chain_(chain), patching_(patching) {
  Boundary(patching_.parts, final_);
}

/// Computes the rows of every tensor that the first `part` patches make, which exits and readers
/// need.
void PatchRanges::Boundary(int32_t part, std::vector<int32_t>& done) const {
  done.assign(chain_.tensors.size(), 0);
  if (part <= 0) return;
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const ChainOp& op = chain_.ops[k];
    const auto out = static_cast<size_t>(op.output);
    const ChainTensor& tensor = chain_.tensors[out];
    int32_t& made = done[out];
    if (chain_.IsShared(out)) {
      made = std::max(made, ExitShare(chain_, out, patching_.parts, part - 1).end);
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
  for (const ChainOp& op : chain_.ops) {
    const auto out = static_cast<size_t>(op.output);
    if (done[out] >= final_[out]) continue;  // nothing left to do
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      const auto source = static_cast<size_t>(input.tensor);
      const IndexRange range =
          InputRange(input.need, {done[out], final_[out]}, chain_.tensors[source].rows);
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
  }
}

void PatchRanges::RecomputedRows(int32_t part, std::vector<PatchRows>& rows) const {
  for (PatchRows& tensor : rows) tensor = {INT32_MAX, INT32_MAX, 0, 0};
  for (size_t k = chain_.ops.size(); k-- > 0;) {
    const ChainOp& op = chain_.ops[k];
    const auto out = static_cast<size_t>(op.output);
    PatchRows& made = rows[out];
    if (chain_.IsShared(out)) {
      const IndexRange share = ExitShare(chain_, out, patching_.parts, part);
      if (share.size() > 0) {
        made.begin = std::min(made.begin, share.begin);
        made.end = std::max(made.end, share.end);
      }
    }
    if (made.begin >= made.end) {
      made = {};
      continue;
    }
    made.begin = made.begin / op.granularity * op.granularity;
    made.end = RoundUpTo(made.end, op.granularity, chain_.tensors[out].rows);
    made.computed = made.begin;
    made.next = made.end;
    for (const ChainInput& input : op.inputs) {
      if (input.tensor < 0) continue;
      PatchRows& source = rows[static_cast<size_t>(input.tensor)];
      const IndexRange range = InputRange(input.need, made.All(),
                                          chain_.tensors[static_cast<size_t>(input.tensor)].rows);
      if (range.size() <= 0) continue;
      source.begin = std::min(source.begin, range.begin);
      source.end = std::max(source.end, range.end);
    }
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

}  // namespace tenon::converter
