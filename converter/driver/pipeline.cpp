#include "converter/driver/pipeline.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "converter/aligned_bytes.hpp"
#include "converter/driver/fit_ways.hpp"
#include "converter/driver/import_model.hpp"
#include "converter/driver/pass_list.hpp"
#include "converter/driver/predict_time.hpp"
#include "converter/driver/programs_of_plan.hpp"
#include "converter/driver/refusal.hpp"
#include "converter/driver/relax_limit.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/ir/locations.hpp"
#include "converter/ir/text.hpp"
#include "converter/map/kernel_choice.hpp"
#include "converter/quantize/state_samples.hpp"
#include "converter/split/least_patched.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

/// Checks the plan with the code that the device will use. Returns the bytes of its constants,
/// where equal ones count once and unread ones not at all.
Result<int64_t> CheckEmitted(const std::vector<uint8_t>& plan) {
  const AlignedBytes<kPlanAlignment> bytes(plan);
  const tenon::Result<PlanView> view = PlanView::Open({bytes.data(), bytes.size()});
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

const VariantChoice* VariantsFor(const ConvertOptions& options) {
  if (options.variants != nullptr) return options.variants.get();
  const Profile* profile = options.profile.get();
  const bool fits = profile != nullptr && CheckProfileFits(*profile, options.board).ok();
  return fits ? &profile->tuning : nullptr;
}

/// Returns the compile options completed from the board and its CPU.
CompileOptions CompileOptionsOf(const ConvertOptions& options) {
  CompileOptions compile = options.compile;
  compile.profile = options.profile.get();
  compile.laid_out = std::make_shared<LaidOutWeights>();
  // As tiles: elsewhere plans stay as they are.
  compile.arena.follow = options.board.architecture == "cortex-m";
  compile.arena.memo = std::make_shared<PlacementMemo>();
  compile.order.memo = std::make_shared<MemoryOrderMemo>();
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

/// Lets passes ask whether kernels would be as good or better with weights and biases stored in
/// another form.
void LetPassesAskKernels(const KernelChoiceOptions& kernels, PassContext& context) {
  context.why_worse_kernel = [&kernels](const Graph& graph, const Op& before, const Op& after) {
    return WhyWorseKernel(graph, before, after, kernels);
  };
  context.has_fast_kernel = [&kernels](const Graph& graph, const Op& op) {
    const KernelCaps* kernel = KernelFor(graph, op, kernels);
    return kernel != nullptr && !kernel->portable;
  };
  context.wants_folded_bias = [&kernels](const Graph& graph, const Op& op) {
    const KernelCaps* kernel = KernelFor(graph, op, kernels);
    return kernel != nullptr && kernel->wants_folded_bias;
  };
}

/// Records the chosen values in place of the requested ones.
void RecordChoice(const ParallelReport& report,
                  std::vector<std::pair<std::string, std::string>>& options) {
  if (report.choice.candidates.empty()) return;
  const auto record = [&](const char* name, std::string value) {
    std::erase_if(options, [&](const auto& option) { return option.first == name; });
    options.emplace_back(name, std::move(value));
  };
  record("parallel", ParallelModeName(report.choice.mode));
  if (report.replicas > 1) record("replicas", fmt::format("{}", report.replicas));
  if (report.threads_per_op > 1) record("threads_per_op", fmt::format("{}", report.threads_per_op));
  if (report.shard_rows > 0) record("shard_rows", fmt::format("{}", report.shard_rows));
}

}  // namespace

Status Canonicalise(Graph& graph, bool fuse, std::vector<PassReport>& reports, bool for_time) {
  PassContext context;
  context.for_time = for_time;
  context.fold = FoldTensors;
  TENON_RETURN_IF_ERROR(RunPhase(PassPhase::kClean, fuse, graph, context, reports));
  return RunPhase(PassPhase::kFuse, fuse, graph, context, reports);
}

namespace {

/// Runs everything before kernels are chosen. Quantization is judged on the same ops that run in
/// the end.
Status Prepare(Graph& graph, const ConvertOptions& options, PassContext& context,
               Conversion& conversion) {
  if (HasInt8Weights(graph)) graph.weights = DType::kI8;
  std::vector<PassReport>& passes = conversion.passes;
  TENON_RETURN_IF_ERROR(RunPhase(PassPhase::kAdapt, options.fuse, graph, context, passes));
  if (!options.quantize) return Canonicalise(graph, options.fuse, passes, context.for_time);
  if (!options.fuse) {
    return UsageError(
        "quantizing needs fusion: integer ops are made of the float ops between them");
  }
  TENON_RETURN_IF_ERROR(RunPhase(PassPhase::kClean, options.fuse, graph, context, passes));
  TENON_RETURN_IF_ERROR(RunPhase(PassPhase::kIntoWeights, options.fuse, graph, context, passes));
  QuantizeOptions quantize = *options.quantize;
  std::vector<PassReport> last;  // belongs to the graph that is kept, which is canonicalised last
  quantize.canonicalise = [&](Graph& trial) {
    last.clear();
    return Canonicalise(trial, options.fuse, last, context.for_time);
  };
  // What is quantized is one step: states come in and go out as they are.
  std::vector<Graph::State> states = std::exchange(graph.states, {});
  TENON_RETURN_IF_ERROR(AddStateSamples(graph, states, quantize.arrays));
  TENON_ASSIGN_OR_RETURN(conversion.quantization, QuantizeModel(graph, quantize));
  graph.states = std::move(states);
  passes.insert(passes.end(), last.begin(), last.end());
  return {};
}

bool WorksOnFloat(const Graph& graph, const Op& op) {
  return !op.inputs.empty() && op.inputs[0] != kNone &&
         graph.tensor(op.inputs[0]).dtype == DType::kF32;
}

/// Returns the executed ops that run elsewhere than on the accelerator, each with the last reason
/// against it. `only_unit`: what the whole model has to run on for lack of memory, or empty.
std::vector<OpBesideAccelerator> OpsBeside(const Compiled& compiled, const Unit& accelerator,
                                           const std::string& only_unit) {
  std::map<std::string, const MappedOp*> mapped;
  for (const MappedOp& op : compiled.mapping) mapped[op.op] = &op;
  std::vector<OpBesideAccelerator> ops;
  for (const OpId id : compiled.arena.steps) {
    const Op& op = compiled.graph.op(id);
    if (op.backend == accelerator.backend) continue;
    const std::string kind = GetOpRow(op.kind).name;
    OpBesideAccelerator entry{op.name, kind, op.backend, ""};
    const auto found = mapped.find(op.name);
    if (!only_unit.empty()) {
      entry.reason =
          fmt::format("within the memory limit the model is best on '{}' alone", only_unit);
    } else if (found == mapped.end()) {
      entry.reason =
          fmt::format("it moves a tensor for its neighbours, and '{}' has no kernel for {}",
                      accelerator.backend, kind);
    } else {
      for (const Candidate& candidate : found->second->candidates) {
        if (candidate.backend == accelerator.backend) entry.reason = candidate.reason;
      }
      if (entry.reason.empty()) entry.reason = "another unit was chosen for it";
      if (WorksOnFloat(compiled.graph, op)) {
        entry.reason += "; it works on f32, the accelerator on i8 and u8";
      }
    }
    ops.push_back(std::move(entry));
  }
  return ops;
}

/// Adds what no other patches could go below, where there are some, all by height, or tiles.
void ReportLeastPatched(const Graph& graph, const OutsideInputs& outside, Conversion& conversion) {
  const std::vector<SplitChain>& chains = conversion.chain_splits.chains;
  const bool by_height = std::all_of(chains.begin(), chains.end(), [](const SplitChain& chain) {
    return chain.dimension == SplitDimension::kHeight;
  });
  if (chains.empty() || !by_height) return;
  const bool into_tiles = std::any_of(chains.begin(), chains.end(), [](const SplitChain& chain) {
    return chain.patching.tiles > 1;
  });
  LeastPatched least =
      FindLeastPatched(graph, outside, into_tiles ? CutInto::kTiles : CutInto::kPatches);
  conversion.memory.least_patched = least.bytes;
  conversion.memory.least_patched_into_tiles = into_tiles;
  conversion.memory.least_patched_reason = std::move(least.reason);
}

/// Takes inputs that the caller keeps, or hands in, out of the memory that is planned.
Status TakeOutside(const ConvertOptions& options, Graph& graph, CompileOptions& compile,
                   Conversion& conversion) {
  if (options.input_from.empty()) return {};
  if (NeedsSchedule(options.board)) {
    return UsageError("--input-from is for boards on which one unit runs all ops, not for '{}'",
                      options.board.name);
  }
  TENON_ASSIGN_OR_RETURN(compile.arena.outside, TakeInputsOutside(graph, options.input_from));
  for (size_t i = 0; i < options.input_from.size(); ++i) {
    const InputFrom& from = options.input_from[i];
    const Tensor& tensor = graph.tensor(compile.arena.outside[i].tensor);
    conversion.outside.push_back({from.input, tensor.ByteSize(), from.rows});
    // Ops that start together have no order in which rows could be handed in.
    if (from.rows > 0) compile.branches.fuse = false;
  }
  return {};
}

EmitOptions EmitOptionsOf(const ConvertOptions& options, const ParallelReport& parallel) {
  const Board& board = options.board;
  EmitOptions emit;
  emit.board = board.name;
  emit.board_fingerprint = board.fingerprint;
  emit.memory_space = board.ArenaSpace()->name;
  emit.constants_space = ConstantsSpace(board).name;
  emit.section_alignment = board.ArenaSpace()->alignment_bytes;
  if (AcceleratorUnit(board) != nullptr) emit.arena_alignment = emit.section_alignment;
  emit.options = options.recorded;
  RecordChoice(parallel, emit.options);
  return emit;
}

/// Tells of the plan's ops where they run, and takes over what the searches have to tell.
void ReportPrograms(const ConvertOptions& options, ProgramsOfPlan made, Conversion& conversion) {
  Compiled& compiled = made.fitted.compiled;
  conversion.parallel = made.parallel.report;
  conversion.graph_text = PrintGraph(compiled.graph);
  conversion.ops_executed = compiled.arena.steps.size();
  for (const OpId id : compiled.arena.steps) {
    const Op& op = compiled.graph.op(id);
    ++conversion.ops_by_backend[op.backend];
    ++conversion.kinds_by_backend[op.backend][GetOpRow(op.kind).name];
  }
  if (const Unit* unit = AcceleratorUnit(options.board)) {
    conversion.not_accelerated = OpsBeside(compiled, *unit, made.fitted.only_unit);
  }
  conversion.passes.insert(conversion.passes.end(), compiled.passes.begin(), compiled.passes.end());
  compiled.memory.packed_bytes = PackedBytes(compiled.graph);
  compiled.time.ops = PredictSteps(options.board, options.profile.get(), compiled);
  static_cast<CompileReport&>(conversion) = std::move(compiled);
  conversion.op_splits = std::move(made.fitted.ops);
  conversion.chain_splits = std::move(made.fitted.chains);
  conversion.lean_kernels = made.fitted.lean;
  conversion.only_unit = std::move(made.fitted.only_unit);
  conversion.codes = std::move(made.codes);
}

/// The two forms of a model that are tried where memory counts.
enum class Form {
  kFast,  ///< with all passes
  kLean,  ///< without those that may need more memory, to be faster (ListedPass::for_time)
};

/// Sets `forms_differ` where the form matters to the graph.
Result<Conversion> ConvertForm(Graph graph, const ConvertOptions& options, Form form,
                               bool& forms_differ) {
  const auto progress = [&](const char* phase, int index) {
    if (options.progress) options.progress(phase, index, 4);
  };
  Conversion conversion;
  conversion.ops_imported = graph.OpOrder().size();
  progress(options.quantize ? "quantizing" : "fusing", 1);
  PassContext context;
  context.fold = FoldTensors;
  context.input_formats = options.input_formats;
  context.images_channels_last = options.model.extension() == ".tflite";
  context.weights_form = options.weights;
  context.for_time = form == Form::kFast;
  TENON_RETURN_IF_ERROR(
      ApplyOutputFormats(graph, options.output_formats, context.images_channels_last));
  TENON_RETURN_IF_ERROR(Prepare(graph, options, context, conversion));

  progress("splitting, ordering and placing", 2);
  CompileOptions compile = CompileOptionsOf(options);
  LetPassesAskKernels(compile.kernels, context);
  TENON_RETURN_IF_ERROR(
      RunPhase(PassPhase::kStore, options.fuse, graph, context, conversion.passes));
  forms_differ = HasPassesForTime(conversion.passes);
  conversion.weights = std::move(context.weights);
  TENON_RETURN_IF_ERROR(TakeOutside(options, graph, compile, conversion));
  if (options.progress) {
    compile.progress = [&](const char* what, double share) {
      options.progress(fmt::format("{} {:.0f}%", what, 100 * share), 2, 4);
    };
  }
  ProgramsOfPlan made;
  TENON_RETURN_IF_ERROR(
      MakePrograms(graph, options.board, options.split, options.parallel, compile, made));
  if (!options.input_from.empty() && made.programs.size() > 1) {
    return UsageError("--input-from is for plans of one program: leave out --parallel");
  }

  progress("writing", 3);
  TENON_RETURN_IF_ERROR(CheckTogether(made.programs, options.board));
  TENON_ASSIGN_OR_RETURN(conversion.plan,
                         EmitPlan(made.programs, EmitOptionsOf(options, made.parallel.report)));
  ReportPrograms(options, std::move(made), conversion);
  ReportLeastPatched(graph, compile.arena.outside, conversion);

  progress("checking", 4);
  TENON_ASSIGN_OR_RETURN(conversion.memory.constants_bytes, CheckEmitted(conversion.plan));
  return conversion;
}

/// What a search found too little memory for might have fitted with more time, and no limit is
/// known to be the smallest.
Error CutShort(Error error) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"the smallest limit that works", "the smallest limit that was found in time"},
      {"the smallest limits that work", "the smallest limits that were found in time"}};
  bool has_limit = false;
  for (std::string& line : error.details) {
    for (const auto& [whole, cut] : kWords) {
      if (!line.starts_with(whole)) continue;
      line.replace(0, whole.size(), cut);
      has_limit = true;
      break;
    }
  }
  error.details.push_back(
      fmt::format("the searches were cut short by the time limit: with more time {} may do",
                  has_limit ? "less memory" : "the limit"));
  return error;
}

