#include "converter/solve/place/place_search.hpp"

#include <algorithm>
#include <limits>
#include <random>

namespace tenon::converter {
namespace {

// Reading the clock takes as long as some units of work.
constexpr int64_t kWorkPerClockCheck = 1000;
// Searching small states is as fast as looking them up.
constexpr size_t kSmallestNogood = 3;
// This many sections are examined to choose the next buffer.
constexpr int kWindow = 256;
// This many sections are skipped in the time that it takes to examine one.
constexpr int kSectionsPerWork = 64;
// This exceeds any number of choices.
constexpr double kAboveAllScores = 1e9;
constexpr double kNotGrounded = -1.0;  // in the place of a score

}  // namespace

PlacementSearch::PlacementSearch(const Instance& instance, Progress& progress)
    : instance_(instance), progress_(progress), state_(instance) {
  rank_.resize(instance.buffers.size());
  score_.resize(instance.buffers.size());
  is_scored_.resize(instance.buffers.size());
  lowest_top_.resize(static_cast<size_t>(instance.sections));
  choices_.resize(static_cast<size_t>(instance.sections));
  std::mt19937_64 random(0x7E404E);
  for (size_t b = 0; b < instance.buffers.size(); ++b) hash_.push_back(random());
}

void PlacementSearch::SetLimit(int64_t limit_bytes) {
  if (limit_bytes > limit_bytes_) nogoods_.Clear();
  limit_bytes_ = limit_bytes;
  state_.SetLimit(limit_bytes);
}

void PlacementSearch::ComputeRanks(const SearchStrategy& strategy) {
  std::mt19937_64 random(strategy.seed);
  for (size_t b = 0; b < rank_.size(); ++b) {
    const InstanceBuffer& buffer = instance_.buffers[b];
    const auto width = static_cast<double>(buffer.last_section - buffer.first_section + 1);
    const auto size = static_cast<double>(buffer.size);
    double key = 0;
    switch (strategy.order) {
      case SearchOrder::kWidth:
        key = width + size / static_cast<double>(state_.capacity() + 1);
        break;
      case SearchOrder::kArea:
        key = width * size;
        break;
      case SearchOrder::kSize:
        key = size;
        break;
      case SearchOrder::kPressure: {
        int64_t pressure = 0;
        for (int s = buffer.first_section; s <= buffer.last_section; ++s) {
          pressure = std::max(pressure, state_.UnplacedSize(s));
        }
        key = static_cast<double>(pressure) * 1e3 + width +
              size / static_cast<double>(state_.capacity() + 1);
        break;
      }
    }
    const double uniform = static_cast<double>(random() >> 11) * 0x1.0p-53;
    rank_[b] = -key * (1.0 + strategy.noise * (uniform - 0.5));
  }
}

void PlacementSearch::SurveySections(Range range) {
  state_.VisitChanged(range.first, range.last, [this](int section) {
    const int64_t highest_first = state_.HighestFirst(section);
    int64_t lowest_top = kLargest;
    int choices = 0;
    for (size_t i = 0; i < state_.UnplacedCount(section); ++i) {
      const int b = state_.Unplaced(section, i);
      is_scored_[static_cast<size_t>(b)] = 0;
      lowest_top = std::min(lowest_top, state_.Offset(b) + BufferAt(b).size);
      if (state_.Offset(b) <= highest_first) ++choices;
    }
    lowest_top_[static_cast<size_t>(section)] = lowest_top;
    choices_[static_cast<size_t>(section)] = choices;
  });
}

// Returns whether nothing unplaced fits below it: only then do its two branches cover everything.
bool PlacementSearch::IsGrounded(int buffer) const {
  if (state_.IsPreceded(buffer)) return false;
  const InstanceBuffer& entry = BufferAt(buffer);
  for (int s = entry.first_section; s <= entry.last_section; ++s) {
    if (lowest_top_[static_cast<size_t>(s)] <= state_.Offset(buffer)) return false;
  }
  return true;
}

// Prefers a buffer in a section where few buffers could be the lowest.
double PlacementSearch::Score(int buffer) const {
  double score = std::numeric_limits<double>::max();
  const InstanceBuffer& entry = BufferAt(buffer);
  for (int section = entry.first_section; section <= entry.last_section; ++section) {
    const int choices = choices_[static_cast<size_t>(section)];
    if (choices == 1) return 0.0;
    score = std::min(score, choices + 1.0 / state_.Failures(section));
  }
  if (lowest_first_) score += kAboveAllScores * static_cast<double>(state_.Offset(buffer));
  return score;
}

// Returns the part of a long range in which to look for the next buffer: around where the search
// failed most, else from the left. Any choice is complete; this one is fast and stays in one place.
PlacementSearch::Range PlacementSearch::Window(Range range) const {
  if (range.last - range.first < kWindow) return range;
  int center = range.first;
  for (int section = range.first; section <= range.last; ++section) {
    if (state_.Failures(section) > state_.Failures(center)) center = section;
  }
  const int first = std::clamp(center - kWindow / 2, range.first, range.last - kWindow);
  return {first, first + kWindow};
}

int PlacementSearch::SelectBuffer(Range range) {
  const int best = SelectBufferWithin(Window(range));
  return best >= 0 ? best : SelectBufferWithin(range);
}

int PlacementSearch::SelectBufferWithin(Range range) {
  SurveySections(range);
  branches_ += range.last - range.first + 1;
  int best = -1;
  double best_score = 0;
  const int end = state_.FirstBuffer(range.last + 1);
  for (int b = state_.FirstBuffer(range.first); b < end; ++b) {
    if (state_.IsPlaced(b) || BufferAt(b).last_section > range.last) continue;
    const auto i = static_cast<size_t>(b);
    if (is_scored_[i] == 0) score_[i] = IsGrounded(b) ? Score(b) : kNotGrounded;
    is_scored_[i] = 1;
    const double score = score_[i];
    if (score == kNotGrounded) continue;
    if (best < 0 || score < best_score ||
        (score == best_score && rank_[static_cast<size_t>(b)] < rank_[static_cast<size_t>(best)])) {
      best = b;
      best_score = score;
    }
  }
  return best;
}

uint64_t PlacementSearch::DescribeState(Range range) {
  min_offsets_.clear();
  uint64_t hash = 0;
  const int end = state_.FirstBuffer(range.last + 1);
  for (int b = state_.FirstBuffer(range.first); b < end; ++b) {
    if (state_.IsPlaced(b)) continue;
    hash ^= hash_[static_cast<size_t>(b)];
    // Offsets are at most the capacity; if that has more than 32 bits, nothing is remembered.
    min_offsets_.push_back(static_cast<uint32_t>(state_.Offset(b)));
  }
  return hash;
}

int PlacementSearch::CountUnplaced(Range range) const {
  int count = 0;
  const int end = state_.FirstBuffer(range.last + 1);
  for (int b = state_.FirstBuffer(range.first); b < end; ++b) count += state_.IsPlaced(b) ? 0 : 1;
  return count;
}

// Splits a range where no unplaced buffer crosses and pushes the list of its parts.
void PlacementSearch::PushParts(Range range) {
  const size_t begin = parts_.size();
  branches_ += (range.last - range.first + 1) / kSectionsPerWork;
  int first = -1;
  for (int section = range.first; section <= range.last; ++section) {
    if (state_.UnplacedCount(section) == 0) continue;
    if (first < 0) first = section;
    if (section == range.last || !state_.IsCrossed(section)) {
      parts_.push_back({first, section});
      first = -1;
    }
  }
  // The smallest comes first: if it is infeasible, that is found soonest.
  if (parts_.size() - begin > 1) {
    std::stable_sort(parts_.begin() + static_cast<std::ptrdiff_t>(begin), parts_.end(),
                     [&](Range a, Range b) { return CountUnplaced(a) < CountUnplaced(b); });
  }
  frames_.push_back({range, -1, false, false, state_.Checkpoint(), begin, begin, parts_.size()});
}

// Takes the first branch of a part with unplaced buffers. Returns false if that is infeasible.
bool PlacementSearch::Enter(Range range, bool remember) {
  const bool use_nogoods = state_.capacity() <= std::numeric_limits<uint32_t>::max();
  if (use_nogoods) {
    const uint64_t hash = DescribeState(range);
    if (min_offsets_.size() >= kSmallestNogood && nogoods_.Covers(hash, min_offsets_)) return false;
  }
  const int buffer = SelectBuffer(range);
  frames_.push_back({range, buffer, true, remember && use_nogoods, state_.Checkpoint(), 0, 0, 0});
  if (!state_.PlaceAtLeastOffset(buffer)) return false;
  PushParts(range);
  return true;
}

// Goes back to the last branch not yet explored and takes it. Returns false if there is none.
bool PlacementSearch::Retreat() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.buffer < 0) {
      parts_.resize(frame.begin_part);
      frames_.pop_back();
      continue;
    }
    state_.Undo(frame.checkpoint);
    if (frame.at_offset) {
      frame.at_offset = false;
      const Range range = frame.range;
      if (state_.RaiseToNextOffset(frame.buffer) && Enter(range, false)) return true;
      continue;
    }
    if (frame.remember) {
      const uint64_t hash = DescribeState(frame.range);
      if (min_offsets_.size() >= kSmallestNogood) nogoods_.Add(hash, min_offsets_);
    }
    frames_.pop_back();
  }
  return false;
}

