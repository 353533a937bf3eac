#include "converter/solve/stage/copy_ahead.hpp"

#include <algorithm>
#include <numeric>

namespace tenon::converter {
namespace {

struct Times {
  std::vector<Picoseconds> start;  ///< by op
  std::vector<Picoseconds> end;
};

/// Copies begin in the order of the ops that they begin at, as soon as the engine is free.
Times TimesOf(const StageCopies& stage, const std::vector<int32_t>& before) {
  std::vector<size_t> order(before.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return before[a] < before[b]; });
  Times times;
  std::vector<Picoseconds> copied(stage.ops.size(), 0);  // by op: what it reads is there
  Picoseconds engine = 0;
  Picoseconds unit = 0;
  size_t next = 0;
  for (size_t op = 0; op < stage.ops.size(); ++op) {
    for (; next < order.size() && before[order[next]] <= static_cast<int32_t>(op); ++next) {
      const StageCopies::Copy& copy = stage.copies[order[next]];
      engine = std::max(engine, unit) + copy.time;
      Picoseconds& read = copied[static_cast<size_t>(copy.reader)];
      read = std::max(read, engine);
    }
    times.start.push_back(std::max(unit, copied[op]));
    unit = times.start.back() + stage.ops[op].time;
    times.end.push_back(unit);
  }
  return times;
}

/// What is alive at each op.
class LiveBytes {
 public:
  explicit LiveBytes(const StageCopies& stage) {
    for (const StageCopies::Op& op : stage.ops) bytes_.push_back(op.live_bytes);
    for (const StageCopies::Copy& copy : stage.copies) {
      for (int32_t op = copy.reader; op <= copy.last_reader; ++op) Add(op, copy.bytes);
    }
    peak_ = bytes_.empty() ? 0 : *std::max_element(bytes_.begin(), bytes_.end());
  }

  /// Moves the begin of a copy from its reader towards `wanted` as long as there is room.
  int32_t Move(const StageCopies::Copy& copy, int32_t wanted, int64_t spare) {
    int32_t begin = copy.reader;
    for (; begin > wanted; --begin) {
      const int64_t more = bytes_[static_cast<size_t>(begin) - 1] + copy.bytes - peak_;
      if (more > spare) break;
      Add(begin - 1, copy.bytes);
    }
    return begin;
  }

 private:
  void Add(int32_t op, int64_t bytes) { bytes_[static_cast<size_t>(op)] += bytes; }

  std::vector<int64_t> bytes_;
  int64_t peak_ = 0;
};

}  // namespace

Picoseconds TimeOfCopies(const StageCopies& stage) {
  Picoseconds time = 0;
  for (const StageCopies::Copy& copy : stage.copies) time += copy.time;
  return time;
}

CopyStarts StartCopies(const StageCopies& stage, const CopyOptions& options) {
  CopyStarts result;
  const size_t copies = stage.copies.size();
  result.before.assign(copies, 0);
  if (stage.ops.empty()) return result;
  const Times earliest = TimesOf(stage, result.before);
  LiveBytes live(stage);
  Picoseconds latest = earliest.end.back();
  size_t op = stage.ops.size();
  for (size_t i = copies; i-- > 0;) {
    const StageCopies::Copy& copy = stage.copies[i];
    const auto reader = static_cast<size_t>(copy.reader);
    latest = std::min(latest, earliest.start[reader]) - copy.time;
    op = std::min(op, reader);
    while (op > 0 && earliest.end[op - 1] > latest) --op;
    const int32_t wanted = std::max(static_cast<int32_t>(op) - options.lead, 0);
    result.before[i] = live.Move(copy, wanted, options.spare_bytes);
  }
  result.time = TimesOf(stage, result.before).end.back();
  return result;
}

}  // namespace tenon::converter
