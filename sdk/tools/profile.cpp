// tenon profile: measures what ops take on this machine, for the cost model of conversions.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

#include "sdk/tools/files.hpp"
#include "sdk/tools/self_test.hpp"
#include "sdk/tools/terminal_line.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/profiler.hpp"

namespace tenon::tool {
namespace {

struct ProfileOptions {
  ProfileRequest request;
  std::string output;
  std::string sweep = "on";
  std::string tuning = "on";
  bool quiet = false;
  bool self_test = false;
  std::string test_memory = "4M";
  SelfTestRequest test;
};

void PrintSummary(const MeasuredProfile& profile, const std::string& file) {
  std::cout << fmt::format("{}: {} ops of {} networks, {} thread(s), {}\n", file, profile.ops,
                           profile.networks, profile.threads, profile.processor);
  std::cout << fmt::format(
      "spread of repeated runs {:.1f}%; mean error of the calibrated model {:.1f}%\n",
      100 * profile.spread, 100 * profile.model_error);
  if (profile.tuned_ops > 0) {
    std::cout << fmt::format("{} ops run faster with another variant of their kernel\n",
                             profile.tuned_ops);
  }
  if (profile.spread > 0.25) {
    std::cerr << "tenon: warning: the machine was busy: profile it again when it is quiet\n";
  }
}

void MakeAndWrite(const ProfileOptions& options) {
  ProfileRequest request = options.request;
  request.sweep = options.sweep == "on";
  request.tuning = options.tuning == "on";
  TerminalLine line;
  if (!options.quiet) {
    request.progress = [&](const std::string& phase, const std::string& network, int index,
                           int count) {
      line.Show(fmt::format("[{} {}/{}] {}", phase, index + 1, count, network));
    };
  }
  const Outcome<MeasuredProfile> profile = MakeProfile(request);
  line.Clear();
  if (!profile) FailWith(profile.error());
  WriteFile(options.output, profile->json);
  if (!options.quiet) PrintSummary(*profile, options.output);
}

}  // namespace

void AddProfile(CLI::App& app) {
  const auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand(
      "profile", "Measures ops on this machine, for the cost model of conversions.");
  command->add_option("--board", options->request.board, "The board that conversions will be for")
      ->required();
  command
      ->add_option("--model", options->request.models,
                   "Model whose ops to measure; any number of times")
      ->allow_extra_args(false);
  command->add_option("-o", options->output, "Profile to write (.json)");
  command->add_option("--sweep", options->sweep, "Measure the built-in networks too")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command
      ->add_option("--tuning", options->tuning,
                   "Try the variants of kernels on the models' ops: conversions with this profile "
                   "use the fastest")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  command->add_option("--iterations", options->request.iterations, "Runs of each network")
      ->check(AtLeast(1))
      ->capture_default_str();
  command->add_option("--threads", options->request.threads, "Threads that conversions will be for")
      ->check(AtLeast(1))
      ->capture_default_str();
  command
      ->add_option("--batch", options->request.batch,
                   "Value of a free first dimension of the inputs")
      ->check(AtLeast(1))
      ->capture_default_str();
  command->add_flag("--priority-table", options->request.priority_table,
                    "Rank the board's backends for every kind of op: conversions with this profile "
                    "use that table instead of the board's");
  command->add_flag("--self-test", options->self_test,
                    "Instead of measuring: test the board's memory and bandwidth, and every op of "
                    "every backend against the portable kernels; -o writes what was found");
  command
      ->add_option("--backend", options->test.backends,
                   "With --self-test: the backend to test; any number of times, else all")
      ->allow_extra_args(false);
  command
      ->add_option("--test-memory", options->test_memory,
                   "With --self-test: bytes of memory to walk through (K, M or G)")
      ->capture_default_str();
  command->add_flag("-q", options->quiet, "Print nothing but errors");
  command->callback([options] {
    if (options->self_test) {
      options->test.board = options->request.board;
      options->test.memory_bytes =
          static_cast<size_t>(ParseBytes(options->test_memory, "--test-memory"));
      RunSelfTest(options->test, options->output, options->quiet);
      return;
    }
    if (options->output.empty()) Fail(kUsage, "-o is needed: the profile to write");
    MakeAndWrite(*options);
  });
}

}  // namespace tenon::tool
