#include "tests/fuzz/differential/attempt.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "converter/driver/pipeline.hpp"
#include "converter/driver/tie_states.hpp"
#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "tests/fuzz/differential/layers.hpp"
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

/// Numbers of an output and of the input that it is tied to.
struct Tie {
  size_t output;
  size_t input;
};

bool FitsTogether(const Graph& graph, const Tie& tie) {
  const converter::Tensor& from = graph.tensor(graph.outputs()[tie.output].tensor);
  const converter::Tensor& to = graph.tensor(graph.inputs()[tie.input].tensor);
  // A state is made in the run: an output that is an input itself is none.
  return from.producer != converter::kNone && from.dtype == to.dtype && from.shape == to.shape;
}

bool IsIn(const std::vector<Tie>& ties, const Tie& tie) {
  return std::any_of(ties.begin(), ties.end(), [&](const Tie& other) {
    return other.output == tie.output || other.input == tie.input;
  });
}

/// Up to three, the last inputs first: states of layers.
std::vector<Tie> TiesOf(const Graph& graph, const Choices& choices) {
  constexpr size_t kMost = 3;
  std::vector<Tie> ties;
  for (size_t i = graph.inputs().size(); choices.tied && i-- > 0 && ties.size() < kMost;) {
    for (size_t output = 0; output < graph.outputs().size(); ++output) {
      const Tie tie = {output, i};
      if (FitsTogether(graph, tie) && !IsIn(ties, tie)) ties.push_back(tie);
    }
  }
  return ties;
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
  Graph reference;        ///< what is evaluated: the same, or its integer ops
  std::vector<Tie> ties;  ///< by descending input
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
  std::vector<std::pair<std::string, std::string>> names;
  for (const Tie& tie : attempt.ties) {
    names.emplace_back(graph.outputs()[tie.output].name, graph.inputs()[tie.input].name);
  }
  TENON_RETURN_IF_ERROR(converter::TieStates(names, graph));
  auto conversion = converter::ConvertGraph(graph, options);
  if (!conversion.ok() && conversion.error().kind != converter::ErrorKind::kInternal) {
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

/// Inputs of each step, and what the graph makes of them; tied inputs are what was before.
struct Expected {
  std::vector<Arrays> inputs;
  std::vector<Evaluation> steps;
  std::string error;
};

Expected Evaluate(const Attempt& attempt, size_t steps) {
  Expected expected;
  for (size_t step = 0; step < steps; ++step) {
    Arrays inputs = InputsOf(attempt, attempt.choices.seed + step);
    for (const Tie& tie : attempt.ties) {
      std::vector<std::byte>& tied = inputs[tie.input];
      const converter::TensorId kept = attempt.reference.outputs()[tie.output].tensor;
      tied =
          step == 0 ? std::vector<std::byte>(tied.size()) : expected.steps.back().values.at(kept);
    }
    expected.steps.push_back(EvaluateGraph(attempt.reference, inputs));
    expected.error = expected.steps.back().error;
    if (!expected.error.empty()) return expected;
    for (const Tie& tie : attempt.ties) {
      inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(tie.input));
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
      const auto is_it = [&](const Tie& tie) { return tie.output == i; };
      if (std::any_of(attempt.ties.begin(), attempt.ties.end(), is_it)) continue;
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
  if (choices.layers) AddLayers(choices.seed, attempt.graph);
  attempt.reference = attempt.graph;
  attempt.ties = TiesOf(attempt.graph, choices);
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