/// What is offered is for the plan's first program: what the programs of a mode that was asked for
/// need more was not tried.
Error OnlyWithoutMode(Error error, ParallelMode asked) {
  if (asked == ParallelMode::kAuto || asked == ParallelMode::kIntra) return error;
  for (std::string& line : error.details) {
    if (!line.starts_with("the smallest limit")) continue;
    line = fmt::format("without --parallel={} {}", ParallelModeName(asked), line);
  }
  return error;
}

/// Returns whether the second form's conversion is the better one where memory counts: it fits and
/// the first does not, or needs fewer bytes; of two that do not fit, whether it offers a smaller
/// limit.
bool NeedsLess(const Result<Conversion>& second, const Result<Conversion>& first,
               const MemorySpace& space) {
  if (second.ok() != first.ok()) return second.ok();
  if (second.ok()) return second->memory.arena_bytes < first->memory.arena_bytes;
  if (!IsTooLarge(second.error())) return false;
  const int64_t offered = OfferedLimit(second.error(), space.name);
  return offered > 0 && offered < OfferedLimit(first.error(), space.name);
}

/// Converts the fast form, and the lean one where memory counts: where it is the objective, and
/// where the fast form does not fit. A most slowdown is one of the fast form.
Result<Conversion> ConvertWithin(const Graph& graph, const ConvertOptions& options) {
  bool forms_differ = false;
  Result<Conversion> fast = ConvertForm(graph, options, Form::kFast, forms_differ);
  const bool for_memory =
      options.compile.objective == Objective::kMemory && options.split.most_slowdown == 0;
  const bool memory_counts = fast.ok() ? for_memory : IsTooLarge(fast.error());
  if (!forms_differ || !memory_counts) return fast;
  Result<Conversion> lean = ConvertForm(graph, options, Form::kLean, forms_differ);
  return NeedsLess(lean, fast, *options.board.ArenaSpace()) ? std::move(lean) : std::move(fast);
}

}  // namespace

