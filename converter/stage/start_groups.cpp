#include "converter/stage/start_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "converter/map/backends.hpp"
#include "converter/solve/fuse/fuse_branches.hpp"
#include "converter/solve/fuse/group_order.hpp"
#include "converter/stage/group_sources.hpp"
#include "converter/stage/thread_sharing.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {
namespace {

constexpr double kSecondsPerPicosecond = 1e-12;
constexpr double kMicrosecondsPerSecond = 1e6;
constexpr char kCpu[] = "cpu";
/// What a group on the CPU costs beyond its ops, measured on two cores of Zen 4: without these,
/// groups of GoogLeNet, FastestDet and UltraFace made whole runs 1 to 4% longer. An op takes longer
/// while other threads run other ops than its share of all threads would, since other weights share
/// cache and memory; and what ops of a few microseconds leave in another core's cache is fetched
/// again.
constexpr double kBesideOthers = 1.06;
constexpr double kRegionsOfGroup = 2;
/// The search looks at pairs of ops.
constexpr size_t kMostOps = 4096;

/// What the model knows of one op.
struct OpToStart {
  const Unit* unit = nullptr;
  double alone = 0;   ///< seconds, started alone: on all threads, where the kernel shares the op
  double on_one = 0;  ///< seconds on one thread of the CPU, or on a device
  double launch = 0;  ///< seconds of these that a launch takes, on devices
  int32_t parameter_bytes = 0;
  std::string why_not;
};

/// Ops of one unit that start together.
class UnitModel final : public GroupModel {
 public:
  UnitModel(std::vector<OpToStart> ops, const BranchOptions& options)
      : ops_(std::move(ops)),
        threads_(options.threads),
        region_us_(options.region_us < 0 ? kParallelRegionMicroseconds : options.region_us) {}

  [[nodiscard]] double Time(const OpSet& ops) const override {
    if (ops.size() == 1) return At(ops[0]).alone;
    if (At(ops[0]).unit->backend == kCpu) {
      return kBesideOthers *
             (kRegionsOfGroup * region_us_ / kMicrosecondsPerSecond + OnThreads(ops));
    }
    // A device is taken to be busy with each op, so that groups save launches and nothing else.
    double sum = At(ops[0]).launch;
    for (const int32_t op : ops) sum += At(op).on_one - At(op).launch;
    return sum;
  }

  [[nodiscard]] std::string WhyNot(const OpSet& ops) const override {
    if (ops.size() > kMaxGroupOps) return fmt::format("more than {} ops", kMaxGroupOps);
    int64_t bytes = 0;
    for (const int32_t op : ops) {
      if (At(op).unit != At(ops[0]).unit) return "they run on different units";
      bytes += At(op).parameter_bytes;
    }
    const int32_t most = MostParameterBytes(At(ops[0]).unit->backend);
    if (bytes <= most) return {};
    return fmt::format("a kernel has at most {} bytes of parameters", most);
  }

 private:
  [[nodiscard]] const OpToStart& At(int32_t op) const { return ops_[static_cast<size_t>(op)]; }

  /// Returns when the last thread is done if each that is free takes the longest op left.
  [[nodiscard]] double OnThreads(const OpSet& ops) const {
    std::vector<double> times;
    for (const int32_t op : ops) times.push_back(At(op).on_one);
    std::sort(times.begin(), times.end(), std::greater<>());
    std::vector<double> busy(std::min(static_cast<size_t>(threads_), ops.size()), 0);
    for (const double time : times) *std::min_element(busy.begin(), busy.end()) += time;
    return *std::max_element(busy.begin(), busy.end());
  }

  std::vector<OpToStart> ops_;
  int threads_;
  double region_us_;
};

std::string WhyNotFusible(const Op& op, const Unit* unit, int threads) {
  if (unit == nullptr) return "no unit of the board runs it";
  if (unit->backend != kCpu) return {};
  if (std::min(threads, unit->threads) < 2) return "the CPU runs it on one thread";
  if (op.caps != nullptr && op.caps->in_place_only) return "its kernel works in place only";
  return {};
}

size_t DepthOf(const BranchGraph& graph) {
  std::vector<size_t> depth(graph.size(), 1);
  size_t most = 0;
  for (size_t op = 0; op < graph.size(); ++op) {
    for (const int32_t before : graph.predecessors[op]) {
      depth[op] = std::max(depth[op], depth[static_cast<size_t>(before)] + 1);
    }
    most = std::max(most, depth[op]);
  }
  return most;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Locations& locations, const Board& board,
          const CostModel& model, const BranchOptions& options)
      : graph_(graph),
        locations_(locations),
        board_(board),
        model_(model),
        options_(options),
        branches_(BranchesOf(graph, locations)) {}

  StartGroups Choose() {
    StartGroups result;
    BranchReport& report = result.report;
    report.ops = report.starts = branches_.graph.size();
    report.depth = DepthOf(branches_.graph);
    report.asked = options_.fuse;
    if (!options_.fuse) return result;
    std::vector<OpToStart> ops = Describe();
    std::vector<bool> fusible;
    for (const OpToStart& op : ops) fusible.push_back(op.why_not.empty());
    RefuseOps(ops, report);
    if (std::count(fusible.begin(), fusible.end(), true) < 2) return result;
    if (ops.size() > kMostOps) {
      report.refusals.push_back(
          {"op", {}, fmt::format("branches of more than {} ops are not searched", kMostOps)});
      return result;
    }
    const UnitModel model(ops, options_);
    FuseOptions search;
    search.improve_work = options_.improve_work;
    const FusedBranches fused = FuseBranches(branches_.graph, fusible, model, search);
    report.groups_found = fused.groups_found;
    for (const FusedGroup& group : fused.groups) {
      OpSet members = group.ops;
      std::stable_sort(members.begin(), members.end(), [&](int32_t a, int32_t b) {
        return ops[static_cast<size_t>(a)].on_one > ops[static_cast<size_t>(b)].on_one;
      });
      std::vector<OpId> ids;
      for (const int32_t op : members) ids.push_back(IdOf(op));
      report.groups.push_back({NamesOf(members), group.alone_seconds * kMicrosecondsPerSecond,
                               group.seconds * kMicrosecondsPerSecond});
      report.starts -= ids.size() - 1;
      result.groups.push_back(std::move(ids));
    }
    for (const GroupRefusal& refusal : fused.refusals) {
      report.refusals.push_back(
          {GroupKindName(refusal.kind), NamesOf(refusal.ops), refusal.reason});
    }
    return result;
  }

