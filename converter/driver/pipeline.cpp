#include "converter/driver/pipeline.hpp"

#include <algorithm>

#include "converter/driver/import_model.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_constants.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/text.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/passes/fold_input_format.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

// Why each stands where it stands:
constexpr Pass kCleaning[] = {
    {"simplify", Simplify},  // first: what follows matches on what is really there
    // What simplify exposes; fusion wants constant operands. Quantized weights stay quantized.
    {"fold-constants", FoldQuantizedConstants},
    {"eliminate-dead-code", EliminateDeadCode},  // readers left behind would block fusion
};
constexpr Pass kQuantized[] = {
    {"fold-pad", FoldPad},                  // the float form says most plainly what is padded with
    {"fuse-quantized", FuseQuantized},      // before activations and residuals become parts of ops
    {"fold-lookups", FoldLookups},          // tables that requantizing left
    {"simplify", Simplify},                 // moves that stood apart between quantize ops meet
    {"shuffle-channels", ShuffleChannels},  // last of moves: others would not join its parts
    {"eliminate-dead-code", EliminateDeadCode},
};
// Last, what is left of dequantized weights: floats for float ops.
constexpr Pass kDequantizing[] = {
    {"fold-constants", FoldConstants},
    {"eliminate-dead-code", EliminateDeadCode},
};
constexpr Pass kFusion[] = {
    {"fold-pad", FoldPad},                // before anything is fused into the convolution behind it
    {"fuse-affine", FuseAffine},          // batch norms and biases, while nothing stands after them
    {"fuse-activation", FuseActivation},  // on convolutions and on additions
    {"fuse-residual", FuseResidual},      // after it: takes the addition with its activation
    {"eliminate-dead-code", EliminateDeadCode},
};
// Before quantization: what is folded into weights must be there when they get their scales.
constexpr Pass kIntoWeights[] = {
    {"fold-pad", FoldPad},
    {"fuse-affine", FuseAffine},
    {"eliminate-dead-code", EliminateDeadCode},
};
constexpr Pass kLast[] = {
    {"isolate-outputs", IsolateOutputs},  // once no pass replaces outputs any more
};

template <size_t N>
Status RunAll(const Pass (&passes)[N], Graph& graph, std::vector<PassReport>& reports) {
  for (const Pass& pass : passes) {
    TENON_RETURN_IF_ERROR(RunPass(pass, graph, reports));
  }
  return {};
}

