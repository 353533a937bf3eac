#include "converter/cost/instruction_cost_model.hpp"

#include <algorithm>
#include <optional>

#include "converter/cost/instruction_bound.hpp"

namespace tenon::converter {
namespace {

/// Returns the instructions per second, or 0 where times are not taken from tables. Boards have
/// their elementary rate from counted instructions (sdk/boards, "source"), of which DSP kernels
/// take 4 for an element and Helium kernels 3.
double InstructionRate(const Unit& unit) {
  constexpr double kDsp = 4;
  constexpr double kHelium = 3;
  if (unit.kernel_set == "dsp") return kDsp * unit.elementary_ops_per_second;
  return unit.kernel_set == "helium" ? kHelium * unit.elementary_ops_per_second : 0;
}

}  // namespace

bool HasInstructionTables(const Board& board) {
  return std::any_of(board.units.begin(), board.units.end(),
                     [](const Unit& unit) { return InstructionRate(unit) > 0; });
}

OpTime InstructionCostModel::TimeOf(const Graph& graph, const Op& op, const Unit& unit) const {
  OpTime time = analytic_.TimeOf(graph, op, unit);
  const double rate = InstructionRate(unit);
  if (rate <= 0) return time;
  const std::optional<int64_t> most = BoundInstructions(graph, op, locations_, unit.kernel_set);
  if (!most) return time;
  time.fixed = 0;
  time.compute = TimeAtRate(static_cast<double>(*most), rate);
  return time;
}

}  // namespace tenon::converter