 private:
  [[nodiscard]] OpId IdOf(int32_t node) const {
    return branches_.op_of_node[static_cast<size_t>(node)];
  }

  [[nodiscard]] std::vector<std::string> NamesOf(const OpSet& ops) const {
    std::vector<std::string> names;
    for (const int32_t op : ops) names.push_back(graph_.op(IdOf(op)).name);
    return names;
  }

  std::vector<OpToStart> Describe() const {
    std::vector<OpToStart> ops;
    for (const OpId id : branches_.op_of_node) {
      const Op& op = graph_.op(id);
      OpToStart entry;
      entry.unit = UnitFor(board_, op);
      entry.why_not = WhyNotFusible(op, entry.unit, options_.threads);
      if (entry.unit != nullptr) {
        const Picoseconds time =
            model_.TimeOf(graph_, op, *entry.unit).Alone(board_.PortBytesPerSecond(*entry.unit));
        entry.on_one = static_cast<double>(time) * kSecondsPerPicosecond;
        entry.alone = entry.on_one;
        const GroupNeed need = GroupNeedOf(graph_, locations_, op);
        if (entry.why_not.empty()) entry.why_not = need.why_not;
        entry.parameter_bytes = need.parameter_bytes;
        if (entry.unit->backend == kCpu) {
          const ThreadSharing sharing(board_, *entry.unit, options_.threads);
          entry.alone /= sharing.TimesFaster(graph_, op, time);
        } else {
          entry.launch = entry.unit->op_overhead_us() / kMicrosecondsPerSecond;
        }
      }
      ops.push_back(std::move(entry));
    }
    return ops;
  }

  /// One refusal per reason.
  void RefuseOps(const std::vector<OpToStart>& ops, BranchReport& report) const {
    std::vector<BranchReport::Refusal> refusals;
    for (size_t node = 0; node < ops.size(); ++node) {
      if (ops[node].why_not.empty()) continue;
      const std::string& name = graph_.op(branches_.op_of_node[node]).name;
      const auto same = std::find_if(refusals.begin(), refusals.end(), [&](const auto& refusal) {
        return refusal.reason == ops[node].why_not;
      });
      if (same != refusals.end()) {
        same->ops.push_back(name);
      } else {
        refusals.push_back({"op", {name}, ops[node].why_not});
      }
    }
    report.refusals = std::move(refusals);
  }

  const Graph& graph_;
  const Locations& locations_;
  const Board& board_;
  const CostModel& model_;
  const BranchOptions& options_;
  BranchesOfGraph branches_;
};

}  // namespace

BranchesOfGraph BranchesOf(const Graph& graph, const Locations& locations) {
  BranchGraphBuilder builder(graph);
  for (const OpId id : graph.OpOrder()) {
    builder.Add(id, !locations.elided[static_cast<size_t>(id)]);
  }
  return builder.Take();
}

StartGroups ChooseStartGroups(const Graph& graph, const Locations& locations, const Board& board,
                              const CostModel& model, const BranchOptions& options) {
  return Chooser(graph, locations, board, model, options).Choose();
}

std::vector<OpId> GroupedSteps(const Graph& graph, const Locations& locations,
                               const std::vector<OpId>& steps,
                               const std::vector<std::vector<OpId>>& groups,
                               std::vector<std::vector<OpId>>& placed) {
  const BranchesOfGraph branches = BranchesOf(graph, locations);
  std::unordered_map<OpId, int32_t> node_of;
  for (size_t node = 0; node < branches.op_of_node.size(); ++node) {
    node_of[branches.op_of_node[node]] = static_cast<int32_t>(node);
  }
  const auto nodes = [&](const std::vector<OpId>& ids) {
    std::vector<int32_t> list;
    for (const OpId id : ids) list.push_back(node_of.at(id));
    return list;
  };
  const auto ids = [&](const std::vector<int32_t>& list) {
    std::vector<OpId> found;
    for (const int32_t node : list) {
      found.push_back(branches.op_of_node[static_cast<size_t>(node)]);
    }
    return found;
  };
  std::vector<std::vector<int32_t>> group_nodes;
  for (const std::vector<OpId>& group : groups) group_nodes.push_back(nodes(group));
  const GroupedOrder order = OrderWithGroups(branches.graph, nodes(steps), group_nodes);
  placed.clear();
  for (const std::vector<int32_t>& group : order.groups) placed.push_back(ids(group));
  return ids(order.ops);
}

void RefuseGroups(const Graph& graph, const std::vector<std::vector<OpId>>& groups,
                  const std::string& reason, BranchReport& report) {
  for (const std::vector<OpId>& group : groups) {
    std::vector<std::string> names;
    for (const OpId id : group) names.push_back(graph.op(id).name);
    std::erase_if(report.groups, [&](const BranchReport::Group& g) { return g.ops == names; });
    report.starts += group.size() - 1;
    report.refusals.push_back({"group", std::move(names), reason});
  }
}

}  // namespace tenon::converter
