// Limits never lie: the smallest limit that a refusal names converts and runs, so does every larger
// one, one byte less is refused, and nothing uses more than its limit. A sample of random graphs on
// random and built-in boards in every run; TENON_LIMITS=all makes it thousands, with real models.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "converter/driver/fit.hpp"
#include "converter/driver/import_model.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_board.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/converter/driver/conv_chain.hpp"

namespace tenon::converter {
namespace {

using Limits = std::map<std::string, int64_t>;

bool TestsAll() {
  const char* all = std::getenv("TENON_LIMITS");
  return all != nullptr && std::strcmp(all, "all") == 0;
}

/// Of the random graphs: TENON_LIMITS_FROM continues a sweep.
uint64_t FirstSeed() {
  const char* from = std::getenv("TENON_LIMITS_FROM");
  return from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
}

void SetLimits(const Limits& limits, Board& board) {
  for (const auto& [name, bytes] : limits) {
    board.FindSpace(name)->bytes = bytes;
    board.FindSpace(name)->reserve_bytes = 0;
  }
}

/// The limits that an error says would work.
Limits ClaimsOf(const Error& error) {
  static const std::regex claim("--memory-limit ([^ =]+)=([0-9]+)");
  Limits claims;
  for (const std::string& detail : error.details) {
    for (auto match = std::sregex_iterator(detail.begin(), detail.end(), claim);
         match != std::sregex_iterator(); ++match) {
      claims[(*match)[1]] = std::stoll((*match)[2]);
    }
  }
  return claims;
}

/// The bytes of each space that the plan itself says it uses: of its most demanding program, and of
/// its constants.
Limits UseOf(const std::vector<uint8_t>& plan) {
  std::vector<std::max_align_t> aligned(plan.size() / sizeof(std::max_align_t) + 1);
  std::memcpy(aligned.data(), plan.data(), plan.size());
  const auto view = PlanView::Open({reinterpret_cast<const uint8_t*>(aligned.data()), plan.size()});
  REQUIRE(view.ok());
  Limits use;
  for (size_t p = 0; p < view->program_count(); ++p) {
    Limits arenas;
    const ProgramView program = view->program(p);
    for (size_t a = 0; a < program.arena_count(); ++a) {
      const ArenaInfo arena = program.arena(a);
      arenas[view->space_name(arena.space)] += static_cast<int64_t>(ArenaBytes(arena));
    }
    for (const auto& [space, bytes] : arenas) use[space] = std::max(use[space], bytes);
  }
  for (size_t s = 0; s < view->section_count(); ++s) {
    const SectionInfo section = view->section(s);
    use[view->space_name(section.space)] += static_cast<int64_t>(section.bytes);
  }
  return use;
}

struct Tally {
  int refused = 0;
  int converted = 0;
  int ran = 0;
};

/// Checks one graph on one board from a limit of one byte upwards.
class LimitCheck {
 public:
  LimitCheck(const Graph& graph, ConvertOptions options, Tally& tally)
      : graph_(graph), options_(std::move(options)), tally_(tally) {}

  void Run(const std::string& space, bool runs) {
    space_ = space;
    const auto tiny = Convert({{space, 1}});
    if (tiny.ok()) return;
    CheckRefusal(tiny.error());
    const Limits claims = ClaimsOf(tiny.error());
    REQUIRE(claims.contains(space));
    const auto smallest = Convert(claims);
    if (!smallest.ok()) FAIL(smallest.error().message);
    if (runs) RunIt(*smallest);
    OneByteLess(claims);
    for (const double factor : {1.0, 1.01, 1.2, 1.5, 1.9, 2.6, 5.0}) {
      Limits larger = claims;
      larger[space] = static_cast<int64_t>(static_cast<double>(claims.at(space)) * factor) + 1;
      CAPTURE(larger[space]);
      const auto conversion = Convert(larger);
      if (!conversion.ok()) FAIL(conversion.error().message);
    }
  }

 private:
  Result<Conversion> Convert(const Limits& limits) {
    ConvertOptions options = options_;
    SetLimits(limits, options.board);
    auto conversion = ConvertGraph(graph_, options);
    if (!conversion.ok()) return conversion;
    ++tally_.converted;
    for (const auto& [space, bytes] : UseOf(conversion->plan)) {
      CAPTURE(space);
      CHECK(bytes <= options.board.FindSpace(space)->usable_bytes());
    }
    return conversion;
  }

