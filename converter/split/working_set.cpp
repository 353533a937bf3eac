#include "converter/split/working_set.hpp"

#include <algorithm>
#include <map>

#include "converter/split/split_op.hpp"
#include "converter/split/working_set_grid.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// Returns the key of a grid, with all that it depends on, so that equal ops are planned once.
std::vector<int64_t> SignatureOf(const Graph& graph, const Op& op) {
  std::vector<int64_t> signature{static_cast<int64_t>(op.kind), op.workspace_bytes};
  signature.insert(signature.end(), op.attributes.words().begin(), op.attributes.words().end());
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const TensorId id = op.inputs[i];
    const auto first = std::find(op.inputs.begin(), op.inputs.end(), id);
    signature.push_back(id == kNone ? -1 : first - op.inputs.begin());
    if (id == kNone) continue;
    const Tensor& tensor = graph.tensor(id);
    signature.push_back(static_cast<int64_t>(tensor.dtype) * 2 + (tensor.IsConstant() ? 1 : 0));
    signature.push_back(tensor.shape.rank);
    signature.insert(signature.end(), tensor.shape.dims, tensor.shape.dims + tensor.shape.rank);
  }
  return signature;
}

/// The changes to one op that exceeds its limit.
struct Plan {
  OpId op = kNone;
  WorkingSet whole;
  int64_t limit = 0;
  std::vector<GridAxis> axes;
  GridParts parts;
  int64_t part_bytes = 0;
};

std::string Describe(const WorkingSet& set) {
  std::string text = fmt::format("{} bytes (inputs {}", set.total(), set.inputs);
  if (set.weights > 0) text += fmt::format(", weights {}", set.weights);
  text += fmt::format(", outputs {}", set.outputs);
  if (set.workspace > 0) text += fmt::format(", workspace {}", set.workspace);
  return text + ")";
}

class Splitter {
 public:
  Splitter(Graph& graph, const WorkingSetLimit& limit, SplitReport& report)
      : graph_(graph), limit_(limit), report_(report), cutter_(graph) {}

  Status Run() {
    TENON_RETURN_IF_ERROR(CheckAll());
    std::vector<OpId> worklist = graph_.OpOrder();
    std::reverse(worklist.begin(), worklist.end());
    while (!worklist.empty()) {
      const OpId id = worklist.back();
      worklist.pop_back();
      // A slice without readers may have been removed. Parts should fit by the estimate, but are
      // checked again.
      if (!graph_.IsOp(id) || Fits(graph_.op(id))) continue;
      const GridParts& grid_parts = FindParts(graph_.op(id));
      const bool cuts = std::any_of(grid_parts.begin(), grid_parts.end(),
                                    [](int32_t parts) { return parts > 1; });
      // A part may be mapped to another unit than its op, whose memory is smaller.
      if (!cuts) return TooLarge(id, WorkingSetGrid(graph_, graph_.op(id), limit_).Smallest());
      TENON_ASSIGN_OR_RETURN(const std::vector<OpId> parts, Apply(PlanOf(id, grid_parts)));
      worklist.insert(worklist.end(), parts.rbegin(), parts.rend());
    }
    return Status();
  }

 private:
  [[nodiscard]] WorkingSpace SpaceOf(const Op& op) const { return limit_.space_of(graph_, op); }

  [[nodiscard]] bool Fits(const Op& op) const {
    if (!HasWorkingSet(op.kind)) return true;
    const WorkingSpace space = SpaceOf(op);
    return WorkingSetOf(graph_, op, space.stages_constants).total() <= space.bytes;
  }

  /// Returns the grid's parts for an op over its limit; empty if there are none.
  const GridParts& FindParts(const Op& op) {
    std::vector<int64_t> key = SignatureOf(graph_, op);
    key.push_back(SpaceOf(op).bytes);
    const auto [place, is_new] = found_.try_emplace(std::move(key));
    if (is_new) {
      const WorkingSetGrid grid(graph_, op, limit_);
      place->second = grid.Find(SpaceOf(op).bytes).value_or(GridParts());
    }
    return place->second;
  }

