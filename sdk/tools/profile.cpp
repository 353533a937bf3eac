// tenon profile: measures what ops take on this machine, for the cost model of conversions.
#include "converter/profile/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "converter/driver/pipeline.hpp"
#include "converter/map/backends.hpp"
#include "converter/measure/profile_run.hpp"
#include "converter/measure/profile_sweep.hpp"
#include "converter/measure/tune.hpp"
#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

struct Options {
  std::string board;
  std::vector<std::string> models;
  std::string output;
  int64_t batch = 1;
  int iterations = 30;
  int threads = 1;
  std::string sweep = "on";
  std::string tuning = "on";
  bool priority_table = false;
  bool quiet = false;
};

/// The folder and name of a model: "squeezenet1.1/model_fp32".
std::string NameOf(const std::string& model) {
  const std::filesystem::path path = std::filesystem::weakly_canonical(model);
  return (path.parent_path().filename() / path.stem()).string();
}

/// The board, with a priority table that gives an op to `backend` wherever that can run it.
converter::Board Preferring(converter::Board board, const std::string& backend) {
  board.priorities.clear();
  for (const std::string& other : converter::BackendsOfUnits(board)) {
    board.priorities.push_back({other, "*", other == backend ? 1 : 2});
  }
  return board;
}

/// The board's backends that this build knows.
std::vector<std::string> BackendsToMeasure(const converter::Board& board) {
  const std::vector<BackendCaps> known = converter::BuiltInBackends();
  std::vector<std::string> backends = converter::BackendsOfUnits(board);
  const auto is_unknown = [&](const std::string& backend) {
    return converter::FindBackend(known, backend) == nullptr;
  };
  backends.erase(std::remove_if(backends.begin(), backends.end(), is_unknown), backends.end());
  return backends;
}

/// Which variants kernels are to run with. Null: those that kernels choose.
using Variants = std::shared_ptr<const converter::VariantChoice>;

converter::Conversion ConvertModel(converter::ConvertOptions convert, int64_t batch) {
  converter::Result<converter::Conversion> conversion = converter::Convert(convert);
  if (conversion.ok()) return std::move(*conversion);
  // A free first dimension wants a value; elsewhere the value is refused.
  convert.import.batch = batch;
  converter::Result<converter::Conversion> batched = converter::Convert(convert);
  if (!batched.ok()) FailWith(conversion.error());
  return std::move(*batched);
}

void AddModels(const converter::Board& board, const Options& options, const Variants& variants,
               std::vector<converter::PlanToProfile>& plans) {
  for (const std::string& model : options.models) {
    converter::ConvertOptions convert;
    convert.board = board;
    convert.model = model;
    convert.variants = variants;
    plans.push_back({NameOf(model), false, ConvertModel(std::move(convert), options.batch).plan});
  }
}

/// A network that does not fit the board is left out: there are others.
void AddSweep(const converter::Board& board, const Variants& variants,
              std::vector<converter::PlanToProfile>& plans) {
  converter::ConvertOptions convert;
  convert.board = board;
  convert.order = converter::OrderMode::kSource;
  convert.variants = variants;
  for (converter::SweepNetwork& network : converter::SweepNetworks()) {
    converter::Result<converter::Conversion> conversion =
        converter::ConvertGraph(std::move(network.graph), convert);
    if (conversion.ok()) {
      plans.push_back({network.name, true, std::move(conversion->plan)});
    } else if (conversion.error().kind != converter::ErrorKind::kDoesNotFit) {
      FailWith(conversion.error());
    }
  }
}

/// Shows whose turn it is on one line of a terminal, as long as it lives.
class Progress {
 public:
  explicit Progress(bool shows) : shows_(shows) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() {
    if (shows_) std::cerr << "\r\033[K" << std::flush;
  }
  [[nodiscard]] std::function<void(const std::string&, int, int)> For(std::string what) const {
    if (!shows_) return {};
    return [what = std::move(what)](const std::string& name, int index, int count) {
      std::cerr << fmt::format("\r\033[K[{} {}/{}] {}", what, index + 1, count, name) << std::flush;
    };
  }

 private:
  bool shows_;
};

bool BackendHasVariants(const std::string& backend) {
  const std::vector<BackendCaps> known = converter::BuiltInBackends();
  const Span<const KernelCaps> kernels = converter::FindBackend(known, backend)->kernels;
  return std::any_of(kernels.begin(), kernels.end(),
                     [](const KernelCaps& caps) { return caps.variants != nullptr; });
}

