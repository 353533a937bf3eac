// tenon place: solves one arena placement instance.
#include "converter/solve/place/place.hpp"

#include <chrono>
#include <iostream>
#include <memory>

#include "converter/solve/place/place_csv.hpp"
#include "sdk/tools/atomic_file.hpp"
#include "sdk/tools/converter_error.hpp"
#include "sdk/tools/read_file.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

struct Options {
  std::string csv;
  std::string limit;
  double time_limit = 0;
  std::string output;
};

void Place(const Options& options) {
  const std::vector<uint8_t> bytes = ReadFile(options.csv);
  const converter::Result<converter::BufferTable> table =
      converter::ParseBufferCsv({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!table.ok()) {
    Fail(kInputRefused, "{}: {}", options.csv, table.error().message);
  }
  converter::PlaceOptions place;
  if (!options.limit.empty()) place.limit = ParseBytes(options.limit, "--limit");
  // About half a minute without a clock: a placement asked for by itself may take its time.
  place.work_budget = 100'000'000;
  if (options.time_limit > 0) {
    place.time_limit_seconds = options.time_limit;
    place.work_budget = int64_t{1} << 40;
  }
  const auto start = std::chrono::steady_clock::now();
  const converter::Placement placement = converter::PlaceBuffers(table->buffers, place);
  if (placement.peak == INT64_MAX) {
    Fail(kInputRefused, "{}: the buffers take 2^63 bytes or more", options.csv);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::cout << fmt::format("buffers {}  peak {}  lower bound {}  {}  ({:.3f} s, {} nodes{})\n",
                           table->buffers.size(), placement.peak, placement.lower_bound,
                           placement.proven_optimal ? "proven optimal" : "not proven optimal",
                           elapsed.count(), placement.work,
                           placement.stopped_by_clock ? ", stopped by the clock" : "");
  if (!options.output.empty()) {
    WriteFile(options.output, converter::FormatPlacementCsv(*table, placement.offsets));
  }
  if (place.limit.has_value() && placement.peak > *place.limit) {
    Fail(kDoesNotFit, "the best placement found needs {} bytes, the limit is {} (lower bound {})",
         placement.peak, *place.limit, placement.lower_bound);
  }
}

}  // namespace

void AddPlace(CLI::App& app) {
  const auto options = std::make_shared<Options>();
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
