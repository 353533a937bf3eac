// Predicted time against the limit of the arena: for the memory program, splitting, and both.
//   memory_program_bench [--board NAME] [--psram BYTES_PER_SECOND] [--profile FILE] MODEL.onnx
//     SHARE...
// SHARE: of the arena that the model needs whole on the board (x86-64 unless named), in percent.
// Kernels that pack less leave the arena more: limits are lowered until the arena itself keeps to
// its share. "program":
// whole ops, and a memory program wherever they do not fit. --psram: the board's direct space
// becomes 64 MiB behind a bus of that rate. Every plan runs, and its outputs are compared with
// those of the plan without a limit (largest difference over largest value).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "converter/driver/import_model.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "tests/support/convert_and_run.hpp"

namespace {

using namespace tenon;
using namespace tenon::converter;

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the largest difference of f32 outputs over the largest value; 1 if they cannot be
/// compared.
double DifferenceOf(const test::RunResult& a, const test::RunResult& b) {
  if (!a.error.empty() || !b.error.empty() || a.outputs.size() != b.outputs.size()) return 1;
  double most = 0;
  double largest = 1e-30;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    for (size_t k = 0; k + sizeof(float) <= a.outputs[i].size(); k += sizeof(float)) {
      float x = 0;
      float y = 0;
      std::memcpy(&x, a.outputs[i].data() + k, sizeof x);
      std::memcpy(&y, b.outputs[i].data() + k, sizeof y);
      most = std::max(most, static_cast<double>(std::abs(x - y)));
      largest = std::max(largest, static_cast<double>(std::abs(x)));
    }
  }
  return most / largest;
}

struct Arguments {
  std::string board = "x86-64";
  double psram = 0;  ///< bytes per second; 0: the board's own direct space
  std::string profile;
  std::string model;
  std::vector<int64_t> shares;
};

Arguments ReadArguments(int count, char** arguments) {
  Arguments read;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char* value = i + 1 < count ? arguments[i + 1] : "";
    if (argument == "--board") {
      read.board = value;
      ++i;
    } else if (argument == "--psram") {
      read.psram = std::atof(value);
      ++i;
    } else if (argument == "--profile") {
      read.profile = value;
      ++i;
    } else if (read.model.empty()) {
      read.model = argument;
    } else {
      read.shares.push_back(std::atoll(argument.c_str()));
    }
  }
  return read;
}

/// Ends the program with a message if the profile cannot be read.
ConvertOptions OptionsOf(const Arguments& arguments) {
  ConvertOptions options = test::OptionsFor(arguments.board);
  options.model = arguments.model;
  options.import.batch = 1;
  for (MemorySpace& space : options.board.memory_spaces) {
    if (arguments.psram <= 0 || !space.direct) continue;
    space.bytes = int64_t{64} << 20;
    space.reserve_bytes = 0;
    space.bandwidth_bytes_per_second = arguments.psram;
  }
  if (!arguments.profile.empty()) {
    auto profile = LoadProfile(arguments.profile);
    if (!profile.ok()) {
      fmt::print(stderr, "{}\n", profile.error().message);
      std::exit(1);
    }
    options.profile = std::make_shared<const Profile>(std::move(*profile));
  }
  return options;
}

class Curve {
 public:
  Curve(const Graph& graph, const ConvertOptions& options)
      : graph_(graph), options_(options), inputs_(test::RandomInputs(graph, 1)) {}

  bool Start() {
    ConvertOptions unlimited = options_;
    SetLimit(int64_t{1} << 40, unlimited);
    auto whole = ConvertGraph(graph_, unlimited);
    if (!whole.ok()) {
      fmt::print(stderr, "{}\n", whole.error().message);
      return false;
    }
    whole_ = std::move(*whole);
    expected_ = test::RunPlan(whole_.plan, inputs_, {});
    const MemoryReport& memory = whole_.memory;
    fmt::print("{} on {}: {} bytes, {:.3f} ms\n", options_.model.stem().string(),
               options_.board.name, memory.arena_bytes, Milliseconds(whole_.time.after));
    if (memory.largest_op_bytes > 0) {
      fmt::print("largest op '{}': {} bytes, so whole ops need at least 1/{:.2f}\n",
                 memory.largest_op, memory.largest_op_bytes, Smaller(memory.largest_op_bytes));
    }
    fmt::print("| limit, % | way | arena | smaller | time | again | moves | gap | s | differs |\n");
    fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    return true;
  }

