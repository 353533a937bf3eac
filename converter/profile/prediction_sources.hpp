// Says where the predicted times of a program's ops come from, and how far off they may be.
#pragma once

#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/locations.hpp"
#include "converter/profile/profile.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Sums of the ops' times by source.
struct PredictionSources {
  Picoseconds measured = 0;    ///< ops that the profile has
  Picoseconds calibrated = 0;  ///< by the calibration made from other ops
  Picoseconds analytic = 0;    ///< from the board's figures, whose error nothing here tells
  /// Mean relative error that is expected of an op, weighted by time, over what is measured (its
  /// spread) and calibrated (its error on the ops that it was made from). The sum over a network is
  /// off by less where ops err to both sides.
  double op_error = 0;
};

/// `ops` run as the graph has them, with kernels chosen; each on UnitFor's unit. Those that no unit
/// of the board runs count as nothing.
[[nodiscard]] PredictionSources SourcesOf(const Graph& graph, const Locations& locations,
                                          const std::vector<OpId>& ops, const Board& board,
                                          const Profile& profile);

}  // namespace tenon::converter