/// Passes for quantized graphs would change no other one.
bool IsQuantized(const Graph& graph) {
  const std::vector<OpId> ops = graph.OpOrder();
  return std::any_of(ops.begin(), ops.end(),
                     [&](OpId id) { return TraitsOf(graph.op(id).kind).quantized; });
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

/// CompileToFit has seen to the arena; that leaves constants, whose bytes are known only now.
Status CheckConstantsFit(const Board& board, const MemoryReport& memory) {
  const MemorySpace& arena_space = *board.ArenaSpace();
  for (const MemorySpace& space : board.memory_spaces) {
    if (!space.holds_constants) continue;
    int64_t needed = memory.constants_bytes;
    if (space.name == arena_space.name) needed += memory.arena_bytes + memory.packed_bytes;
    for (const ArenaBeside& arena : memory.beside) {
      if (space.name == arena.space) needed += arena.bytes;
    }
    if (needed <= space.usable_bytes()) return {};
    Error error{ErrorKind::kDoesNotFit, "", {}};
    error.message = fmt::format("the model needs {} bytes of '{}', {} are available", needed,
                                space.name, space.usable_bytes());
    error.details.push_back(fmt::format("constants: {} bytes", memory.constants_bytes));
    error.details.push_back(
        fmt::format("the smallest limit that works is --memory-limit {}={}", space.name, needed));
    return error;
  }
  return {};
}

/// Where constants lie: the first space that takes them.
std::string ConstantsSpace(const Board& board) {
  for (const MemorySpace& space : board.memory_spaces) {
    if (space.holds_constants) return space.name;
  }
  return board.ArenaSpace()->name;
}

const VariantChoice* VariantsFor(const ConvertOptions& options) {
  if (options.variants != nullptr) return options.variants.get();
  const Profile* profile = options.profile.get();
  const bool fits = profile != nullptr && CheckProfileFits(*profile, options.board).ok();
  return fits ? &profile->tuning : nullptr;
}

/// With what is known of the board, and of its CPU.
CompileOptions CompileOptionsOf(const ConvertOptions& options) {
  CompileOptions compile = options.compile;
  compile.profile = options.profile.get();
  KernelChoiceOptions& kernels = compile.kernels;
  kernels.board = &options.board;
  kernels.variants = VariantsFor(options);
  if (const Unit* unit = ComputeUnit(options.board)) {
    kernels.portable_only = unit->portable_kernels_only;
    kernels.kernel_set = unit->kernel_set;
    kernels.threads = unit->threads;
  }
  return compile;
}

/// Numbers as the model's ops and the device's inputs have them.
Status AdaptNumbers(Graph& graph, const ConvertOptions& options, Conversion& conversion) {
  if (HasInt8Weights(graph)) graph.weights = DType::kI8;
  TENON_RETURN_IF_ERROR(RunPass({"compute-in-f32", ComputeInF32}, graph, conversion.passes));
  if (options.input_formats.empty()) return {};
  conversion.passes.push_back({"apply-input-formats", 0, {}});
  const bool images_channels_last = options.model.extension() == ".tflite";
  TENON_RETURN_IF_ERROR(ApplyInputFormats(graph, options.input_formats, images_channels_last,
                                          conversion.passes.back()));
  return Verify(graph);
}

/// Operands of ops in f32 in fewer bits: inputs of first convolutions, and weights.
Status StoreOperands(Graph& graph, const ConvertOptions& options,
                     const KernelChoiceOptions& kernels, Conversion& conversion) {
  StoreWeightsOptions store;
  store.form = options.weights;
  store.why_not = [&](const Graph& whole, const Op& before, const Op& after) {
    return WhyWorseKernel(whole, before, after, kernels);
  };
  conversion.passes.push_back({"fold-input-formats", 0, {}});
  TENON_RETURN_IF_ERROR(FoldInputFormats(graph, store.why_not, conversion.passes.back()));
  TENON_RETURN_IF_ERROR(Verify(graph));
  conversion.passes.push_back({"store-weights", 0, {}});
  TENON_RETURN_IF_ERROR(StoreWeights(graph, store, conversion.passes.back(), conversion.weights));
  return Verify(graph);
}

/// For kernels that want it, before anything is split: parts share constants.
Status PrepareBiases(Graph& graph, const KernelChoiceOptions& kernels, Conversion& conversion) {
  const auto wants = [&](const Graph& whole, const Op& op) {
    const KernelCaps* kernel = KernelFor(whole, op, kernels);
    return kernel != nullptr && kernel->wants_folded_bias;
  };
  conversion.passes.push_back({"fold-zero-points", 0, {}});
  TENON_RETURN_IF_ERROR(FoldZeroPoints(graph, wants, conversion.passes.back()));
  return Verify(graph);
}

ProgramToEmit SequentialProgram(const Compiled& compiled, const Board& board) {
  ProgramToEmit program;
  program.graph = &compiled.graph;
  program.locations = &compiled.locations;
  program.arena = &compiled.arena;
  program.schedule = &compiled.schedule;
  for (const int32_t unit : compiled.schedule.unit_of_worker) {
    program.worker_names.push_back(board.units[static_cast<size_t>(unit)].name);
  }
  return program;
}

/// What was chosen takes the place of what was asked for.
void RecordChoice(const ParallelReport& report,
                  std::vector<std::pair<std::string, std::string>>& options) {
  if (report.choice.candidates.empty()) return;
  const auto record = [&](const char* name, std::string value) {
    std::erase_if(options, [&](const auto& option) { return option.first == name; });
    options.emplace_back(name, std::move(value));
  };
  record("parallel", ParallelModeName(report.choice.mode));
  if (report.replicas > 1) record("replicas", fmt::format("{}", report.replicas));
}

}  // namespace

Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports) {
  TENON_RETURN_IF_ERROR(RunAll(kCleaning, graph, reports));
  if (IsQuantized(graph)) {
    if (fuse) TENON_RETURN_IF_ERROR(RunAll(kQuantized, graph, reports));
    TENON_RETURN_IF_ERROR(RunAll(kDequantizing, graph, reports));
  }
  if (fuse) {
    TENON_RETURN_IF_ERROR(RunAll(kFusion, graph, reports));
  }
  return RunAll(kLast, graph, reports);
}