  void Point(int64_t share, const std::string& way) {
    ConvertOptions limited = options_;
    const int64_t arena = whole_.memory.arena_bytes * share / 100;
    int64_t limit = arena + whole_.memory.packed_bytes;
    limited.split.allowed = way != "program";
    limited.split.program = way != "split";
    limited.split.force_program = way == "program";
    const auto start = std::chrono::steady_clock::now();
    SetLimit(limit, limited);
    auto made = ConvertGraph(graph_, limited);
    for (int tries = 0; tries < kMostTries && made.ok() && made->memory.arena_bytes > arena;
         ++tries) {
      limit = std::min(limit - 1, arena + made->memory.packed_bytes);
      SetLimit(limit, limited);
      made = ConvertGraph(graph_, limited);
    }
    if (made.ok() && made->memory.arena_bytes > arena) {
      made = Error{ErrorKind::kDoesNotFit, "the arena keeps to no such share", {}};
    }
    const double seconds = SecondsSince(start);
    if (!made.ok()) {
      fmt::print("| {} | {} | refused | | | | | | {:.1f} | |\n", share, way, seconds);
    } else {
      PrintPoint(share, way, *made, seconds);
    }
    std::fflush(stdout);
  }

 private:
  static constexpr int kMostTries = 8;

  static double Milliseconds(Picoseconds time) { return static_cast<double>(time) * 1e-9; }

  [[nodiscard]] double Smaller(int64_t bytes) const {
    return static_cast<double>(whole_.memory.arena_bytes) / static_cast<double>(bytes);
  }

  static void SetLimit(int64_t bytes, ConvertOptions& options) {
    MemorySpace* space = options.board.FindSpace(options.board.ArenaSpace()->name);
    space->bytes = bytes;
    space->reserve_bytes = 0;
  }

  void PrintPoint(int64_t share, const std::string& way, const Conversion& made,
                  double seconds) const {
    const ProgramReport& program = made.program;
    std::string gap = "-";
    if (program.used && program.bound > 0) {
      gap = fmt::format("{:.1f} %", 100 * static_cast<double>(program.time - program.bound) /
                                        static_cast<double>(program.bound));
    }
    fmt::print("| {} | {} | {} | {:.2f} | {:.3f} | {} | {} | {} | {:.1f} | {:.1e} |\n", share, way,
               made.memory.arena_bytes, Smaller(made.memory.arena_bytes),
               static_cast<double>(made.time.after) / static_cast<double>(whole_.time.after),
               program.repeated, program.moves, gap, seconds,
               DifferenceOf(expected_, test::RunPlan(made.plan, inputs_, {})));
  }

  const Graph& graph_;
  const ConvertOptions& options_;
  const std::vector<std::vector<std::byte>> inputs_;
  Conversion whole_;
  test::RunResult expected_;
};

}  // namespace

int main(int count, char** arguments) {
  const Arguments read = ReadArguments(count, arguments);
  if (read.shares.empty()) {
    fmt::print(stderr,
               "memory_program_bench [--board NAME] [--psram RATE] [--profile FILE] MODEL.onnx "
               "SHARE...\n");
    return 2;
  }
  const ConvertOptions options = OptionsOf(read);
  const auto graph = ImportModel(options.model, options.import, FoldTensors);
  if (!graph.ok()) {
    fmt::print(stderr, "{}\n", graph.error().message);
    return 1;
  }
  Curve curve(*graph, options);
  if (!curve.Start()) return 1;
  for (const int64_t share : read.shares) {
    for (const char* way : {"program", "split", "both"}) curve.Point(share, way);
  }
  return 0;
}
