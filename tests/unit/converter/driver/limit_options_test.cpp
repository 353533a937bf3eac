// Limits never lie, whatever else is asked for: networks of images and random graphs with states,
// with memory programs, objectives, rows that are handed in, on boards of all kinds. What a refusal
// names works with the same options, so does more, which never gives a slower program; a limit that
// is relaxed ends in a plan, and the values stay those of the plan without a limit.
// TENON_LIMITS=all makes the sample thousands.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "converter/driver/refusal.hpp"
#include "converter/ir/elements.hpp"
#include "tests/support/random_board.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"
#include "tests/unit/converter/split/chain_testing.hpp"

namespace tenon::converter {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15U + 5) {}
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(random_.Next() % static_cast<uint64_t>(count));
  }
  bool Chance(int percent) { return Below(100) < percent; }

 private:
  SplitMix64 random_;
};

/// Ties an output to an input of the same type and shape, where there are some.
void TieOne(Graph& graph) {
  for (const Graph::Port& input : graph.inputs()) {
    for (const Graph::Port& output : graph.outputs()) {
      const Tensor& from = graph.tensor(output.tensor);
      const Tensor& to = graph.tensor(input.tensor);
      if (from.producer == kNone || from.dtype != to.dtype || !(from.shape == to.shape)) continue;
      CHECK(TieStates({{output.name, input.name}}, graph).ok());
      return;
    }
  }
}

/// Lets the image be delivered with its channels last, as rows can be handed in.
void TurnInput(Graph& graph) {
  const TensorId x = graph.inputs()[0].tensor;
  const Shape& shape = graph.tensor(x).shape;
  const int32_t dims[] = {shape[0], shape[2], shape[3], shape[1]};
  const Shape last(dims, 4);
  const TensorId delivered = graph.AddTensor("delivered", DType::kF32, last);
  const std::vector<OpId> readers = graph.Consumers(x);
  const auto turn = graph.InsertOp(readers.front(), OpKind::kTranspose, "turned", {delivered},
                                   Attributes(TransposeAttributes{4, {0, 3, 1, 2}}), {"turned"});
  REQUIRE(turn.ok());
  for (const OpId reader : readers) {
    for (size_t i = 0; i < graph.op(reader).inputs.size(); ++i) {
      if (graph.op(reader).inputs[i] == x) graph.SetInput(reader, i, graph.op(*turn).outputs[0]);
    }
  }
  graph.SetPortTensor(/*output=*/false, 0, delivered);
  REQUIRE(Verify(graph).ok());
}

struct Case {
  Graph graph;
  ConvertOptions options;
  std::string words;
};

Board BoardOf(Dice& dice, uint64_t seed, std::string& words) {
  constexpr const char* kBoards[] = {"x86-64",     "cortex-m55", "cortex-m7", "cortex-m4",
                                     "cortex-m33", "npu-3unit",  "rk3588"};
  if (dice.Chance(20)) {
    words += " random board";
    return test::RandomBoard(seed, /*with_opencl=*/false);
  }
  const char* name = kBoards[dice.Below(std::size(kBoards))];
  words += fmt::format(" {}", name);
  return std::move(*LoadBoard(name));
}

Case Draw(uint64_t seed) {
  Dice dice(seed);
  Case made;
  const bool network = dice.Chance(70);
  bool rows = false;
  if (network) {
    made.graph = test::RandomNetwork(seed).Make(static_cast<int>(3 + dice.Below(14)), 1);
    rows = dice.Chance(30);
    if (rows) TurnInput(made.graph);
  } else {
    test::RandomGraphOptions shape;
    shape.quantized = dice.Chance(30);
    made.graph = test::RandomGraph(seed, shape);
  }
  made.words = fmt::format("seed {} {}", seed, network ? "network" : "graph");
  if (!rows && dice.Chance(30)) TieOne(made.graph);
  ConvertOptions& options = made.options;
  options = test::OptionsFor();
  options.board = BoardOf(dice, seed, made.words);
  for (Unit& unit : options.board.units) {
    if (unit.backend == "cpu") unit.portable_kernels_only = true;
  }
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 2000;
  options.split.work_budget = 100'000;
  if (rows) {
    const auto count = static_cast<int32_t>(dice.Below(6));
    options.input_from = {{"x", count}};
    made.words += fmt::format(" from {}", count);
  }
  if (dice.Chance(25)) options.compile.objective = Objective::kMemory;
  options.split.allowed = dice.Chance(85);
  options.split.program = dice.Chance(70);
  options.split.force_program = options.split.program && dice.Chance(30);
  options.compile.branches.fuse = dice.Chance(60);
  options.compile.branches.region_us = dice.Chance(50) ? 0 : options.compile.branches.region_us;
  options.fuse = dice.Chance(85);
  if (dice.Chance(15)) options.compile.order.mode = OrderMode::kSource;
  if (dice.Chance(15)) options.weights = WeightsForm::kInt8;
  made.words += fmt::format(
      " objective {} split {} program {} force {} branches {} fuse {} order {} weights {}",
      static_cast<int>(options.compile.objective), options.split.allowed, options.split.program,
      options.split.force_program, options.compile.branches.fuse, options.fuse,
      static_cast<int>(options.compile.order.mode), static_cast<int>(options.weights));
  return made;
}

struct Tally {
  int usage = 0;
  int refused = 0;
  int converted = 0;
  int ran = 0;
};

class LimitCheck {
 public:
  LimitCheck(const Case& tried, uint64_t seed, Tally& tally)
      : case_(tried), inputs_(test::RandomInputs(tried.graph, seed)), tally_(tally), dice_(seed) {}

