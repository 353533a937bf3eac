// Predicts what an op costs on a unit of a board. There is one interface and two sources
// (docs/methods.md, C7): times computed from the board's rates, or measured ones.
#pragma once

#include <cstdint>

#include "backends/fpga/codegen/segment_code.hpp"
#include "converter/board/board.hpp"
#include "converter/ir/graph.hpp"
#include "converter/ir/locations.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

struct OpTime {
  Picoseconds fixed = 0;    ///< start overhead
  Picoseconds compute = 0;  ///< at the unit's rate
  int64_t bytes = 0;        ///< that go through the unit's port, in parallel with `compute`
  bool measured = false;    ///< from a profile: `compute` is the whole time, `bytes` is 0

  /// Returns the time alone on its unit: fixed + max(compute, bytes / bandwidth).
  [[nodiscard]] Picoseconds Alone(double port_bytes_per_second) const;
};

class CostModel {
 public:
  CostModel() = default;
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  virtual ~CostModel() = default;
  /// Returns the time of `op`, whose kernel is chosen, on `unit`, which must be able to run it.
  [[nodiscard]] virtual OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const = 0;
};

/// Computes times from the op table's work and bytes and the board's rates (a roofline). Rates are
/// per thread, and a run has `threads` of them, or as many as the unit allows if that is less.
///
/// Multiply-accumulates have the rate of input 0's dtype, that of f32 where the unit gives none, or
/// else half the elementary rate; depthwise convolutions have a rate of their own or
/// `depthwise_fraction` of it; portable kernels have the rate that the unit gives for those, where
/// it does. A chosen vector kernel of the CPU computes outputs in groups of 16: fewer take as long;
/// What the unit's last cache has room for, of all constants and of an op's other operands, comes
/// at the cache's rate. The time of elementary ops is added, except for those fused into an op with
/// multiply-accumulates on a unit that is no CPU and has rates for them, which applies bias and
/// activation in its epilogue, and for a bias and a clamp in the registers of the CPU's vector
/// kernels. For copies between memory spaces use TransferTime: the graph does not say where tensors
/// are. On an accelerator whose segments are code, ops take the cycles that its code generator
/// predicts, and of their maps only those that leave the segment are read and written.
class AnalyticCostModel final : public CostModel {
 public:
  explicit AnalyticCostModel(int threads = 1) : threads_(threads) {}
  /// For a board whose ops read constants in place from a separate space (flash): those bytes are
  /// read at that space's bandwidth, in parallel with the rest, and count as `compute`.
  /// With `locations`, of the graph that will be queried, which must outlive the model, operands
  /// whose elements lie apart cost what fetching them takes.
  explicit AnalyticCostModel(const Board& board, int threads = 1,
                             const Locations* locations = nullptr);
  [[nodiscard]] OpTime TimeOf(const Graph& graph, const Op& op, const Unit& unit) const override;

 private:
  int threads_;
  bool is_x86_64_ = false;
  const Locations* locations_ = nullptr;
  double latency_ns_ = 0;                 ///< of the arena's space
  double constant_bytes_per_second_ = 0;  ///< 0: constants come through the unit's port
};

/// The board's figures as the accelerator's code generator takes them.
[[nodiscard]] fpga::CodeTarget CodeTargetOf(const Accelerator& accelerator);

/// Returns the time of moving `bytes` over `link`: its latency and the launch of the unit that
/// moves them, then the bytes at the link's bandwidth (as `compute`; `bytes` is 0).
[[nodiscard]] OpTime TransferTime(const Board& board, const Link& link, int64_t bytes);

/// Returns true if the unit runs ops of this kind: it lists it (or lists nothing), has the op's
/// backend once that is known, and is not of kind "dma".
[[nodiscard]] bool RunsOp(const Unit& unit, const Op& op);

/// Returns the unit of the board that runs the op: the first of the name that the op has been given
/// to, or of any name if there is none such. Null if no unit runs it.
[[nodiscard]] const Unit* UnitFor(const Board& board, const Op& op);

}  // namespace tenon::converter