std::vector<int64_t> PlacementSearch::Offsets() const {
  std::vector<int64_t> offsets;
  offsets.reserve(instance_.buffers.size());
  for (size_t b = 0; b < instance_.buffers.size(); ++b) {
    offsets.push_back(state_.Offset(static_cast<int>(b)) * instance_.unit);
  }
  return offsets;
}

SearchOutcome PlacementSearch::Run(const SearchStrategy& strategy, int64_t work_limit,
                                   std::optional<std::chrono::steady_clock::time_point> deadline) {
  frames_.clear();
  parts_.clear();
  if (!state_.Reset()) return SearchOutcome::kInfeasible;
  ComputeRanks(strategy);
  lowest_first_ = strategy.lowest_first;
  if (instance_.sections == 0) return SearchOutcome::kFound;
  const int64_t work_end = work() + work_limit;
  int64_t next_clock_check = work();
  PushParts({0, instance_.sections - 1});
  while (!frames_.empty()) {
    progress_.Report(work());
    if (work() >= work_end) return SearchOutcome::kOutOfWork;
    if (deadline && work() >= next_clock_check) {
      next_clock_check = work() + kWorkPerClockCheck;
      if (std::chrono::steady_clock::now() >= *deadline) return SearchOutcome::kOutOfTime;
    }
    Frame& list = frames_.back();  // always a list here
    if (list.next_part == list.end_part) {
      // All its parts are solved, so the choices within need not be reconsidered.
      size_t depth = frames_.size() - 1;
      while (depth > 0 && frames_[depth - 1].buffer >= 0) --depth;
      parts_.resize(list.begin_part);
      frames_.resize(depth);
      continue;
    }
    const Range part = parts_[list.next_part++];
    if (!Enter(part, true) && !Retreat()) return SearchOutcome::kInfeasible;
  }
  return SearchOutcome::kFound;
}

}  // namespace tenon::converter
