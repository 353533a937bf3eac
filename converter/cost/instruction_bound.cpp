#include "converter/cost/instruction_bound.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/cost/instruction_terms.hpp"
#include "runtime/base/span.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

struct Term {
  std::string_view name;
  double instructions = 0;
};

/// What each unit of a model's terms takes at most.
struct Model {
  static constexpr size_t kMostTerms = 48;
  std::string_view name;
  Term terms[kMostTerms];
};

#define TENON_INSTRUCTIONS(name, ...) {name, {__VA_ARGS__}},
constexpr Model kHeliumModels[] = {
#include "converter/cost/instructions_helium.inc"
};
constexpr Model kDspModels[] = {
#include "converter/cost/instructions_dsp.inc"
};
#undef TENON_INSTRUCTIONS

/// No processor with these kernels runs more instructions in one inference, and sums over all ops
/// of a plan stay in range.
constexpr double kMostCounted = 1e12;

/// Returns none if the table lacks one of the terms, and for more than kMostCounted.
std::optional<int64_t> MostOf(Span<const Model> table, const CostTerms& terms) {
  const auto* const model = std::find_if(
      table.begin(), table.end(), [&](const Model& entry) { return entry.name == terms.model; });
  if (model == table.end()) return std::nullopt;
  double most = 0;
  for (const CostTerm& term : terms.terms) {
    const auto* const row =
        std::find_if(std::begin(model->terms), std::end(model->terms),
                     [&](const Term& entry) { return entry.name == term.name; });
    if (row == std::end(model->terms)) return std::nullopt;
    most += row->instructions * term.amount;
  }
  if (!(most <= kMostCounted)) return std::nullopt;
  return static_cast<int64_t>(std::ceil(most));
}

/// Returns the table of the set of kernels that the plan has; empty if it has neither.
Span<const Model> TableOf(const PlanView& plan, const ProgramView& program) {
  for (size_t i = 0; i < program.op_count(); ++i) {
    const std::string_view kernel = plan.kernel(program.op(i).kernel);
    if (kernel.find(".helium") != std::string_view::npos) return kHeliumModels;
    if (kernel.find(".dsp") != std::string_view::npos) return kDspModels;
  }
  return {};
}

constexpr int64_t kWord = 4;

KernelCallFacts FactsOf(const Op& op, const Locations& locations) {
  KernelCallFacts facts;
  facts.workspace_bytes = static_cast<size_t>(op.workspace_bytes);
  const auto is_aligned = [&](TensorId id) {
    return id == kNone || locations.at(id).offset % kWord == 0;
  };
  facts.has_aligned_words =
      !op.inputs.empty() && is_aligned(op.inputs[0]) && is_aligned(op.outputs[0]);
  return facts;
}

KernelCallFacts FactsOf(const ProgramView& program, const OpInfo& op) {
  KernelCallFacts facts;
  if (op.workspace >= 0) {
    const TensorInfo workspace = program.tensor(static_cast<size_t>(op.workspace));
    facts.workspace_bytes = 1;
    for (const int32_t dim : workspace.dims) facts.workspace_bytes *= static_cast<size_t>(dim);
  }
  const auto is_aligned = [&](int32_t id) {
    if (id < 0) return true;
    const TensorInfo tensor = program.tensor(static_cast<size_t>(id));
    return (program.storage(tensor.storage).offset + tensor.offset) % kWord == 0;
  };
  facts.has_aligned_words =
      op.inputs.size() > 0 && is_aligned(op.inputs[0]) && is_aligned(op.outputs[0]);
  return facts;
}