  void Run() {
    space_ = case_.options.board.ArenaSpace()->name;
    const Result<Conversion> whole = ConvertGraph(case_.graph, case_.options);
    if (!whole.ok()) {
      CHECK_MESSAGE(whole.error().kind != ErrorKind::kInternal, whole.error().message);
      ++tally_.usage;
      return;
    }
    for (const Graph::State& state : case_.graph.states) DropInput(state.input);
    expected_ = OutputsOf(*whole);
    const Result<Conversion> tiny = At(1);
    if (tiny.ok()) return;
    const int64_t stated = Claim(tiny.error());
    if (stated == 0) return;
    ++tally_.refused;
    const int64_t span = std::max<int64_t>(BytesOf(*whole) - stated, 64);
    std::vector<int64_t> limits = {stated, stated + 1, stated + span};
    for (int i = 0; i < 3; ++i) limits.push_back(stated + dice_.Below(span + span / 8 + 1));
    std::sort(limits.begin(), limits.end());
    for (const int64_t limit : limits) {
      CAPTURE(limit);
      const Result<Conversion> made = At(limit);
      if (!made.ok()) FAIL_CHECK(made.error().message);
      if (!made.ok()) continue;
      CheckValues(*made);
      CheckNotWorse(*made);
    }
    Relax(stated);
  }

 private:
  /// Compares with what smaller limits gave, within which that is still possible.
  void CheckNotWorse(const Conversion& made) {
    if (case_.options.compile.objective == Objective::kMemory) {
      int64_t bytes = BytesOf(made);
      for (const ArenaBeside& beside : made.memory.beside) bytes += beside.bytes;
      CHECK_MESSAGE(bytes <= smallest_, "larger than " << smallest_ << " with a smaller limit");
      smallest_ = std::min(smallest_, bytes);
      return;
    }
    if (case_.options.split.force_program) return;  // even where other ways are faster
    const Picoseconds time = made.time.after;
    const double ratio = static_cast<double>(time) / static_cast<double>(fastest_);
    CHECK_MESSAGE(time <= fastest_ + fastest_ / 16,
                  ratio << " times as slow as with a smaller limit");
    fastest_ = std::min(fastest_, time);
  }

  void DropInput(const std::string& name) {
    for (size_t i = 0; i < case_.graph.inputs().size(); ++i) {
      if (case_.graph.inputs()[i].name != name) continue;
      inputs_.erase(inputs_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  /// Returns the bytes of the arena's space that a plan needs.
  int64_t BytesOf(const Conversion& made) const {
    const MemoryReport& memory = made.memory;
    const bool has_constants = case_.options.board.FindSpace(space_)->holds_constants;
    return memory.arena_bytes + memory.packed_bytes + (has_constants ? memory.constants_bytes : 0);
  }

  Result<Conversion> At(int64_t limit, bool relax = false) {
    ConvertOptions options = case_.options;
    options.relax_limit = relax;
    options.split.limit_asked = true;
    MemorySpace& space = *options.board.FindSpace(space_);
    space.bytes = limit;
    space.reserve_bytes = 0;
    Result<Conversion> made = ConvertGraph(case_.graph, options);
    tally_.converted += made.ok() ? 1 : 0;
    return made;
  }

  int64_t Claim(const Error& error) {
    CHECK_MESSAGE(error.kind == ErrorKind::kDoesNotFit, error.message);
    for (const std::string& line : error.details) {
      const auto limits = LimitsIn(line);
      if (limits.size() == 1 && limits.contains(space_)) return limits.at(space_);
      if (!limits.empty()) return 0;
    }
    FAIL_CHECK("no limit is named: " << error.message);
    return 0;
  }

  void Relax(int64_t stated) {
    const Result<Conversion> made = At(1 + dice_.Below(stated), /*relax=*/true);
    if (!made.ok()) FAIL_CHECK("relaxed: " << made.error().message);
    if (made.ok()) CheckValues(*made);
  }

  Arrays OutputsOf(const Conversion& conversion) {
    test::RunSettings settings;
    settings.portable = true;
    const test::RunResult run = test::RunPlan(conversion.plan, inputs_, settings);
    CHECK(run.error == "");
    return run.outputs;
  }

  void CheckValues(const Conversion& conversion) {
    const Arrays got = OutputsOf(conversion);
    REQUIRE(got.size() == expected_.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (got[i] == expected_[i]) continue;
      CHECK_MESSAGE(test::RelativeDifference(got[i], expected_[i]) < 1e-4, "output " << i);
    }
    ++tally_.ran;
  }

  const Case& case_;
  Arrays inputs_;
  Arrays expected_;
  Tally& tally_;
  Dice dice_;
  std::string space_;
  Picoseconds fastest_ = INT64_MAX / 2;  ///< so far, with smaller limits
  int64_t smallest_ = INT64_MAX;         ///< likewise, of all spaces
};

TEST_CASE("Limits: with random options what is named works, more works too, with the same values") {
  const char* all = std::getenv("TENON_LIMITS");
  const bool tests_all = all != nullptr && std::strcmp(all, "all") == 0;
  const uint64_t first = FromEnvironment("TENON_LIMITS_FROM", 1);
  const uint64_t count = FromEnvironment("TENON_LIMITS_COUNT", tests_all ? 2000 : 20);
  Tally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Case tried = Draw(seed);
    CAPTURE(tried.words);
    LimitCheck(tried, seed, tally).Run();
  }
  MESSAGE(tally.refused << " refusals, " << tally.converted << " conversions, " << tally.usage
                        << " not possible");
  CHECK(tally.refused > static_cast<int>(count) / 2);
}

}  // namespace
}  // namespace tenon::converter
