#include "converter/driver/limit_search.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {

LimitSearch::LimitSearch(Attempt attempt, int64_t least, int64_t most)
    : attempt_(std::move(attempt)), least_(least), most_(most), next_(Below(most)) {}

/// Returns the largest number below `bytes` that is a power of two or one and a half of it.
int64_t LimitSearch::Below(int64_t bytes) {
  int64_t power = 1;
  while (power * 2 < bytes) power *= 2;
  return power + power / 2 < bytes ? power + power / 2 : power;
}

Result<std::optional<Fitted>> LimitSearch::AtMost(int64_t bytes) {
  while (!best_ || best_->compiled.arena.bytes > bytes) {
    TENON_ASSIGN_OR_RETURN(const bool more, Step());
    if (!more) return std::optional<Fitted>();
  }
  return best_;
}

Result<std::optional<Fitted>> LimitSearch::Smallest() {
  for (bool more = true; more;) {
    TENON_ASSIGN_OR_RETURN(more, Step());
  }
  return best_;
}

/// Makes the next attempt. Returns false if the search has ended.
Result<bool> LimitSearch::Step() {
  switch (phase_) {
    case Phase::kDescend:
      return Descend();
    case Phase::kRefine:
      return Refine();
    case Phase::kEnded:
      break;
  }
  return false;
}

/// Goes down by octaves while they work, then by smaller steps until several in a row have failed:
/// finer parts may fit where coarser ones do not.
Result<bool> LimitSearch::Descend() {
  constexpr int kPatience = 4;
  const bool ends = next_ < least_ || failures_ >= kPatience;
  if (ends && best_) {
    phase_ = Phase::kRefine;
    return true;
  }
  if (ends) {
    phase_ = Phase::kEnded;
    TENON_ASSIGN_OR_RETURN(best_, attempt_(most_));
    return false;
  }
  const int64_t bytes = next_;
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, attempt_(bytes));
  if (found) {
    best_ = std::move(found);
    failures_ = 0;
    next_ = Below(Below(std::min(bytes, best_->compiled.arena.bytes)));
    fails_ = least_ - 1;
  } else {
    if (failures_++ == 0) fails_ = std::max(bytes, least_ - 1);
    next_ = Below(bytes);
  }
  return true;
}

/// Halves the distance between a limit that fails and one that works, as long as it is worth it.
Result<bool> LimitSearch::Refine() {
  constexpr int64_t kPrecision = 64;
  const int64_t works = best_->compiled.arena.bytes;
  if (works - fails_ <= works / kPrecision + 1) {
    phase_ = Phase::kEnded;
    return false;
  }
  const int64_t middle = fails_ + (works - fails_) / 2;
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, attempt_(middle));
  if (found) {
    best_ = std::move(found);
  } else {
    fails_ = middle;
  }
  return true;
}

}  // namespace tenon::converter
