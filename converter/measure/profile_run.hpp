// Makes profiles of plans.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/measure/traced_run.hpp"
#include "converter/profile/profile.hpp"

namespace tenon::converter {

struct ProfileOptions : TurnOptions {
  /// If true, the backends that the plans were made for are ranked: see RankBackends.
  bool priority_table = false;
  /// Contains the variants that the plans' kernels run with; becomes the profile's.
  Tuning tuning;
};

/// Runs every plan with random inputs and fits the calibration to all that was measured.
/// Errors (kBackend): a plan does not open or run here, no place for temporary files.
[[nodiscard]] Result<Profile> MakeProfile(const Board& board,
                                          const std::vector<PlanToProfile>& plans,
                                          const ProfileOptions& options);

}  // namespace tenon::converter
