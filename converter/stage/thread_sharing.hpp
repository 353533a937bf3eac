// Predicts what it brings that several threads of a CPU share an op (docs/methods.md, P1, P2).
#pragma once

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/ir/graph.hpp"
#include "converter/solve/stage/side_by_side.hpp"

namespace tenon::converter {

/// The time to start work on all threads and to wait for them.
inline constexpr double kParallelRegionMicroseconds = 5;

/// Returns the bandwidth that all threads and units share in the space that ops run from, and the
/// cache that each thread of the board's CPU has of its own.
[[nodiscard]] SharedBandwidth SharedBandwidthOf(const Board& board);

class ThreadSharing {
 public:
  /// `threads` threads of `unit`, a CPU of `board`. Both must outlive this.
  ThreadSharing(const Board& board, const Unit& unit, int threads);

  /// Returns how many times as fast the threads do the op together as one does that takes `alone`,
  /// by the roofline's times for one thread and several, and the time to start them and to wait for
  /// them. Never below 1: an op that is too short for that is not shared. Kernels that run on one
  /// thread, and ops of fewer pieces than threads, count as what they are.
  [[nodiscard]] double TimesFaster(const Graph& graph, const Op& op, Picoseconds alone) const;

 private:
  const Board& board_;
  const Unit& unit_;
  int threads_;
  AnalyticCostModel one_;
  AnalyticCostModel several_;
  double one_port_ = 0;  ///< bytes per second
  double several_ports_ = 0;
};

}  // namespace tenon::converter
