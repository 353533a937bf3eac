#include "tests/fuzz/differential/attempt.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <regex>

#include "converter/driver/pipeline.hpp"
#include "converter/driver/tie_states.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "tests/fuzz/differential/run_ways.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_board.hpp"
#include "tests/support/random_graph.hpp"

namespace tenon::test {
namespace {

using converter::Conversion;
using converter::ConvertOptions;
using converter::Graph;
using Arrays = std::vector<std::vector<std::byte>>;

constexpr size_t kSteps = 3;

/// Numbers of an output and the input that it is tied to, if any two have one type.
std::optional<std::pair<size_t, size_t>> TieOf(const Graph& graph, const Choices& choices) {
  if (!choices.tied) return std::nullopt;
  for (size_t output = 0; output < graph.outputs().size(); ++output) {
    for (size_t input = 0; input < graph.inputs().size(); ++input) {
      const converter::Tensor& from = graph.tensor(graph.outputs()[output].tensor);
      const converter::Tensor& to = graph.tensor(graph.inputs()[input].tensor);
      // A state is made in the run: an output that is an input itself is none.
      if (from.producer == converter::kNone) continue;
      if (from.dtype == to.dtype && from.shape == to.shape) return std::pair(output, input);
    }
  }
  return std::nullopt;
}

converter::Board BoardOf(const Choices& choices) {
  // Devices of random boards are OpenCL's, whose programs would take most of the time.
  if (choices.board == "random") return RandomBoard(choices.seed, /*with_opencl=*/false);
  return OptionsFor(choices.board).board;
}

ConvertOptions OptionsOf(const Choices& choices) {
  ConvertOptions options = OptionsFor();
  options.board = BoardOf(choices);
  for (converter::Unit& unit : options.board.units) {
    if (unit.backend == "cpu") unit.portable_kernels_only |= choices.portable;
  }
  options.fuse = choices.fuse;
  options.compile.aggregate = choices.aggregate;
  options.compile.fallback = choices.fallback;
  options.compile.order.mode = static_cast<converter::OrderMode>(choices.order);
  options.compile.order.seed = choices.seed;
  options.compile.order.key_nodes = choices.key_nodes;
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 2000;
  options.compile.objective = static_cast<converter::Objective>(choices.objective);
  if (choices.optimal_mapping) options.compile.mapping = converter::MappingMode::kOptimal;
  options.compile.branches.fuse = choices.branches;
  options.compile.branches.threads = choices.threads;
  if (choices.branches) options.compile.branches.region_us = 0;
  options.split.allowed = choices.splits;
  options.split.force_program = choices.force_program;
  options.split.work_budget = 100'000;
  options.parallel.threads = choices.threads;
  if (choices.way == Way::kPipeline) {
    options.parallel.mode = converter::ParallelMode::kPipeline;
    options.parallel.threads = 2;
  }
  if (choices.way == Way::kInter) {
    options.parallel.mode = converter::ParallelMode::kInter;
    options.parallel.threads = 2;
  }
  return options;
}

struct Attempt {
  const Choices& choices;
  Graph graph;
  Graph reference;  ///< what is evaluated: the same, or its integer ops
  std::optional<std::pair<size_t, size_t>> tie;
};

/// The limit that was chosen, of the arena that the plan has without one.
void LimitArena(const Conversion& whole, int percent, converter::Board& board) {
  converter::MemorySpace* space = board.FindSpace(whole.memory.space);
  int64_t bytes = whole.memory.arena_bytes * percent / 100;
  // Constants that lie in the same space are no matter of choice.
  if (space->holds_constants) bytes += whole.memory.constants_bytes + whole.memory.packed_bytes;
  space->bytes = std::max<int64_t>(bytes, 1);
  space->reserve_bytes = 0;
}

/// Raises limits to those that the refusal says would work.
void TakeClaims(const converter::Error& error, converter::Board& board) {
  static const std::regex claim("--memory-limit ([^ =]+)=([0-9]+)");
  for (const std::string& detail : error.details) {
    for (auto match = std::sregex_iterator(detail.begin(), detail.end(), claim);
         match != std::sregex_iterator(); ++match) {
      board.FindSpace((*match)[1].str())->bytes = std::stoll((*match)[2]);
    }
  }
}

/// What cannot be as chosen gives way as a user would: a limit to the one that the refusal names,
/// a parallel mode or a memory program that is not possible to the converter's own choice.
converter::Result<Conversion> ConvertAsChosen(const Attempt& attempt) {
  ConvertOptions options = OptionsOf(attempt.choices);
  Graph graph = attempt.graph;
  if (attempt.tie) {
    const auto& [output, input] = *attempt.tie;
    TENON_RETURN_IF_ERROR(
        converter::TieStates({{graph.outputs()[output].name, graph.inputs()[input].name}}, graph));
  }
  auto conversion = converter::ConvertGraph(graph, options);
  if (!conversion.ok() && conversion.error().kind == converter::ErrorKind::kUsage) {
    options.parallel.mode = converter::ParallelMode::kAuto;
    conversion = converter::ConvertGraph(graph, options);
  }
  if (!conversion.ok() || attempt.choices.limit_percent == 0) return conversion;
  LimitArena(*conversion, attempt.choices.limit_percent, options.board);
  conversion = converter::ConvertGraph(graph, options);
  if (conversion.ok() || conversion.error().kind == converter::ErrorKind::kInternal) {
    return conversion;
  }
  options.parallel.mode = converter::ParallelMode::kAuto;
  options.split.force_program = false;
  if (conversion.error().kind == converter::ErrorKind::kDoesNotFit) {
    TakeClaims(conversion.error(), options.board);
  }
  return converter::ConvertGraph(graph, options);
}

/// Bytes of all values where the graph computes with them.
Arrays InputsOf(const Attempt& attempt, uint64_t seed) {
  Arrays inputs = RandomInputs(attempt.graph, seed);
  if (!attempt.choices.quantized) return inputs;
  converter::SplitMix64 random(seed);
  for (auto& input : inputs) {
    for (std::byte& byte : input) byte = static_cast<std::byte>(random.Next());
  }
  return inputs;
}

/// A graph whose dequantize and quantize ops have become integer ops, which compute the same bits
/// wherever they run. False: some are left, between which floats are computed.
converter::Result<bool> FuseQuantized(Graph& graph) {
  std::vector<converter::PassReport> reports;
  TENON_RETURN_IF_ERROR(converter::Canonicalise(graph, /*fuse=*/true, reports));
  for (const converter::OpId id : graph.OpOrder()) {
    if (graph.op(id).kind == OpKind::kQuantize) return false;
  }
  return true;
}

/// Inputs of each step, and what the graph makes of them; the tied input is what was before.
struct Expected {
  std::vector<Arrays> inputs;
  std::vector<Evaluation> steps;
  std::string error;
};

Expected Evaluate(const Attempt& attempt, size_t steps) {
  Expected expected;
  std::vector<std::byte> state;
  for (size_t step = 0; step < steps; ++step) {
    Arrays inputs = InputsOf(attempt, attempt.choices.seed + step);
    if (attempt.tie) {
      std::vector<std::byte>& tied = inputs[attempt.tie->second];
      tied = step == 0 ? std::vector<std::byte>(tied.size()) : state;
    }
    expected.steps.push_back(EvaluateGraph(attempt.reference, inputs));
    expected.error = expected.steps.back().error;
    if (attempt.tie) {
      const converter::TensorId kept = attempt.reference.outputs()[attempt.tie->first].tensor;
      state = expected.steps.back().values.at(kept);
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(attempt.tie->second));
    }
    expected.inputs.push_back(std::move(inputs));
  }
  return expected;
}

/// What one output gets wrong, in words; empty if nothing.
std::string CompareOutput(DType dtype, const std::vector<std::byte>& got,
                          const std::vector<std::byte>& wanted, double tolerance) {
  if (wanted.size() != got.size()) return "another size";
  if (dtype != DType::kF32) return wanted == got ? "" : "other values";
  for (size_t at = 0; at < wanted.size(); at += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, got.data() + at, sizeof x);
    std::memcpy(&y, wanted.data() + at, sizeof y);
    if (std::isfinite(y) && !(std::abs(x - y) <= tolerance)) {
      return fmt::format("element {}: {} instead of {}", at / sizeof x, x, y);
    }
  }
  return "";
}