/// Whether the kernel would run the op. A plan from elsewhere may name any kernel for any op with
/// any attributes and workspace: what is counted of those would not end, or read what is not there.
bool Runs(const ProfileOperands& operands, const KernelCallFacts& facts) {
  constexpr int64_t kMostElements = int64_t{1} << 26;  // more than a microcontroller holds
  const cpu::KernelCaps* const caps = cpu::CapsNamed(operands.kernel().c_str());
  if (caps == nullptr || caps->kind != operands.kind()) return false;
  const OpCall& call = operands.call();
  if (!CheckOpCall(GetOpRow(operands.kind()), call).ok()) return false;
  const int64_t elements = call.Output().Elements();
  if (elements == 0) return true;
  if (elements > kMostElements || caps->supports(call) != nullptr) return false;
  size_t least = 0;
  if (caps->least_workspace_bytes != nullptr) {
    least = caps->least_workspace_bytes(call);
  } else if (caps->workspace_bytes != nullptr) {
    least = caps->workspace_bytes(call, 1);
  }
  return facts.workspace_bytes >= least;
}

/// What keeping the states takes after a run: MoveBytes (runtime/engine/plan_memory.hpp) copies
/// blocks, each in 5 instructions with Helium and in 13 on Cortex-M7.
std::optional<int64_t> MostForStates(const ProgramView& program, bool has_helium) {
  constexpr int64_t kPerState = 120;
  constexpr int64_t kBlock = 16;
  constexpr int64_t kPerByte = 6;
  const int64_t per_block = has_helium ? 6 : 15;
  double most = 0;
  for (size_t i = 0; i < program.state_count(); ++i) {
    const TensorInfo written = program.tensor(program.state(i).write);
    const auto bytes =
        static_cast<int64_t>(program.storage(written.storage).bytes - written.offset);
    most += static_cast<double>(kPerState + kPerByte * (bytes % kBlock));
    const int64_t blocks = bytes / kBlock;
    most += static_cast<double>(per_block) * static_cast<double>(blocks);
  }
  if (most > kMostCounted) return std::nullopt;
  return static_cast<int64_t>(most);
}

}  // namespace

std::optional<InstructionBound> BoundInstructions(const PlanView& plan,
                                                  const ProgramView& program) {
  const Span<const Model> table = TableOf(plan, program);
  if (table.size() == 0) return std::nullopt;
  InstructionBound bound;
  CostTerms run;
  run.model = "run";
  run.Add("start", 1);
  bound.most = MostOf(table, run);
  const std::optional<int64_t> states = MostForStates(program, table.data() == kHeliumModels);
  bound.most = bound.most && states ? std::optional(*bound.most + *states) : std::nullopt;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const ProfileOperands operands(plan, program, i);
    InstructionBound::Op& op = bound.ops.emplace_back();
    const KernelCallFacts facts = FactsOf(program, program.op(i));
    if (Runs(operands, facts)) op.terms = InstructionTerms(operands, facts);
    if (op.terms) op.most = MostOf(table, *op.terms);
    if (!op.most) {
      bound.most.reset();
      const std::string name = op.terms ? op.terms->model : operands.kernel();
      if (std::find(bound.unknown.begin(), bound.unknown.end(), name) == bound.unknown.end()) {
        bound.unknown.push_back(name);
      }
    } else if (bound.most) {
      *bound.most += *op.most;
    }
  }
  return bound;
}

std::optional<InstructionBound> BoundInstructions(const std::vector<uint8_t>& plan) {
  const auto view = PlanView::Open({plan.data(), plan.size()}, /*skip_section_crc=*/true);
  if (!view.ok() || view->program_count() == 0) return std::nullopt;
  return BoundInstructions(*view, view->program(0));
}

std::optional<int64_t> BoundInstructions(const Graph& graph, const Op& op,
                                         const Locations& locations,
                                         const std::string& kernel_set) {
  Span<const Model> table;
  if (kernel_set == "helium") table = kHeliumModels;
  if (kernel_set == "dsp") table = kDspModels;
  if (table.size() == 0) return std::nullopt;
  const ProfileOperands operands(graph, op, &locations);
  const auto terms = InstructionTerms(operands, FactsOf(op, locations));
  return terms ? MostOf(table, *terms) : std::nullopt;
}

std::string Describe(const InstructionBound& bound) {
  if (bound.most) return fmt::format("at most {}", *bound.most);
  return fmt::format("no bound is known for {}", fmt::join(bound.unknown, ", "));
}

}  // namespace tenon::converter
