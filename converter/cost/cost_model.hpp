// What an op costs on a unit of a board: one interface, two sources (methods C7): computed from the
// board's rates, or measured.
#pragma once

#include <cstdint>

#include "converter/board/board.hpp"
#include "converter/cost/simulator.hpp"
#include "converter/ir/graph.hpp"

namespace tenon::converter {

struct OpTime {
  Picoseconds fixed = 0;    ///< start overhead
  Picoseconds compute = 0;  ///< at the unit's rate
  int64_t bytes = 0;        ///< that go through the unit's port, side by side with `compute`
  bool measured = false;    ///< from a profile: `compute` is the whole time, `bytes` is 0

  /// Alone on its unit: fixed + max(compute, bytes / bandwidth).
  [[nodiscard]] Picoseconds Alone(double port_bytes_per_second) const;
};

class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;
  /// Time of `op`, whose kernel has been chosen, on `unit`, which must be able to run it.
  [[nodiscard]] virtual OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const = 0;
};

/// From the op table's work and bytes and the board's rates (a roofline).
class AnalyticCostModel final : public CostModel {
 public:
  [[nodiscard]] OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const override;
};

/// The unit of the board that runs ops of this kind: the first that lists it (or lists nothing).
/// Null if none does.
[[nodiscard]] const Unit* UnitFor(const Board& board, const Op& op);

}  // namespace tenon::converter
