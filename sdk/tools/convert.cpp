// tenon convert: model to plan.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "sdk/tools/convert_options.hpp"
#include "sdk/tools/convert_outputs.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/needed_options.hpp"
#include "sdk/tools/output_names.hpp"
#include "sdk/tools/report.hpp"
#include "sdk/tools/temporary_folder.hpp"
#include "sdk/tools/terminal_line.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

/// Runs candidates by the target's command. Their bytes are in files, so that big models are held
/// once.
class CommandTarget : public OrderTarget {
 public:
  explicit CommandTarget(TargetOptions options) : options_(std::move(options)) {}

  void Store(size_t candidate, const std::vector<uint8_t>& plan) override {
    files_[candidate] = folder_.Write(static_cast<int>(candidate), plan.data(), plan.size());
  }
  std::vector<uint8_t> Load(size_t candidate) override { return ReadFile(files_.at(candidate)); }
  [[nodiscard]] bool IsThisMachine() const override { return options_.command.empty(); }
  double MedianMs(size_t candidate, int threads) override {
    options_.threads = threads;
    return MeasureOnTarget(options_, files_.at(candidate)).median_ms;
  }

 private:
  TargetOptions options_;
  TemporaryFolder folder_;
  std::map<size_t, std::string> files_;
};

void PrintMeasured(const std::vector<MeasuredOrder>& orders, bool here) {
  for (size_t i = 0; i < orders.size(); ++i) {
    const MeasuredOrder& order = orders[i];
    std::string name = order.order;
    if (name == "random" || name == "proposed") name += fmt::format(", seed {}", order.seed);
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

ConvertedPlan Converted(const ConvertCommand& options) {
  ConvertRequest request = ToRequest(options);
  const bool record = options.decisions == "on" && options.emit == "plan";
  request.reports = options.verbose || !options.json.empty() || record;
  TerminalLine line(std::chrono::seconds(1));
  if (!options.quiet) {
    request.progress = [&](const std::string& phase, int index, int count) {
      line.Show(fmt::format("[{}/{}] {}", index, count, phase));
    };
  }
  std::optional<CommandTarget> target;
  if (options.order == "measured") request.measured.target = &target.emplace(options.target);
  ConvertOutcome converted = Convert(request);
  if (!converted) FailWith(converted.error());
  ConvertedPlan plan = *std::move(converted);
  if (record) {
    auto recorded = RecordDecisions(std::move(plan.bytes), plan.decisions_json);
    if (!recorded) FailWith(recorded.error());
    plan.bytes = *std::move(recorded);
  }
  return plan;
}

/// Which files a model's weights are in is known once it has been read.
void KeepFilesRead(const ConvertOutputs& outputs, const ConvertCommand& options,
                   const std::vector<std::string>& files_read) {
  for (const std::string& output :
       {outputs.plan, outputs.source, outputs.header, options.json, options.report}) {
    for (const std::string& file : files_read) {
      if (output.empty() || !IsSameFile(output, file)) continue;
      Fail(kUsage, "{} would be replaced: the model's weights are in it", output);
    }
  }
}

void Run(const ConvertCommand& options) {
  const auto start = Clock::now();
  if (!options.report.empty() && options.emit != "plan") {
    Fail(kUsage, "--report shows a plan: it needs --emit=plan");
  }
  const ConvertOutputs outputs = NameOutputs(options);
  const ConvertedPlan plan = Converted(options);
  KeepFilesRead(outputs, options, plan.files_read);
  std::string page;
  if (!options.report.empty()) page = ReportPage(plan.bytes, options.plan);
  WriteOutputs(outputs, plan.bytes, {{options.json, plan.decisions_json}, {options.report, page}});
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  if (options.quiet) return;
  PrintMeasured(plan.measured, options.target.command.empty());
  std::cout << fmt::format("{}: {} bytes, {} ops (of {} imported), in {:.2f} s\n", options.plan,
                           plan.bytes.size(), plan.ops_executed, plan.ops_imported, elapsed.count())
            << (options.verbose ? plan.details : plan.summary);
}

}  // namespace

void AddConvert(CLI::App& app) {
  const auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = app.add_subcommand("convert", "Compiles a model into a plan for a board.");
  AddConvertOptions(*command, *options);
  command->callback([command, options] {
    CheckNeededOptions(*command, *options);
    Run(*options);
  });
}

}  // namespace tenon::tool