/// The fastest variants for the models' ops: of all, those that are faster than the default; then
/// of these, run beside the default once more, those that still are.
Variants TuneModels(const converter::Board& board, const Options& options, const Progress& progress,
                    converter::Tuning& winners) {
  std::vector<converter::PlanToProfile> plans;
  AddModels(board, options, std::make_shared<converter::Tuning>(), plans);
  const std::vector<converter::PlanToProfile> defaults = plans;
  for (size_t place = 0;; ++place) {
    std::vector<converter::PlanToProfile> varied;
    AddModels(board, options, std::make_shared<converter::VariantAt>(place), varied);
    if (std::none_of(varied.begin(), varied.end(), converter::HasVariants)) break;
    std::move(varied.begin(), varied.end(), std::back_inserter(plans));
  }
  converter::TuneOptions tune;
  tune.threads = options.threads;
  tune.iterations = 6;
  tune.progress = progress.For("tuning");
  converter::Result<converter::Tuning> fastest = converter::Tune(board, plans, tune);
  if (!fastest.ok()) FailWith(fastest.error());
  if (fastest->rows().empty()) return nullptr;
  plans = defaults;
  AddModels(board, options, std::make_shared<converter::Tuning>(std::move(*fastest)), plans);
  tune.iterations = 15;
  tune.rounds = 5;
  tune.progress = progress.For("checking variants");
  converter::Result<converter::Tuning> confirmed = converter::Tune(board, plans, tune);
  if (!confirmed.ok()) FailWith(confirmed.error());
  for (const converter::TunedOp& row : confirmed->rows()) winners.Add(row);
  return std::make_shared<converter::Tuning>(std::move(*confirmed));
}

void PrintSummary(const converter::Profile& profile, const Options& options) {
  double spread = 0;
  for (const converter::ProfileEntry& entry : profile.entries) spread += entry.durations.spread;
  spread /= std::max(1.0, static_cast<double>(profile.entries.size()));
  double error = 0;
  double samples = 0;
  for (const auto& [name, model] : profile.calibration.models) {
    if (!name.starts_with("cpu.")) continue;  // the coarse models of kinds
    error += model.error * static_cast<double>(model.samples);
    samples += static_cast<double>(model.samples);
  }
  std::cout << fmt::format("{}: {} ops of {} networks, {} thread(s), {}\n", options.output,
                           profile.entries.size(), profile.models.size(), profile.threads,
                           profile.machine.processor);
  std::cout << fmt::format(
      "spread of repeated runs {:.1f}%; mean error of the calibrated model {:.1f}%\n", 100 * spread,
      100 * error / std::max(samples, 1.0));
  if (!profile.tuning.rows().empty()) {
    std::cout << fmt::format("{} ops run faster with another variant of their kernel\n",
                             profile.tuning.rows().size());
  }
  if (spread > 0.25) {
    std::cerr << "tenon: warning: the machine was busy: profile it again when it is quiet\n";
  }
}

void MakeAndWrite(const Options& options) {
  const converter::Result<converter::Board> board = converter::LoadBoard(options.board);
  if (!board.ok()) FailWith(board.error());
  std::vector<converter::PlanToProfile> plans;
  const std::vector<std::string> backends = BackendsToMeasure(*board);
  if (options.priority_table && backends.size() < 2) {
    Fail(kUsage, "--priority-table ranks backends: board '{}' has but one that this build knows",
         board->name);
  }
  converter::ProfileOptions profile_options;
  const bool shows_progress = !options.quiet && isatty(STDERR_FILENO) != 0;
  std::optional<Progress> progress(shows_progress);
  for (const std::string& backend : backends) {
    const size_t first = plans.size();
    const converter::Board preferring = Preferring(*board, backend);
    Variants variants;
    if (options.tuning == "on" && !options.models.empty() && BackendHasVariants(backend)) {
      variants = TuneModels(preferring, options, *progress, profile_options.tuning);
    }
    AddModels(preferring, options, variants, plans);
    if (options.sweep == "on") AddSweep(preferring, variants, plans);
    if (backends.size() == 1) break;
    for (size_t i = first; i < plans.size(); ++i) plans[i].name += " on " + backend;
  }
  if (plans.empty()) Fail(kUsage, "nothing to measure: give --model MODEL, or --sweep on");
  profile_options.threads = options.threads;
  profile_options.iterations = options.iterations;
  profile_options.priority_table = options.priority_table;
  profile_options.progress = progress->For("measuring");
  const converter::Result<converter::Profile> profile =
      converter::MakeProfile(*board, plans, profile_options);
  progress.reset();
  if (!profile.ok()) FailWith(profile.error());
  WriteFile(options.output, converter::FormatProfile(*profile));
  if (!options.quiet) PrintSummary(*profile, options);
}

}  // namespace

void AddProfile(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "profile", "Measures ops on this machine, for the cost model of conversions.");
  command->add_option("--board", options->board, "The board that conversions will be for")
      ->required();
  command->add_option("--model", options->models, "Model whose ops to measure; any number of times")
      ->allow_extra_args(false);
  command->add_option("-o", options->output, "Profile to write (.json)")->required();
  command->add_option("--sweep", options->sweep, "Measure the built-in networks too")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command
      ->add_option("--tuning", options->tuning,
                   "Try the variants of kernels on the models' ops: conversions with this profile "
                   "use the fastest")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command->add_option("--iterations", options->iterations, "Runs of each network")
      ->check(AtLeast(1))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads that conversions will be for")
      ->check(AtLeast(1))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "Value of a free first dimension of the inputs")
      ->check(AtLeast(1))
      ->capture_default_str();
  command->add_flag("--priority-table", options->priority_table,
                    "Rank the board's backends for every kind of op: conversions with this profile "
                    "use that table instead of the board's");
  command->add_flag("-q", options->quiet, "Print nothing but errors");
  command->callback([options] { MakeAndWrite(*options); });
}

}  // namespace tenon::tool
