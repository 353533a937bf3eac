// Cuts an order of ops into contiguous stages of which every unit runs at most one: quick, and good
// where units are alike. CutStages starts from what it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "converter/solve/stage/stage_problem.hpp"

namespace tenon::converter {

/// What the search asks about a stage from one cut point to a later one.
struct StageTimes {
  size_t points = 0;  ///< cut points, both ends among them
  /// False: the unit cannot run it, nor a longer one.
  std::function<bool(size_t from, size_t to, size_t unit)> runs;
  /// Of getting what it reads and running it; grows with `to`.
  std::function<Picoseconds(size_t from, size_t to, size_t unit)> read_and_run;
  std::function<Picoseconds(size_t from, size_t to, size_t unit)> write;
};

struct OnceEachStage {
  size_t unit = 0;
  size_t end = 0;  ///< the cut point
};

/// Returns by number of stages, up to `most_stages`, those with the least period; empty where there
/// are none. Dynamic programming over cut points and how many of each kind of equal units are used:
/// empty as a whole where there are too many of these. Deterministic.
[[nodiscard]] std::vector<std::vector<OnceEachStage>> CutOnceEach(
    const std::vector<StageUnit>& units, const StageTimes& times, int32_t most_stages);

}  // namespace tenon::converter
