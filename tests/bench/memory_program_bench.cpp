// Predicted time against the limit of the arena: for splitting, the memory program, and both.
//   memory_program_bench MODEL.onnx SHARE...
// SHARE: of what the model needs whole on one core of x86-64, in percent. Every plan runs, and its
// outputs are compared with those of the plan without a limit (largest difference over largest
// value).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

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

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    fmt::print(stderr, "memory_program_bench MODEL.onnx SHARE...\n");
    return 2;
  }
  ConvertOptions options = test::OptionsFor("x86-64");
  options.model = arguments[1];
  options.import.batch = 1;
  auto graph = ImportModel(options.model, options.import, FoldTensors);
  if (!graph.ok()) {
    fmt::print(stderr, "{}\n", graph.error().message);
    return 1;
  }
  const auto inputs = test::RandomInputs(*graph, 1);
  const auto whole = ConvertGraph(*graph, options);
  if (!whole.ok()) {
    fmt::print(stderr, "{}\n", whole.error().message);
    return 1;
  }
  const test::RunResult expected = test::RunPlan(whole->plan, inputs, {});
  const int64_t peak = whole->memory.arena_bytes;
  const auto time = static_cast<double>(whole->time.after);
  fmt::print("{}: {} bytes, {:.3f} ms\n", options.model.stem().string(), peak, time * 1e-9);
  fmt::print("| limit, % | way | arena | smaller | time | again | gap | seconds | difference |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (int i = 2; i < count; ++i) {
    const int64_t limit = peak * std::atoi(arguments[i]) / 100;
    for (const char* way : {"program", "split", "both"}) {
      ConvertOptions limited = options;
      MemorySpace* space = limited.board.FindSpace(limited.board.ArenaSpace()->name);
      space->bytes = limit + whole->memory.packed_bytes;
      space->reserve_bytes = 0;
      limited.split.allowed = way != std::string("program");
      limited.split.program = way != std::string("split");
      const auto start = std::chrono::steady_clock::now();
      const auto made = ConvertGraph(*graph, limited);
      const double seconds = SecondsSince(start);
      if (!made.ok()) {
        fmt::print("| {} | {} | refused | | | | | {:.1f} | |\n", arguments[i], way, seconds);
        continue;
      }
      const ProgramReport& program = made->program;
      const double gap = program.bound > 0 ? static_cast<double>(program.time - program.bound) /
                                                 static_cast<double>(program.bound)
                                           : 0;
      fmt::print("| {} | {} | {} | {:.2f} | {:.3f} | {} | {} | {:.1f} | {:.1e} |\n", arguments[i],
                 way, made->memory.arena_bytes,
                 static_cast<double>(peak) / static_cast<double>(made->memory.arena_bytes),
                 static_cast<double>(made->time.after) / time, program.repeated,
                 program.used && program.bound > 0 ? fmt::format("{:.1f} %", 100 * gap) : "-",
                 seconds, DifferenceOf(expected, test::RunPlan(made->plan, inputs, {})));
      std::fflush(stdout);
    }
  }
  return 0;
}