  void OneByteLess(const Limits& claims) {
    for (const auto& [space, bytes] : claims) {
      CAPTURE(space);
      Limits less = claims;
      less[space] = bytes - 1;
      const auto refused = Convert(less);
      REQUIRE_FALSE(refused.ok());
      CheckRefusal(refused.error());
    }
  }

  void CheckRefusal(const Error& error) {
    ++tally_.refused;
    CAPTURE(error.message);
    REQUIRE(error.kind == ErrorKind::kDoesNotFit);
    static const std::regex says("the model needs [0-9]+ bytes of '[^']+', [0-9]+ are available");
    CHECK(std::regex_match(error.message, says));
    std::string details;
    for (const std::string& detail : error.details) details += detail + "\n";
    // An op is named unless no op's tensors are in that space, but constants alone.
    const bool names_op = details.find(" runs: ") != std::string::npos;
    CHECK((names_op || details.find("bytes of arenas") == std::string::npos));
  }

  void RunIt(const Conversion& conversion) {
    test::RunSettings settings;
    settings.portable = true;
    const test::RunResult run =
        test::RunPlan(conversion.plan, test::RandomInputs(graph_, 1), settings);
    CHECK(run.error == "");
    ++tally_.ran;
  }

  const Graph& graph_;
  const ConvertOptions options_;
  Tally& tally_;
  std::string space_;
};

/// Searches that find less, in a fraction of the time: limits must hold with any effort.
ConvertOptions WithLittleEffort(Board board) {
  ConvertOptions options = test::OptionsFor();
  options.board = std::move(board);
  options.compile.order.budget = 2000;
  options.compile.arena.place.work_budget = 2000;
  options.split.work_budget = 100'000;
  return options;
}

/// The space that holds constants where that is another than the arena's.
std::string OtherSpace(const Board& board) {
  for (const MemorySpace& space : board.memory_spaces) {
    if (space.holds_constants) return space.name;
  }
  return board.ArenaSpace()->name;
}

bool HasOpenCl(const Board& board) {
  for (const Unit& unit : board.units) {
    if (unit.backend == "opencl") return true;
  }
  return false;
}

TEST_CASE("Limits: on random boards what is named works, what is less is refused, more works too") {
  constexpr uint64_t kBoards = 20;
  const uint64_t graphs = TestsAll() ? 2000 : 40;
  Tally tally;
  std::vector<uint64_t> seeds(graphs);
  std::iota(seeds.begin(), seeds.end(), FirstSeed());
  if (!TestsAll())
    seeds.push_back(84);  // of which a part does not fit the unit that it is mapped to
  for (const uint64_t seed : seeds) {
    const Board board = test::RandomBoard(seed % kBoards + 1);
    CAPTURE(seed);
    CAPTURE(board.name);
    test::RandomGraphOptions shape;
    shape.most_ops = 12;
    const Graph graph = test::RandomGraph(seed, shape);
    // Programs of OpenCL devices are compiled while they run: a few are enough.
    const bool runs = !HasOpenCl(board) || seed % 50 == 0;
    LimitCheck check(graph, WithLittleEffort(board), tally);
    check.Run(board.ArenaSpace()->name, runs);
    if (seed % 3 == 0) check.Run(OtherSpace(board), false);
  }
  CHECK(tally.refused > static_cast<int>(graphs));
  CHECK(tally.converted > static_cast<int>(graphs) * 4);
  CHECK(tally.ran > static_cast<int>(graphs) / 4);
}

TEST_CASE("Limits: on the built-in boards what is named works, less is refused, more works too") {
  const uint64_t graphs = TestsAll() ? 60 : 1;
  Tally tally;
  for (const Board& board : BuiltInBoards()) {
    for (uint64_t seed = 1; seed <= graphs; ++seed) {
      CAPTURE(seed);
      CAPTURE(board.name);
      const Graph graph = test::RandomGraph(seed);
      LimitCheck(graph, WithLittleEffort(board), tally).Run(board.ArenaSpace()->name, false);
    }
    LimitCheck(Parsed(kChain), WithLittleEffort(board), tally).Run(board.ArenaSpace()->name, false);
  }
  CHECK(tally.refused > 20);
}

TEST_CASE("Limits: tensors of as many rows as a dimension can have are refused in words") {
  for (const char* dims : {"1073741824", "2147483647", "1,1,2147483647,1", "1,1,1,2147483647",
                           "1,1,1073741824,1", "2147483647,1,1,1"}) {
    CAPTURE(dims);
    const Graph graph = Parsed(
        fmt::format("input %x: f32[{}]\n%y = unary(%x) {{function=relu}}\noutput %y\n", dims));
    const auto board = LoadBoard("cortex-m7");
    REQUIRE(board.ok());
    const auto conversion = ConvertGraph(graph, WithLittleEffort(*board));
    REQUIRE_FALSE(conversion.ok());
    CHECK(conversion.error().kind == ErrorKind::kDoesNotFit);
  }
}

TEST_CASE("Limits: with more of the direct space no more of the arena's space is needed") {
  const uint64_t graphs = TestsAll() ? 100 : 4;
  int spread = 0;
  for (const char* name : {"cortex-m55", "cortex-m7"}) {
    const auto board = LoadBoard(name);
    REQUIRE(board.ok());
    for (uint64_t seed = 1; seed <= graphs; ++seed) {
      CAPTURE(name);
      CAPTURE(seed);
      const Graph graph = test::RandomGraph(seed);
      int64_t before = INT64_MAX;
      for (const int64_t direct : {0, 100, 1000, 5000, 20'000, 100'000, 1'000'000}) {
        CAPTURE(direct);
        ConvertOptions options = WithLittleEffort(*board);
        SetLimits({{board->ArenaSpace()->name, 1}, {board->DirectSpace()->name, direct}},
                  options.board);
        const auto tiny = ConvertGraph(graph, options);
        const int64_t needed = tiny.ok() ? 0 : ClaimsOf(tiny.error()).at(board->ArenaSpace()->name);
        CHECK(needed <= before);
        if (needed < before && before != INT64_MAX) ++spread;
        before = needed;
      }
    }
  }
  CHECK(spread > static_cast<int>(graphs));
}

constexpr const char* kModels[] = {
    "mnist_cnn/mnist.onnx",
    "mlperf_resnet8_cifar10/model_fp32.onnx",
    "mlperf_resnet8_cifar10/resnet8_int8.tflite",
    "mlperf_kws_dscnn/model_fp32.onnx",
    "mlperf_kws_dscnn/kws_int8.tflite",
    "mlperf_ad01_autoencoder/model_fp32.onnx",
    "kwt1_transformer/model.onnx",
    "squeezenet1.1/model_fp32.onnx",
    "shufflenet_v2_qlinear_int8/model.onnx",
    "ultraface_rfb320/model.onnx",
    "mobilenet_v2_224/model_ptq_uint8io.tflite",
    "fastestdet_352/model.onnx",
};

TEST_CASE("Limits: of real models what is named works, less is refused, more works too") {
  const size_t models = TestsAll() ? std::size(kModels) : 1;
  const uint64_t boards = TestsAll() ? 20 : 3;
  Tally tally;
  for (size_t m = 0; m < models; ++m) {
    const std::string model = kModels[m];
    const std::filesystem::path path = test::SharedPath("models/" + model);
    if (path.empty()) continue;
    auto graph = ImportModel(path, {}, FoldTensors);
    REQUIRE(graph.ok());
    std::vector<Board> all = BuiltInBoards();
    for (uint64_t seed = 1; seed <= boards; ++seed) all.push_back(test::RandomBoard(seed));
    for (const Board& board : all) {
      CAPTURE(model);
      CAPTURE(board.name);
      LimitCheck check(*graph, WithLittleEffort(board), tally);
      check.Run(board.ArenaSpace()->name, false);
    }
  }
  MESSAGE(tally.refused << " refusals, " << tally.converted << " conversions");
  CHECK(tally.refused > 0);
}

}  // namespace
}  // namespace tenon::converter