std::string Compare(const Attempt& attempt, const std::vector<Arrays>& got,
                    const Expected& expected) {
  if (got.size() != expected.steps.size()) return "another number of steps";
  for (size_t step = 0; step < got.size(); ++step) {
    // Fused ops round differently; nothing in these graphs magnifies a difference by much.
    const double tolerance = 1e-4 * std::max(1.0, expected.steps[step].largest);
    size_t port = 0;
    for (size_t i = 0; i < attempt.graph.outputs().size(); ++i) {
      if (attempt.tie && attempt.tie->first == i) continue;
      const converter::TensorId id = attempt.reference.outputs()[i].tensor;
      if (port >= got[step].size()) return "an output is missing";
      const std::string wrong = CompareOutput(attempt.reference.tensor(id).dtype, got[step][port++],
                                              expected.steps[step].values.at(id), tolerance);
      if (!wrong.empty()) return fmt::format("step {}, output {}: {}", step, i, wrong);
    }
  }
  return "";
}

}  // namespace

Outcome Try(const Choices& choices) {
  RandomGraphOptions random;
  random.most_ops = choices.most_ops;
  random.quantized = choices.quantized;
  Attempt attempt{choices, RandomGraph(choices.seed, random), {}, {}};
  attempt.reference = attempt.graph;
  attempt.tie = TieOf(attempt.graph, choices);
  Outcome outcome;
  outcome.graph = PrintGraph(attempt.graph);
  if (choices.quantized) {
    const auto fused = FuseQuantized(attempt.reference);
    if (!fused.ok()) {
      outcome.wrong = "fuse: " + fused.error().message;
      return outcome;
    }
    if (!*fused) {
      outcome.kind = "floats between";
      return outcome;
    }
  }
  const auto conversion = ConvertAsChosen(attempt);
  if (!conversion.ok()) {
    outcome.kind = "refused";
    outcome.wrong = "convert: " + conversion.error().message;
    return outcome;
  }
  const Expected expected = Evaluate(attempt, choices.way == Way::kOnce ? 1 : kSteps);
  if (!expected.error.empty()) {
    outcome.wrong = "evaluate: " + expected.error;
    return outcome;
  }
  const WayRun run = RunInWay(*conversion, choices, expected.inputs);
  outcome.kind = run.kind;
  outcome.wrong = run.error.empty() ? Compare(attempt, run.outputs, expected) : "run: " + run.error;
  if (!outcome.wrong.empty()) outcome.graph += "converted to\n" + conversion->graph_text;
  return outcome;
}

}  // namespace tenon::test
