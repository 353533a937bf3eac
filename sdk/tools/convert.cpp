// tenon convert: model to plan.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "converter/report/decisions.hpp"
#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/convert_options.hpp"
#include "sdk/tools/convert_outputs.hpp"
#include "sdk/tools/convert_summary.hpp"
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

void PrintMeasured(const std::vector<converter::MeasuredOrder>& orders, bool here) {
  for (size_t i = 0; i < orders.size(); ++i) {
    const converter::MeasuredOrder& order = orders[i];
    std::string name = converter::Name(order.mode);
    if (order.mode == converter::OrderMode::kRandom) name += fmt::format(", seed {}", order.seed);
    std::string result;
    if (!order.dropped.empty()) {
      result = "dropped: " + order.dropped;
    } else if (order.same_as) {
      result = fmt::format("the same plan as order {}", *order.same_as + 1);
    } else {
      result = fmt::format("{:.4f} ms {}, arena {} bytes{}", order.ms.value_or(0),
                           here ? "on this machine" : "on the target",
                           order.arena_bytes.value_or(0), order.chosen ? ", chosen" : "");
    }
    std::cout << fmt::format("measured: order {} ({}): {}\n", i + 1, name, result);
  }
}

MeasuredConversion ConvertOrMeasure(const ConvertCommand& options,
                                    const converter::ConvertOptions& convert) {
  if (options.order == "measured") {
    return ConvertMeasured(convert, ToMeasureOptions(options, convert.board));
  }
  converter::Result<converter::Conversion> conversion = converter::Convert(convert);
  if (!conversion.ok()) FailWith(conversion.error());
  return {std::move(*conversion), {}};
}

void Run(const ConvertCommand& options) {
  const auto start = Clock::now();
  const ConvertOutputs outputs = NameOutputs(options);
  converter::ConvertOptions convert = ToConvertOptions(options);
  Progress progress;
  if (!options.quiet) {
    convert.progress = [&](const std::string& phase, int index, int count) {
      progress.Show(phase, index, count);
    };
  }
  const MeasuredConversion made = ConvertOrMeasure(options, convert);
  progress.Clear();
  const converter::Conversion& conversion = made.conversion;
  WriteOutputs(outputs, conversion.plan);
  if (!options.json.empty()) {
    WriteFile(options.json, converter::DecisionsJson(conversion, made.candidates).dump(2) + "\n");
  }
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  if (options.quiet) return;
  PrintMeasured(made.candidates, options.measure.target.command.empty());
  PrintSummary(conversion, {options.plan, elapsed.count(), options.verbose});
}

}  // namespace

void AddConvert(CLI::App& app) {
  const auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = app.add_subcommand("convert", "Compiles a model into a plan for a board.");
  AddConvertOptions(*command, *options);
  command->callback([options] { Run(*options); });
}

}  // namespace tenon::tool