namespace {

/// Everything before kernels are chosen. Quantizing is judged by the very ops that run in the end.
Status Prepare(Graph& graph, const ConvertOptions& options, Conversion& conversion) {
  if (!options.quantize) return Canonicalise(graph, options.fuse, conversion.passes);
  if (!options.fuse) {
    return UsageError(
        "quantizing needs fusion: integer ops are made of the float ops between them");
  }
  TENON_RETURN_IF_ERROR(RunAll(kCleaning, graph, conversion.passes));
  TENON_RETURN_IF_ERROR(RunAll(kIntoWeights, graph, conversion.passes));
  QuantizeOptions quantize = *options.quantize;
  std::vector<PassReport> last;  // of the graph that is kept: it is finished last
  quantize.finish = [&](Graph& trial) {
    last.clear();
    return Canonicalise(trial, options.fuse, last);
  };
  TENON_ASSIGN_OR_RETURN(conversion.quantization, QuantizeModel(graph, quantize));
  conversion.passes.insert(conversion.passes.end(), last.begin(), last.end());
  return {};
}

}  // namespace

Result<Conversion> ConvertGraph(Graph graph, const ConvertOptions& options) {
  const auto progress = [&](const char* phase, int index) {
    if (options.progress) options.progress(phase, index, 4);
  };
  Conversion conversion;
  conversion.ops_imported = graph.OpOrder().size();
  progress(options.quantize ? "quantizing" : "fusing", 1);
  TENON_RETURN_IF_ERROR(AdaptNumbers(graph, options, conversion));
  TENON_RETURN_IF_ERROR(Prepare(graph, options, conversion));

  progress("splitting, ordering and placing", 2);
  CompileOptions compile = CompileOptionsOf(options);
  TENON_RETURN_IF_ERROR(StoreOperands(graph, options, compile.kernels, conversion));
  TENON_RETURN_IF_ERROR(PrepareBiases(graph, compile.kernels, conversion));
  if (options.progress) {
    compile.progress = [&](const char* what, double share) {
      options.progress(fmt::format("{} {:.0f}%", what, 100 * share), 2, 4);
    };
  }
  TENON_ASSIGN_OR_RETURN(Fitted fitted, CompileToFit(graph, compile, options.split));
  Compiled& compiled = fitted.compiled;
  TENON_ASSIGN_OR_RETURN(ParallelPrograms parallel,
                         MakeParallelPrograms(graph, fitted, compile, options.parallel));

  progress("writing", 3);
  EmitOptions emit;
  emit.board = options.board.name;
  emit.board_fingerprint = options.board.fingerprint;
  emit.memory_space = options.board.ArenaSpace()->name;
  emit.constants_space = ConstantsSpace(options.board);
  emit.section_alignment = options.board.ArenaSpace()->alignment_bytes;
  emit.options = options.recorded;
  RecordChoice(parallel.report, emit.options);
  std::vector<ProgramToEmit> programs = {SequentialProgram(compiled, options.board)};
  if (parallel.pipeline) programs.push_back(parallel.pipeline->ToEmit());
  if (parallel.inter) programs.push_back(parallel.inter->ToEmit());
  TENON_ASSIGN_OR_RETURN(conversion.plan, EmitPlan(programs, emit));
  conversion.parallel = parallel.report;
  conversion.graph_text = PrintGraph(compiled.graph);
  conversion.ops_executed = compiled.arena.steps.size();
  for (const OpId id : compiled.arena.steps) {
    ++conversion.ops_by_backend[compiled.graph.op(id).backend];
  }
  conversion.passes.insert(conversion.passes.end(), compiled.passes.begin(), compiled.passes.end());
  static_cast<CompileReport&>(conversion) = std::move(compiled);
  conversion.memory.packed_bytes = PackedBytes(compiled.graph);
  conversion.op_splits = std::move(fitted.ops);
  conversion.chain_splits = std::move(fitted.chains);
  conversion.lean_kernels = fitted.lean;

  progress("checking", 4);
  TENON_ASSIGN_OR_RETURN(conversion.memory.constants_bytes, CheckEmitted(conversion.plan));
  TENON_RETURN_IF_ERROR(CheckConstantsFit(options.board, conversion.memory));
  return conversion;
}

Result<Conversion> Convert(const ConvertOptions& options) {
  if (options.progress) options.progress("reading", 0, 4);
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportModel(options.model, options.import, FoldTensors));
  return ConvertGraph(std::move(graph), options);
}

}  // namespace tenon::converter
