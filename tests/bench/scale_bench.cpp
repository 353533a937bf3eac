// How long a conversion takes against the number of ops, by shape of graph and by phase: one line
// each, in seconds of one processor core. The last columns are for loading the plan (with its
// check) and for how far the arena is from the largest sum of live bytes.
// Usage: scale_bench [--least OPS] [--most OPS] [--board NAME] [--order source] [--save DIR]
// [SHAPE...]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/scale_model.hpp"

namespace tenon::test {
namespace {

struct Settings {
  int least = 100;
  int most = 100'000;
  std::string board = "x86-64";
  bool source_order = false;
  std::filesystem::path save;  ///< keeps models and plans there; empty: keeps nothing
  std::vector<std::string> shapes;
};

double Seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Processor time by phase, in order of their beginning.
class PhaseClock {
 public:
  void Begin(const std::string& phase) {
    End();
    phases_.emplace_back(phase, Seconds());
    running_ = true;
  }
  void End() {
    if (running_) phases_.back().second = Seconds() - phases_.back().second;
    running_ = false;
  }
  [[nodiscard]] std::string Text() const {
    std::string text;
    for (const auto& [name, seconds] : phases_) text += fmt::format(" {} {:.3f}", name, seconds);
    return text;
  }

 private:
  std::vector<std::pair<std::string, double>> phases_;
  bool running_ = false;
};

double PeakMegabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void Save(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
}

bool RunOne(size_t shape, int ops, const Settings& settings, const std::filesystem::path& folder) {
  const std::string name = fmt::format("{}_{}", kScaleShapeNames[shape], ops);
  const std::filesystem::path model = folder / (name + ".onnx");
  {
    const onnx::ModelProto proto = MakeScaleModel(static_cast<ScaleShape>(shape), ops);
    std::ofstream stream(model, std::ios::binary);
    if (!proto.SerializeToOstream(&stream)) return false;
  }
  converter::ConvertOptions options = OptionsFor(settings.board);
  options.model = model;
  if (settings.source_order) options.compile.order.mode = converter::OrderMode::kSource;
  PhaseClock clock;
  options.progress = [&](const std::string& phase, int, int) { clock.Begin(phase); };
  const double start = Seconds();
  const auto conversion = converter::Convert(options);
  const double seconds = Seconds() - start;
  clock.End();
  if (!conversion.ok()) {
    fmt::print("{:<18} {:>8.3f} s, error: {}\n", name, seconds, conversion.error().message);
    return false;
  }
  const double before = Seconds();
  const std::string error = LoadPlan(conversion->plan);
  const double load = Seconds() - before;
  const converter::MemoryReport& memory = conversion->memory;
  fmt::print("{:<18} {:>8.3f} {:>7.1f} {:>7.3f} {:>8} {:>10} {:>10} {:>10} {:>7.0f} {}{}\n", name,
             seconds, seconds * 1e6 / ops, load, conversion->ops_executed,
             memory.source_order_bytes, memory.arena_bytes, memory.lower_bound, PeakMegabytes(),
             clock.Text(), error);
  std::fflush(stdout);
  if (!settings.save.empty()) Save(folder / (name + ".tenon"), conversion->plan);
  return error.empty();
}

bool RunAll(const Settings& settings) {
  const std::filesystem::path folder =
      settings.save.empty() ? std::filesystem::temp_directory_path() : settings.save;
  bool worked = true;
  fmt::print("{:<18} {:>8} {:>7} {:>7} {:>8} {:>10} {:>10} {:>10} {:>7}  by phase\n", "graph",
             "seconds", "us/op", "load s", "executed", "source", "arena", "bound", "MiB");
  for (size_t shape = 0; shape < kScaleShapeNames.size(); ++shape) {
    const bool wanted =
        settings.shapes.empty() || std::find(settings.shapes.begin(), settings.shapes.end(),
                                             kScaleShapeNames[shape]) != settings.shapes.end();
    for (int ops = settings.least; wanted && ops <= settings.most; ops *= 10) {
      worked &= RunOne(shape, ops, settings, folder);
      if (!settings.save.empty()) continue;
      std::error_code ignored;
      std::filesystem::remove(folder / fmt::format("{}_{}.onnx", kScaleShapeNames[shape], ops),
                              ignored);
    }
  }
  return worked;
}

int Main(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0) {
      settings.shapes.push_back(argument);
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (argument == "--least") settings.least = std::max(std::atoi(value), 1);
    if (argument == "--most") settings.most = std::atoi(value);
    if (argument == "--board") settings.board = value;
    if (argument == "--order") settings.source_order = std::string(value) == "source";
    if (argument == "--save") settings.save = value;
  }
  return RunAll(settings) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace tenon::test

int main(int argc, char** argv) { return tenon::test::Main(argc, argv); }
