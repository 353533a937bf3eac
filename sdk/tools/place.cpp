// tenon place: solves one arena placement instance.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "sdk/tools/files.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {
namespace {

struct PlaceOptions {
  std::string csv;
  std::string limit;
  double time_limit = 0;
  std::string output;
};

void Place(const PlaceOptions& options) {
  const std::vector<uint8_t> bytes = ReadFile(options.csv);
  PlaceRequest request;
  request.csv = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  if (!options.limit.empty()) request.limit = ParseBytes(options.limit, "--limit");
  if (options.time_limit > 0) request.time_limit_seconds = options.time_limit;
  const auto start = std::chrono::steady_clock::now();
  const Outcome<PlacedBuffers> placed = PlaceBuffers(request);
  if (!placed) FailWith(placed.error(), options.csv);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format("buffers {}  peak {}  lower bound {}  {}  ({:.3f} s, {} nodes{})\n",
                           placed->buffers, placed->peak, placed->lower_bound,
                           placed->proven_optimal ? "proven optimal" : "not proven optimal",
                           elapsed.count(), placed->work,
                           placed->stopped_by_clock ? ", stopped by the clock" : "");
  if (!options.output.empty()) WriteFile(options.output, placed->csv);
  if (request.limit && placed->peak > *request.limit) {
    Fail(kDoesNotFit, "the best placement found needs {} bytes, the limit is {} (lower bound {})",
         placed->peak, *request.limit, placed->lower_bound);
  }
}

}  // namespace

void AddPlace(CLI::App& app) {
  const auto options = std::make_shared<PlaceOptions>();
  CLI::App* command = app.add_subcommand(
      "place", "Solves one arena placement instance (columns id, lower, upper, size).");
  command->add_option("BUFFERS", options->csv, "CSV file; 'upper' is exclusive")->required();
  command->add_option("--limit", options->limit,
                      "Stop at the first placement within BYTES (K,M,G)");
  command->add_option("--time-limit", options->time_limit, "Stop after so many seconds")
      ->check(AtLeast(0));
  command->add_option("-o", options->output, "Write the table with an 'offset' column there");
  command->callback([options] { Place(*options); });
}

}  // namespace tenon::tool
