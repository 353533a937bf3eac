#include "converter/driver/widen_workspaces.hpp"

#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "converter/cost/instruction_cost_model.hpp"
#include "converter/layout/grow_workspaces.hpp"

namespace tenon::converter {
namespace {

class Widener {
 public:
  Widener(const ArenaToFill& fill, Graph& graph, ArenaPlan& arena)
      : fill_(fill),
        room_{fill.most_bytes, fill.options.arena.follow},
        bandwidth_(fill.options.board().PortBytesPerSecond(fill.unit)),
        model_(MakeCostModel(fill.options.board(), fill.options.profile, &fill.locations)),
        graph_(graph),
        arena_(arena),
        least_(graph),
        place_(fill.options.arena),
        placed_bytes_(arena.bytes) {
    place_.groups = arena.groups;
    place_.place.work_budget = kWorkOfPlacement;
    place_.place.limit = fill.most_bytes;
    place_.place.only_below = fill.most_bytes + 1;
  }

  int64_t Run() {
    Grow(graph_, arena_);
    time_ = TimeOf(graph_);
    const auto ops = static_cast<int64_t>(arena_.steps.size());
    for (int64_t placed = 0; placed < fill_.most_placed_ops; placed += ops) {
      const std::optional<CrampedWorkspace> next = Next();
      if (!next || fill_.options.time_limit.Passed()) break;
      if (Try(*next)) continue;
      placed += ops;
      const int64_t has = least_.op(next->op).workspace_bytes;
      const int64_t less = PaddedBytes(has + (next->bytes - has) / 2);
      if (less >= next->bytes || !Try({next->op, less})) refused_.insert(next->op);
    }
    return placed_bytes_;
  }

 private:
  static constexpr int64_t kWorkOfPlacement = 1'000'000;
  static constexpr int64_t kLeastGain = 4096;  // of all time

  void Grow(Graph& graph, ArenaPlan& arena) const {
    GrowWorkspaces(graph, fill_.locations, arena, room_);
  }

  [[nodiscard]] Picoseconds TimeOf(const Graph& graph, OpId id) const {
    return model_->TimeOf(graph, graph.op(id), fill_.unit).Alone(bandwidth_);
  }

  [[nodiscard]] Picoseconds TimeOf(const Graph& graph) const {
    Picoseconds time = 0;
    for (const OpId id : arena_.steps) time += TimeOf(graph, id);
    return time;
  }

  /// Returns the workspace that would save most time if it were larger.
  [[nodiscard]] std::optional<CrampedWorkspace> Next() const {
    std::optional<CrampedWorkspace> next;
    Graph wider = graph_;
    Picoseconds most = time_ / kLeastGain;
    for (const CrampedWorkspace& cramped :
         FindCrampedWorkspaces(wider, fill_.locations, arena_, room_)) {
      if (refused_.count(cramped.op) != 0) continue;
      const Picoseconds before = TimeOf(wider, cramped.op);
      wider.MutableOp(cramped.op).workspace_bytes = cramped.bytes;
      const Picoseconds saved = before - TimeOf(wider, cramped.op);
      if (saved <= most) continue;
      most = saved;
      next = cramped;
    }
    return next;
  }

  /// Returns true if the placement with a larger workspace is faster, and kept.
  bool Try(const CrampedWorkspace& wanted) {
    Graph graph = least_;
    graph.MutableOp(wanted.op).workspace_bytes = wanted.bytes;
    ArenaPlan arena = PlanArena(graph, fill_.locations, place_);
    if (arena.bytes > room_.most_bytes || arena.in_place != arena_.in_place) return false;
    const int64_t placed_bytes = arena.bytes;
    Graph grown = graph;
    Grow(grown, arena);
    const Picoseconds time = TimeOf(grown);
    if (time >= time_) return false;
    time_ = time;
    placed_bytes_ = placed_bytes;
    least_ = std::move(graph);
    graph_ = std::move(grown);
    arena_ = std::move(arena);
    arena_.proven_optimal = false;
    return true;
  }

  const ArenaToFill& fill_;
  const WorkspaceRoom room_;
  const double bandwidth_;
  std::unique_ptr<CostModel> model_;
  Graph& graph_;
  ArenaPlan& arena_;
  Graph least_;  ///< with workspaces as they are placed, before they grow
  ArenaOptions place_;
  std::set<OpId> refused_;
  Picoseconds time_ = 0;
  int64_t placed_bytes_;
};

}  // namespace

int64_t WidenWorkspaces(const ArenaToFill& fill, Graph& graph, ArenaPlan& arena) {
  return Widener(fill, graph, arena).Run();
}

}  // namespace tenon::converter
