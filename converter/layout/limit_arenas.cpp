#include "converter/layout/limit_arenas.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {
namespace {

struct Span64 {
  int64_t begin = 0;
  int64_t end = 0;
  [[nodiscard]] int64_t size() const { return end - begin; }
};

Error TooLarge(int64_t bytes, int64_t most) {
  Error error{ErrorKind::kDoesNotFit, "", {}};
  error.message =
      fmt::format("tensors that must lie together need {} bytes in one piece, the device gives {}",
                  bytes, most);
  return error;
}

/// Cuts one arena.
class Cutter {
 public:
  Cutter(int64_t most, int32_t arena, ArenaPlan& plan) : most_(most), arena_(arena), plan_(plan) {
    for (size_t i = 0; i < plan.storages.size(); ++i) {
      if (plan.storages[i].arena == arena) mine_.push_back(i);
    }
  }

  Status Run() {
    const int64_t bytes = plan_.arenas[static_cast<size_t>(arena_)].bytes;
    std::vector<Span64> pieces;
    std::vector<size_t> left = mine_;
    for (int64_t begin = 0; begin < bytes;) {
      const int64_t end = std::min(begin + most_, bytes);
      const int64_t cut = end == bytes ? bytes : CleanCut(begin, end, left);
      if (cut > begin) {
        pieces.push_back({begin, cut});
        begin = cut;
        continue;
      }
      // What any cut would go through moves away, and the piece ends where it would have.
      TENON_RETURN_IF_ERROR(MoveAway(end, left));
    }
    Place(pieces, left);
    return {};
  }

 private:
  [[nodiscard]] Span64 SpanOf(size_t storage) const {
    const PlannedStorage& planned = plan_.storages[storage];
    return {planned.offset, planned.offset + std::max<int64_t>(planned.bytes, 1)};
  }

  /// Returns the largest aligned offset in (begin, end] that goes through no storage; else `begin`.
  [[nodiscard]] int64_t CleanCut(int64_t begin, int64_t end,
                                 const std::vector<size_t>& storages) const {
    int64_t cut = end / kStorageAlignment * kStorageAlignment;
    for (bool moved = true; moved && cut > begin;) {
      moved = false;
      for (const size_t storage : storages) {
        const Span64 span = SpanOf(storage);
        if (span.begin >= cut || span.end <= cut) continue;
        cut = span.begin / kStorageAlignment * kStorageAlignment;
        moved = true;
      }
    }
    return std::max(cut, begin);
  }

  /// Moves all storages through which the offset goes, and those that overlap them from the same
  /// offset (an op takes one over from the other), to an arena of their own.
  Status MoveAway(int64_t offset, std::vector<size_t>& storages) {
    const auto through = [&](size_t storage) {
      const Span64 span = SpanOf(storage);
      return span.begin < offset && span.end > offset;
    };
    std::vector<int64_t> starts;
    for (const size_t storage : storages) {
      if (through(storage)) starts.push_back(SpanOf(storage).begin);
    }
    Span64 all{INT64_MAX, 0};
    std::vector<size_t> moved;
    std::erase_if(storages, [&](size_t storage) {
      const Span64 span = SpanOf(storage);
      if (std::find(starts.begin(), starts.end(), span.begin) == starts.end()) return false;
      all = {std::min(all.begin, span.begin), std::max(all.end, span.end)};
      moved.push_back(storage);
      return true;
    });
    if (all.size() > most_) return TooLarge(all.size(), most_);
    Place({all}, moved);
    return {};
  }

  /// Makes an arena of each piece that has storages, and gives them their offsets there. The first
  /// piece of those that stay is the arena that there was.
  void Place(const std::vector<Span64>& pieces, const std::vector<size_t>& storages) {
    for (const Span64& piece : pieces) {
      Span64 used{piece.end, piece.begin};
      for (const size_t storage : storages) {
        const Span64 span = SpanOf(storage);
        if (span.begin < piece.begin || span.begin >= piece.end) continue;
        used = {std::min(used.begin, span.begin), std::max(used.end, span.end)};
        targets_.push_back({storage, static_cast<int32_t>(made_.size()), span.begin});
      }
      if (used.end <= used.begin) continue;
      for (Target& target : targets_) {
        if (target.piece == static_cast<int32_t>(made_.size())) target.offset -= used.begin;
      }
      made_.push_back(used.size());
    }
  }

 public:
  /// Writes what Run has decided.
  void Finish() {
    const PlannedArena original = plan_.arenas[static_cast<size_t>(arena_)];
    std::vector<int32_t> index;
    for (size_t i = 0; i < made_.size(); ++i) {
      PlannedArena arena = original;
      arena.bytes = made_[i];
      arena.lower_bound = 0;
      arena.proven_optimal = false;
      index.push_back(i == 0 ? arena_ : static_cast<int32_t>(plan_.arenas.size()));
      if (i == 0) {
        plan_.arenas[static_cast<size_t>(arena_)] = arena;
      } else {
        plan_.arenas.push_back(arena);
      }
    }
    for (const Target& target : targets_) {
      PlannedStorage& storage = plan_.storages[target.storage];
      storage.arena = index[static_cast<size_t>(target.piece)];
      storage.offset = target.offset;
    }
  }

 private:
  struct Target {
    size_t storage;
    int32_t piece;
    int64_t offset;
  };

  int64_t most_;
  int32_t arena_;
  ArenaPlan& plan_;
  std::vector<size_t> mine_;
  std::vector<int64_t> made_;  ///< bytes of the arenas that take the place of the one
  std::vector<Target> targets_;
};

int64_t TotalBytes(const ArenaPlan& plan) {
  int64_t bytes = 0;
  for (const PlannedArena& arena : plan.arenas) bytes += arena.bytes * arena.slots;
  return bytes;
}

}  // namespace

Status LimitArenas(int64_t most, ArenaPlan& plan) {
  if (most <= 0) return {};
  const int64_t limit = most / kStorageAlignment * kStorageAlignment;
  const bool is_one = plan.arenas.empty();
  if (is_one && plan.bytes <= limit) return {};
  if (limit == 0) {
    // No storage fits, however small.
    int64_t least = plan.bytes;
    for (const PlannedStorage& storage : plan.storages) least = std::min(least, storage.bytes);
    return TooLarge(least, most);
  }
  if (is_one) {
    plan.arenas = {{"", plan.bytes, plan.lower_bound, plan.proven_optimal, 1}};
  }
  const int64_t before = TotalBytes(plan);
  const auto count = static_cast<int32_t>(plan.arenas.size());
  for (int32_t i = 0; i < count; ++i) {
    const PlannedArena& arena = plan.arenas[static_cast<size_t>(i)];
    if (arena.bytes * arena.slots <= limit) continue;
    if (arena.slots > 1) return TooLarge(arena.bytes * arena.slots, limit);
    Cutter cutter(limit, i, plan);
    TENON_RETURN_IF_ERROR(cutter.Run());
    cutter.Finish();
  }
  plan.bytes += TotalBytes(plan) - before;
  return {};
}

}  // namespace tenon::converter
