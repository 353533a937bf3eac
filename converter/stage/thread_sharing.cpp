#include "converter/stage/thread_sharing.hpp"

#include <algorithm>

#include "runtime/base/round_up.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

/// Kernels do ops of less work on one thread (backends/cpu: ParallelForWork, RowSharing).
constexpr int64_t kLeastWork = 32768;
/// Outputs of a reduction that one thread makes together (backends/cpu: kReduceLanes).
constexpr int64_t kReduceLanes = 16;

bool IsReduction(OpKind kind) {
  return kind == OpKind::kReduce || kind == OpKind::kQuantizedReduce;
}

/// Returns the number of pieces that a kernel of the CPU divides the op into, at most `threads`.
int PiecesOf(const Graph& graph, const Op& op, int threads) {
  // Libraries run on the calling thread (docs/decisions/0004-one-thread-budget.md).
  if (op.kernel.find(".onednn") != std::string::npos) return 1;
  const OpCallView view(graph, op);
  const OpWork work = GetOpHostRow(op.kind).work(view.call());
  if (work.multiply_accumulates + work.elementary_ops < kLeastWork) return 1;
  if (!IsReduction(op.kind)) return threads;
  const int64_t blocks = CeilDiv(graph.tensor(op.outputs[0]).shape.Elements(), kReduceLanes);
  return static_cast<int>(std::min<int64_t>(blocks, threads));
}

}  // namespace

SharedBandwidth SharedBandwidthOf(const Board& board) {
  SharedBandwidth shared;
  shared.bytes_per_second = board.ArenaSpace()->total_bandwidth_bytes_per_second;
  if (const Unit* cpu = ComputeUnit(board)) shared.cache_bytes = cpu->cache_bytes_per_thread;
  return shared;
}

ThreadSharing::ThreadSharing(const Board& board, const Unit& unit, int threads)
    : board_(board),
      unit_(unit),
      threads_(std::max(1, std::min(threads, unit.threads))),
      one_(board, 1),
      several_(board, threads_),
      one_port_(board.PortBytesPerSecond(unit)),
      several_ports_(one_port_ * threads_) {
  const double all = board.SpaceOf(unit)->total_bandwidth_bytes_per_second;
  if (all > 0) several_ports_ = std::max(one_port_, std::min(several_ports_, all));
}

double ThreadSharing::TimesFaster(const Graph& graph, const Op& op, Picoseconds alone) const {
  if (threads_ < 2 || UnitFor(board_, op) != &unit_) return 1;
  const int pieces = PiecesOf(graph, op, threads_);
  if (pieces < 2) return 1;
  const auto before = static_cast<double>(one_.TimeOf(graph, op, unit_).Alone(one_port_));
  const auto all = static_cast<double>(several_.TimeOf(graph, op, unit_).Alone(several_ports_));
  // Fewer pieces than threads leave some idle.
  const double after = all * threads_ / pieces;
  if (before <= 0 || alone <= 0) return 1;
  const auto region = static_cast<double>(TimeAtRate(kParallelRegionMicroseconds, 1e6));
  const double shared = static_cast<double>(alone) * after / before + region;
  return std::max(1.0, static_cast<double>(alone) / shared);
}

}  // namespace tenon::converter
