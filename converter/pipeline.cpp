#include "converter/pipeline.hpp"

#include <algorithm>

#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_constants.hpp"
#include "converter/ir/text.hpp"
#include "converter/memory/locations.hpp"
#include "converter/passes/eliminate_dead_code.hpp"
#include "converter/passes/fold_pad.hpp"
#include "converter/passes/fuse_activation.hpp"
#include "converter/passes/fuse_affine.hpp"
#include "converter/passes/fuse_residual.hpp"
#include "converter/passes/isolate_outputs.hpp"
#include "converter/passes/simplify.hpp"
#include "runtime/format/plan_check.hpp"

namespace tenon::converter {
namespace {

// Why each stands where it stands:
constexpr Pass kCleaning[] = {
    {"simplify", Simplify},             // first: what follows matches on what is really there
    {"fold-constants", FoldConstants},  // what simplify exposes; fusion wants constant operands
    {"eliminate-dead-code", EliminateDeadCode},  // readers left behind would block fusion
};
constexpr Pass kFusion[] = {
    {"fold-pad", FoldPad},                // before anything is fused into the convolution behind it
    {"fuse-affine", FuseAffine},          // batch norms and biases, while nothing stands after them
    {"fuse-activation", FuseActivation},  // on convolutions and on additions
    {"fuse-residual", FuseResidual},      // after it: takes the addition with its activation
    {"eliminate-dead-code", EliminateDeadCode},
};
constexpr Pass kLast[] = {
    {"isolate-outputs", IsolateOutputs},  // once no pass replaces outputs any more
};

template <size_t N>
Status RunAll(const Pass (&passes)[N], Graph& graph, std::vector<PassReport>& reports) {
  for (const Pass& pass : passes) {
    if (Status status = RunPass(pass, graph, reports); !status.ok()) return status;
  }
  return {};
}

/// The plan is checked by the code that the device will check it with. Gives the bytes of constants
/// that it holds: equal ones once, unread ones not at all.
Result<int64_t> CheckEmitted(const std::vector<uint8_t>& plan) {
  std::vector<std::max_align_t> aligned(plan.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(aligned.data(), plan.data(), plan.size());
  const auto* bytes = reinterpret_cast<const uint8_t*>(aligned.data());
  const tenon::Result<PlanView> view = PlanView::Open({bytes, plan.size()});
  if (!view.ok())
    return InternalError("the new plan cannot be opened: {}", ToString(view.status()));
  std::vector<std::max_align_t> scratch(PlanCheckScratchBytes(*view) / sizeof(std::max_align_t) +
                                        1);
  const tenon::Status status = CheckPlan(*view, {reinterpret_cast<uint8_t*>(scratch.data()),
                                                 scratch.size() * sizeof(std::max_align_t)});
  if (!status.ok()) return InternalError("the new plan fails its check: {}", ToString(status));
  int64_t constants = 0;
  for (size_t i = 0; i < view->section_count(); ++i) {
    constants += static_cast<int64_t>(view->section(i).bytes);
  }
  return constants;
}

Status CheckFits(const Board& board, const Conversion& conversion) {
  const MemorySpace& space = *board.ArenaSpace();
  const MemoryReport& memory = conversion.memory;
  const int64_t needed = memory.arena_bytes + (space.holds_constants ? memory.constants_bytes : 0);
  if (needed <= space.usable_bytes()) return {};
  Error error{ErrorKind::kDoesNotFit, "", {}};
  error.message = fmt::format("the model needs {} bytes of '{}', {} are available", needed,
                              space.name, space.usable_bytes());
  const OrderReport& order = conversion.order;
  const bool searched = order.mode == OrderMode::kSearch;
  error.details.push_back(fmt::format(
      "arena: {} bytes ({} needs less than {})", memory.arena_bytes,
      searched ? "no order of the same ops" : "no placement of the model's order",
      std::min(searched ? order.search.lower_bound : memory.lower_bound, memory.arena_bytes)));
  if (space.holds_constants) {
    error.details.push_back(fmt::format("constants: {} bytes", memory.constants_bytes));
  }
  error.details.push_back(
      fmt::format("the smallest limit that works is --memory-limit {}={}", space.name, needed));
  return error;
}

CompileOptions CompileOptionsOf(const ConvertOptions& options, const CostModel& cost) {
  CompileOptions compile;
  compile.board = &options.board;
  compile.cost = &cost;
  compile.order.mode = options.order;
  compile.order.budget = options.order_budget;
  compile.order.seed = options.seed;
  compile.order.key_nodes = options.key_nodes;
  compile.place_budget = options.place_budget;
  if (const Unit* unit = ComputeUnit(options.board)) {
    compile.kernels.portable_only = unit->portable_kernels_only;
    compile.kernels.threads = unit->threads;
  }
  return compile;
}

}  // namespace

Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports) {
  if (Status status = RunAll(kCleaning, graph, reports); !status.ok()) return status;
  if (fuse) {
    if (Status status = RunAll(kFusion, graph, reports); !status.ok()) return status;
  }
  return RunAll(kLast, graph, reports);
}

Result<Conversion> ConvertGraph(Graph graph, const ConvertOptions& options) {
  const auto progress = [&](const char* phase, int index) {
    if (options.progress) options.progress(phase, index, 4);
  };
  Conversion conversion;
  conversion.ops_imported = graph.OpOrder().size();
  progress("fusing", 1);
  if (Status status = Canonicalise(graph, options.fuse, conversion.passes); !status.ok()) {
    return status.error();
  }

  progress("ordering and placing", 2);
  const AnalyticCostModel analytic;
  TENON_ASSIGN_OR_RETURN(Compiled compiled,
                         Compile(std::move(graph), CompileOptionsOf(options, analytic)));

  progress("writing", 3);
  const MemorySpace& space = *options.board.ArenaSpace();
  EmitOptions emit;
  emit.board = options.board.name;
  emit.board_fingerprint = options.board.fingerprint;
  emit.memory_space = space.name;
  emit.section_alignment = space.alignment_bytes;
  emit.options = options.recorded;
  TENON_ASSIGN_OR_RETURN(conversion.plan,
                         EmitPlan(compiled.graph, compiled.locations, compiled.arena, emit));
  conversion.graph_text = PrintGraph(compiled.graph);
  conversion.ops_executed = compiled.arena.steps.size();
  conversion.passes.insert(conversion.passes.end(), compiled.passes.begin(), compiled.passes.end());
  conversion.mapping = std::move(compiled.mapping);
  conversion.memory = std::move(compiled.memory);
  conversion.order = std::move(compiled.order);
  conversion.time = std::move(compiled.time);

  progress("checking", 4);
  TENON_ASSIGN_OR_RETURN(conversion.memory.constants_bytes, CheckEmitted(conversion.plan));
  if (Status status = CheckFits(options.board, conversion); !status.ok()) return status.error();
  return conversion;
}

Result<Conversion> Convert(const ConvertOptions& options) {
  if (options.progress) options.progress("reading", 0, 4);
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(options.model, options.import, FoldTensors));
  return ConvertGraph(std::move(graph), options);
}

}  // namespace tenon::converter
