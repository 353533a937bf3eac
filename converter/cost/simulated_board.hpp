// Models a board for the simulator: its units, and the ports through which they access memory.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/cost/cost_model.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

/// Makes the steps of a SimulatedProgram for one board. Unit i of the program is the board's i-th.
/// A unit has a private port to the space that it runs ops from; what goes through it to a shared
/// space also takes part of the space's bandwidth.
class SimulatedBoard {
 public:
  explicit SimulatedBoard(Board board);

  /// Returns the board's units and ports, without steps.
  [[nodiscard]] const SimulatedProgram& units_and_ports() const { return program_; }
  [[nodiscard]] const Board& board() const { return board_; }

  /// Makes a step for an op of that cost on Board::units[unit]; the caller adds waits.
  [[nodiscard]] SimulatedStep OpStep(int32_t unit, const OpTime& time) const;

  /// Makes a transfer over Board::links[link] by the link's unit, or by `own_unit` if it has none.
  [[nodiscard]] SimulatedStep TransferStep(int32_t link, int64_t bytes, int32_t own_unit) const;

 private:
  /// Adds what `bytes` take of the space's bandwidth, if that is shared.
  void UseSpace(const MemorySpace* space, int64_t bytes, SimulatedStep& step) const;

  Board board_;
  SimulatedProgram program_;
  std::vector<int32_t> port_of_space_;  ///< by space; kNone: private
};

}  // namespace tenon::converter