  [[nodiscard]] Plan PlanOf(OpId id, const GridParts& parts) const {
    const Op& op = graph_.op(id);
    const WorkingSetGrid grid(graph_, op, limit_);
    const WorkingSpace space = SpaceOf(op);
    return {id,          WorkingSetOf(graph_, op, space.stages_constants),
            space.bytes, grid.axes(),
            parts,       grid.Bytes(parts)};
  }

  /// Returns the error before anything is changed, with the smallest limit that suffices for every
  /// op.
  Status CheckAll() {
    int64_t smallest = 0;
    OpId worst = kNone;
    for (const OpId id : graph_.OpOrder()) {
      const Op& op = graph_.op(id);
      if (Fits(op) || !FindParts(op).empty()) continue;
      const int64_t needed = WorkingSetGrid(graph_, op, limit_).Smallest();
      if (needed <= smallest) continue;
      smallest = needed;
      worst = id;
    }
    return worst == kNone ? Status() : TooLarge(worst, smallest);
  }

  /// Says that an op does not fit, of which the smallest parts need `smallest` bytes.
  [[nodiscard]] Error TooLarge(OpId id, int64_t smallest) const {
    const Op& op = graph_.op(id);
    const WorkingSpace space = SpaceOf(op);
    const WorkingSet set = WorkingSetOf(graph_, op, space.stages_constants);
    const std::string where = space.name.empty() ? "" : fmt::format(" of \"{}\"", space.name);
    return Error{ErrorKind::kDoesNotFit,
                 fmt::format("op \"{}\" needs {} to run; the limit{} is {} bytes, and split as "
                             "finely as the board allows it needs {}",
                             op.name, Describe(set), where, space.bytes, smallest),
                 {fmt::format("the smallest limit that works for the model is {} bytes",
                              SmallestWorkingSet(graph_, limit_))}};
  }

  /// Cuts along the first axis, every part along the second, and so on; sums last, since only then
  /// do pieces of them stay exact.
  Result<std::vector<OpId>> Apply(const Plan& plan) {
    Record(plan);
    std::vector<OpId> parts{plan.op};
    for (const bool accumulating : {false, true}) {
      for (size_t i = 0; i < plan.axes.size(); ++i) {
        const GridAxis& axis = plan.axes[i];
        if (axis.accumulates != accumulating || plan.parts[i] == 1) continue;
        std::vector<OpId> finer;
        for (const OpId part : parts) {
          TENON_ASSIGN_OR_RETURN(const std::vector<OpId> made, Cut(part, axis, plan.parts[i]));
          finer.insert(finer.end(), made.begin(), made.end());
        }
        parts = std::move(finer);
      }
    }
    ++report_.ops_split;
    report_.parts += static_cast<int64_t>(parts.size());
    return parts;
  }

  Result<std::vector<OpId>> Cut(OpId op, const GridAxis& axis, int32_t parts) {
    const std::vector<IndexRange> ranges = axis.Ranges(parts);
    return axis.accumulates ? SplitInputChannels(graph_, cutter_, op, ranges)
                            : SplitOp(graph_, cutter_, op, axis.axis, ranges);
  }

  void Record(const Plan& plan) {
    std::string grid;
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      if (plan.parts[i] == 1) continue;
      grid += fmt::format("{}{} parts along {}", grid.empty() ? "" : " x ", plan.parts[i],
                          plan.axes[i].dimension);
    }
    const std::string reason =
        fmt::format("working set of {} over the limit of {}; {}: at most {} bytes",
                    Describe(plan.whole), plan.limit, grid, plan.part_bytes);
    for (size_t i = 0; i < plan.axes.size(); ++i) {
      if (plan.parts[i] == 1) continue;
      report_.splits.push_back({graph_.op(plan.op).name, std::string(plan.axes[i].dimension),
                                plan.parts[i], plan.whole.total(), plan.part_bytes, plan.limit,
                                reason});
    }
  }

  Graph& graph_;
  const WorkingSetLimit& limit_;
  SplitReport& report_;
  OperandCutter cutter_;
  std::map<std::vector<int64_t>, GridParts> found_;
};

}  // namespace

