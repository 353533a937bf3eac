#include "converter/driver/limit_search.hpp"

#include <algorithm>
#include <utility>

namespace tenon::converter {

LimitSearch::LimitSearch(Attempt attempt, int64_t least, int64_t most)
    : attempt_(std::move(attempt)), least_(least), most_(most) {}

/// Powers of two from 64 bytes, and three equal steps between each two.
int64_t LimitSearch::Rung(int index) {
  constexpr int64_t kFirst = 64;
  constexpr int kSteps = 4;
  const int64_t octave = kFirst << (index / kSteps);
  return octave + octave / kSteps * (index % kSteps);
}

int LimitSearch::RungAtMost(int64_t bytes) {
  int index = -1;
  while (Rung(index + 1) <= bytes) ++index;
  return index;
}

Result<bool> LimitSearch::Works(int index) {
  const auto [place, is_new] = tried_.try_emplace(index);
  if (is_new) {
    TENON_ASSIGN_OR_RETURN(place->second, attempt_(Rung(index)));
  }
  return place->second.has_value();
}

Result<std::optional<Fitted>> LimitSearch::AtMost(int64_t bytes) {
  constexpr int kRungs = 4;
  const int last = RungAtMost(std::min(bytes, most_));
  for (int index = last; index >= 0 && index > last - kRungs && Rung(index) >= least_; --index) {
    TENON_ASSIGN_OR_RETURN(const bool works, Works(index));
    if (works) return tried_.at(index);
  }
  return std::optional<Fitted>();
}

Result<std::optional<Fitted>> LimitSearch::Smallest() {
  int index = std::max(RungAtMost(least_), 0);
  if (Rung(index) < least_) ++index;
  for (; Rung(index) < most_; ++index) {
    TENON_ASSIGN_OR_RETURN(const bool works, Works(index));
    if (works) break;
  }
  if (Rung(index) < most_) return Refine(index > 0 ? Rung(index - 1) : 0, *tried_.at(index));
  TENON_ASSIGN_OR_RETURN(std::optional<Fitted> last, attempt_(most_));
  if (!last) return last;
  return Refine(index > 0 ? Rung(index - 1) : 0, std::move(*last));
}

/// Halves the distance between a limit that fails and one that works, as long as it is worth it.
Result<std::optional<Fitted>> LimitSearch::Refine(int64_t fails, Fitted works) {
  constexpr int64_t kPrecision = 64;
  fails = std::max(fails, least_ - 1);
  while (works.compiled.arena.bytes - fails > works.compiled.arena.bytes / kPrecision + 1) {
    const int64_t middle = fails + (works.compiled.arena.bytes - fails) / 2;
    TENON_ASSIGN_OR_RETURN(std::optional<Fitted> found, attempt_(middle));
    if (found) {
      works = std::move(*found);
    } else {
      fails = middle;
    }
  }
  return std::optional(std::move(works));
}

}  // namespace tenon::converter
