// Makes profiles: runs plans on this machine with a clock around every op.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/profile.hpp"

namespace tenon::converter {

struct ProfileOptions {
  int threads = 1;
  int iterations = 30;  ///< runs of each plan, over all rounds
  /// Every plan has its turn in every round, so that what disturbs the machine for a while disturbs
  /// a part of every plan's runs, and the faster half is left.
  int rounds = 3;
  /// Ranks the backends that the plans were made for: see RankBackends.
  bool priority_table = false;
  /// Called before each plan's turn. May be empty.
  std::function<void(const std::string& name, int index, int count)> progress;
};

/// A converted model to measure.
struct PlanToProfile {
  std::string name;
  bool sweep = false;
  std::vector<uint8_t> plan;
};

/// Runs every plan with random inputs and fits the calibration to all that was measured.
/// Errors (kBackend): a plan does not open or run here, no place for temporary files.
[[nodiscard]] Result<Profile> MakeProfile(const Board& board,
                                          const std::vector<PlanToProfile>& plans,
                                          const ProfileOptions& options);

}  // namespace tenon::converter
