// Places the buffers of every CSV file given and prints one line per file; the seconds are of one
// processor core.
// Usage: place_bench [--limit BYTES] [--work UNITS] [--time-limit SECONDS] [--seed N] FILE...
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "converter/solve/place/place.hpp"
#include "converter/solve/place/place_csv.hpp"

namespace tenon::converter {
namespace {

int RunFile(const std::string& path, const PlaceOptions& options) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return EXIT_FAILURE;
  }
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const Result<BufferTable> table = ParseBufferCsv(text);
  if (!table.ok()) {
    fmt::print(stderr, "{}: {}\n", path, table.error().message);
    return EXIT_FAILURE;
  }
  const std::clock_t start = std::clock();
  const Placement placement = PlaceBuffers(table->buffers, options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const bool valid = IsValidPlacement(table->buffers, placement.offsets);
  fmt::print("{:<28} {:>7} {:>11} {:>11} {:>8} {:>10} {:>8.3f}{}\n",
             std::filesystem::path(path).filename().string(), table->buffers.size(),
             placement.lower_bound, placement.peak, placement.proven_optimal ? "optimal" : "-",
             placement.work, seconds, valid ? "" : "  INVALID");
  std::fflush(stdout);
  return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

int Main(int argc, char** argv) {
  PlaceOptions options;
  int status = EXIT_SUCCESS;
  fmt::print("{:<28} {:>7} {:>11} {:>11} {:>8} {:>10} {:>8}\n", "instance", "buffers",
             "lower bound", "peak", "proof", "work", "seconds");
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) != 0) {
      if (RunFile(argument, options) != EXIT_SUCCESS) status = EXIT_FAILURE;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (argument == "--limit") options.limit = std::strtoll(value, nullptr, 10);
    if (argument == "--work") options.work_budget = std::strtoll(value, nullptr, 10);
    if (argument == "--time-limit") options.time_limit_seconds = std::strtod(value, nullptr);
    if (argument == "--seed") options.seed = std::strtoull(value, nullptr, 10);
  }
  return status;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
