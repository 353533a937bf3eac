// tenon convert: model to plan.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "converter/report/decisions.hpp"
#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/convert_options.hpp"
#include "sdk/tools/converter_error.hpp"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// One line on a terminal, rewritten as phases go by; nothing until a second has passed.
class Progress {
 public:
  Progress() : start_(Clock::now()) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(const std::string& phase, int index, int count) {
    if (isatty(STDERR_FILENO) == 0 || Clock::now() - start_ < std::chrono::seconds(1)) return;
    std::cerr << fmt::format("\r\033[K[{}/{}] {}", index, count, phase) << std::flush;
    shown_ = true;
  }
  void Clear() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
    shown_ = false;
  }

 private:
  Clock::time_point start_;
  bool shown_ = false;
};

void PrintSummary(const converter::Conversion& conversion, const ConvertCommand& options,
                  double seconds) {
  const converter::MemoryReport& memory = conversion.memory;
  const double gap = memory.lower_bound == 0
                         ? 0.0
                         : 100.0 * static_cast<double>(memory.arena_bytes - memory.lower_bound) /
                               static_cast<double>(memory.lower_bound);
  std::cout << fmt::format("{}: {} bytes, {} ops (of {} imported), in {:.2f} s\n", options.plan,
                           conversion.plan.size(), conversion.ops_executed, conversion.ops_imported,
                           seconds);
  std::cout << fmt::format(
      "{}: arena {} bytes ({:.2f}% above the lower bound{}), constants {} "
      "bytes\n",
      memory.space, memory.arena_bytes, gap, memory.proven_optimal ? ", proven optimal" : "",
      memory.constants_bytes);
  if (conversion.order.changed) {
    std::cout << fmt::format("order: another than the model's, which needs {} bytes\n",
                             memory.source_order_bytes);
  }
  if (!options.verbose) return;
  for (const converter::PassReport& pass : conversion.passes) {
    std::cout << fmt::format("pass {}: {} changed, {} declined\n", pass.name, pass.changed,
                             pass.declined.size());
    for (const converter::Declined& entry : pass.declined) {
      std::cout << fmt::format("  {}: {}\n", entry.op, entry.reason);
    }
  }
  std::cout << conversion.graph_text;
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored) ||
         std::filesystem::weakly_canonical(a, ignored) ==
             std::filesystem::weakly_canonical(b, ignored);
}

/// One output must not replace another, nor the model.
void CheckOutputs(const ConvertCommand& options) {
  if (IsSameFile(options.plan, options.model)) {
    Fail(kUsage, "-o {} would replace the model", options.plan);
  }
  if (options.json.empty()) return;
  const bool is_device = std::filesystem::is_character_file(options.json);
  if (IsSameFile(options.json, options.model) ||
      (!is_device && IsSameFile(options.json, options.plan))) {
    Fail(kUsage, "--json {} would replace the model or the plan", options.json);
  }
}

void Run(const ConvertCommand& options) {
  const auto start = Clock::now();
  CheckOutputs(options);
  converter::ConvertOptions convert = ToConvertOptions(options);
  Progress progress;
  if (!options.quiet) {
    convert.progress = [&](const std::string& phase, int index, int count) {
      progress.Show(phase, index, count);
    };
  }
  const converter::Result<converter::Conversion> conversion = converter::Convert(convert);
  progress.Clear();
  if (!conversion.ok()) FailWith(conversion.error());
  WriteFile(options.plan, conversion->plan.data(), conversion->plan.size());
  if (!options.json.empty()) {
    WriteFile(options.json, converter::DecisionsJson(*conversion).dump(2) + "\n");
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  if (!options.quiet) PrintSummary(*conversion, options, elapsed.count());
}

}  // namespace

void AddConvert(CLI::App& app) {
  const auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = app.add_subcommand("convert", "Compiles a model into a plan for a board.");
  AddConvertOptions(*command, *options);
  command->callback([options] { Run(*options); });
}

}  // namespace tenon::tool
