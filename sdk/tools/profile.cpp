// tenon profile: measures what ops take on this machine, for the cost model of conversions.
#include "converter/cost/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>

#include "converter/cost/profile_run.hpp"
#include "converter/cost/profile_sweep.hpp"
#include "converter/map/backends.hpp"
#include "converter/pipeline.hpp"
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

void AddModels(const converter::Board& board, const Options& options,
               std::vector<converter::PlanToProfile>& plans) {
  for (const std::string& model : options.models) {
    converter::ConvertOptions convert;
    convert.board = board;
    convert.model = model;
    converter::Result<converter::Conversion> conversion = converter::Convert(convert);
    if (!conversion.ok()) {
      // A free first dimension wants a value; elsewhere the value is refused.
      convert.import.batch = options.batch;
      converter::Result<converter::Conversion> batched = converter::Convert(convert);
      if (!batched.ok()) FailWith(conversion.error());
      conversion = std::move(batched);
    }
    plans.push_back({NameOf(model), false, conversion->plan});
  }
}

/// A network that does not fit the board is left out: there are others.
void AddSweep(const converter::Board& board, std::vector<converter::PlanToProfile>& plans) {
  converter::ConvertOptions convert;
  convert.board = board;
  convert.order = converter::OrderMode::kSource;
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
  for (const std::string& backend : backends) {
    const size_t first = plans.size();
    const converter::Board preferring = Preferring(*board, backend);
    AddModels(preferring, options, plans);
    if (options.sweep == "on") AddSweep(preferring, plans);
    if (backends.size() == 1) break;
    for (size_t i = first; i < plans.size(); ++i) plans[i].name += " on " + backend;
  }
  if (plans.empty()) Fail(kUsage, "nothing to measure: give --model MODEL, or --sweep on");
  converter::ProfileOptions profile_options;
  profile_options.threads = options.threads;
  profile_options.iterations = options.iterations;
  profile_options.priority_table = options.priority_table;
  const bool shows_progress = !options.quiet && isatty(STDERR_FILENO) != 0;
  if (shows_progress) {
    profile_options.progress = [](const std::string& name, int index, int count) {
      std::cerr << fmt::format("\r\033[K[{}/{}] {}", index + 1, count, name) << std::flush;
    };
  }
  const converter::Result<converter::Profile> profile =
      converter::MakeProfile(*board, plans, profile_options);
  if (shows_progress) std::cerr << "\r\033[K" << std::flush;
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
