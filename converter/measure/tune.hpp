// Finds the fastest variants of kernels by running plans that differ in nothing else.
#pragma once

#include <vector>

#include "converter/board/board.hpp"
#include "converter/measure/traced_run.hpp"
#include "converter/profile/tuning.hpp"

namespace tenon::converter {

struct TuneOptions : TurnOptions {
  /// A variant is chosen if it takes less than this share of the default's time: a smaller gain
  /// cannot be distinguished from noise.
  double share = 0.97;
};

/// Compares plans of the same networks, some with the kernels' default variants, others with
/// variants by name (VariantAt). Returns the ops that ran faster with a variant than by default,
/// each with its fastest; equal ops count together wherever they occur. Times are the mean of the
/// faster half of the runs; the fastest run must agree.
///
/// The best of many is often so by chance: run the plans that use it and the default's once more.
/// Errors (kBackend): a plan does not open or run here.
[[nodiscard]] Result<Tuning> Tune(const Board& board, const std::vector<PlanToProfile>& plans,
                                  const TuneOptions& options);

/// Returns true if some kernel of the plan is named with a variant.
[[nodiscard]] bool HasVariants(const PlanToProfile& plan);

}  // namespace tenon::converter