Result<Conversion> ConvertGraph(const Graph& graph, const ConvertOptions& options) {
  Result<Conversion> conversion = ConvertWithin(graph, options);
  if (options.relax_limit && !conversion.ok() && IsTooLarge(conversion.error())) {
    const auto convert = [&](const ConvertOptions& relaxed) {
      return ConvertWithin(graph, relaxed);
    };
    conversion = ConvertRelaxed(options, conversion.error(), convert);
  }
  const bool cut_short = options.compile.time_limit.Passed();
  if (conversion.ok()) {
    conversion->cut_short = cut_short;
    return conversion;
  }
  if (!IsTooLarge(conversion.error())) return conversion;
  Error error = cut_short ? CutShort(conversion.error()) : conversion.error();
  return OnlyWithoutMode(std::move(error), options.parallel.mode);
}

Result<Conversion> Convert(const ConvertOptions& options) {
  if (options.progress) options.progress("reading", 0, 4);
  std::vector<std::string> warnings;
  ImportOptions import = options.import;
  import.warnings = &warnings;
  std::vector<std::filesystem::path> files_read;
  import.files_read = &files_read;
  TENON_ASSIGN_OR_RETURN(Graph graph, ImportModel(options.model, import, FoldTensors));
  TENON_RETURN_IF_ERROR(TieStates(options.states, graph));
  TENON_ASSIGN_OR_RETURN(Conversion conversion, ConvertGraph(graph, options));
  conversion.warnings = std::move(warnings);
  conversion.files_read = std::move(files_read);
  return conversion;
}

}  // namespace tenon::converter