namespace {

/// Returns true if constants that live elsewhere are copied to `space` before they are used.
bool StagesConstants(const Board& board, const MemorySpace& space) {
  return std::any_of(
      board.memory_spaces.begin(), board.memory_spaces.end(), [&](const MemorySpace& other) {
        return other.holds_constants && other.stage_constants && other.name != space.name;
      });
}

}  // namespace

WorkingSetLimit WorkingSetLimitOf(const KernelChoiceOptions& kernels) {
  WorkingSetLimit limit;
  limit.splitting = kernels.board->splitting;
  const std::vector<std::string> backends = BackendsOfUnits(*kernels.board);
  limit.space_of = [&kernels, one_backend = backends.size() == 1](const Graph& graph,
                                                                  const Op& op) -> WorkingSpace {
    const Board& board = *kernels.board;
    Op mapped = op;
    if (!one_backend) mapped.backend = BackendFor(graph, op, kernels);
    const Unit* unit = UnitFor(board, mapped);
    const MemorySpace* space = unit == nullptr ? nullptr : board.SpaceOf(*unit);
    if (space == nullptr) return {};
    return {space->name, space->usable_bytes(), StagesConstants(board, *space)};
  };
  return limit;
}

WorkingSetLimit ShareOf(const WorkingSetLimit& limit, int64_t eighths) {
  WorkingSetLimit share = limit;
  share.space_of = [whole = limit.space_of, eighths](const Graph& graph, const Op& op) {
    constexpr int64_t kWhole = 8;
    WorkingSpace space = whole(graph, op);
    space.bytes = space.bytes / kWhole * eighths;
    return space;
  };
  return share;
}

WorkingSetLimit UniformLimit(int64_t bytes, bool stages_constants) {
  WorkingSetLimit limit;
  limit.space_of = [=](const Graph&, const Op&) -> WorkingSpace {
    return {"", bytes, stages_constants};
  };
  return limit;
}

bool HasWorkingSet(OpKind kind) {
  return GetOpHostRow(kind).view == ViewKind::kNone || kind == OpKind::kTranspose;
}

WorkingSet WorkingSetOf(const Graph& graph, const Op& op, bool counts_constants) {
  WorkingSet set;
  for (auto input = op.inputs.begin(); input != op.inputs.end(); ++input) {
    if (*input == kNone || std::find(op.inputs.begin(), input, *input) != input) continue;
    const Tensor& tensor = graph.tensor(*input);
    if (!tensor.IsConstant()) {
      set.inputs += tensor.ByteSize();
    } else if (counts_constants) {
      set.weights += tensor.ByteSize();
    }
  }
  for (const TensorId output : op.outputs) set.outputs += graph.tensor(output).ByteSize();
  set.workspace = op.workspace_bytes;
  return set;
}

Status SplitToWorkingSet(Graph& graph, const WorkingSetLimit& limit, SplitReport& report) {
  return Splitter(graph, limit, report).Run();
}

int64_t SmallestWorkingSet(const Graph& graph, const WorkingSetLimit& limit) {
  std::map<std::vector<int64_t>, int64_t> known;
  int64_t smallest = 0;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    if (!HasWorkingSet(op.kind)) continue;
    const auto [place, is_new] = known.try_emplace(SignatureOf(graph, op), 0);
    if (is_new) place->second = WorkingSetGrid(graph, op, limit).Smallest();
    smallest = std::max(smallest, place->second);
  }
  return smallest;
}

}  // namespace tenon::converter
