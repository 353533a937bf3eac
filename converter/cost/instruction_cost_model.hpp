// Takes times of microcontrollers' ops from the instructions that their kernels take, by the tables
// that bound those (instruction_bound.hpp): what stands around an op, few columns and too little
// workspace cost as much there as they do on the core, which rates do not say.
#pragma once

#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"

namespace tenon::converter {

/// Returns true if the board has a unit whose times are taken from a table.
[[nodiscard]] bool HasInstructionTables(const Board& board);

class InstructionCostModel final : public CostModel {
 public:
  /// `locations`, of the graph that will be queried, must outlive the model.
  InstructionCostModel(const Board& board, const Locations& locations)
      : analytic_(board), locations_(locations) {}

  /// Of an op with a bound `compute` is what its instructions take at the rate of the unit, and
  /// `fixed` is 0. Others: as AnalyticCostModel.
  [[nodiscard]] OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const override;

 private:
  AnalyticCostModel analytic_;
  const Locations& locations_;
};

}  // namespace tenon::converter
