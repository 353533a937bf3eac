// The order search on DAG files and on generated networks: one line each; the seconds are of one
// processor core. A construction order is compared with the order found.
// Usage: order_bench [--work N] [--seed N] [FILE.dag.json...]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>

#include "converter/solve/order/memory_order.hpp"
#include "tests/unit/converter/solve/order/dag_problems.hpp"

namespace tenon::converter {
namespace {

bool Run(const std::string& name, const MemoryProblem& problem, const MemoryOrderOptions& options) {
  const std::clock_t start = std::clock();
  const MemoryOrder found = FindMemoryOrder(problem, options);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  const bool valid = IsOrder(problem, found.order) && PeakOf(problem, found.order) == found.peak;
  const auto kib = [](int64_t bytes) { return static_cast<double>(bytes) / 1024.0; };
  fmt::print("{:<22} {:>6} {:>5} {:>12.2f} {:>12.2f} {:>12.2f} {:>7} {:>10} {:>8.3f}{}\n", name,
             problem.nodes.size(), found.subgraphs.size(), kib(found.source_peak), kib(found.peak),
             kib(found.lower_bound), found.exact ? "optimal" : "-", found.expanded, seconds,
             valid ? "" : "  INVALID");
  std::fflush(stdout);
  return valid;
}

int Main(int argc, char** argv) {
  MemoryOrderOptions options;
  bool valid = true;
  fmt::print("{:<22} {:>6} {:>5} {:>12} {:>12} {:>12} {:>7} {:>10} {:>8}\n", "graph", "nodes",
             "parts", "source KiB", "found KiB", "bound KiB", "proof", "expanded", "seconds");
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) == 0) {
      const char* value = i + 1 < argc ? argv[++i] : "";
      if (argument == "--work") options.work_budget = std::strtoll(value, nullptr, 10);
      if (argument == "--seed") options.seed = std::strtoull(value, nullptr, 10);
      continue;
    }
    const auto problem = ReadDagProblem(argument);
    if (!problem.has_value()) {
      fmt::print(stderr, "{}: cannot be read\n", argument);
      return EXIT_FAILURE;
    }
    const std::string name = std::filesystem::path(argument).stem().stem().string();
    valid &= Run(name, *problem, options);
  }
  valid &= Run("NASNet-A, 2 cells", NasnetProblem(2), options);
  valid &= Run("NASNet-A, 6 cells", NasnetProblem(6), options);
  valid &= Run("DARTS, 4 cells", DartsProblem(4), options);
  valid &= Run("DARTS, 12 cells", DartsProblem(12), options);
  valid &= Run("DenseNet-121", DensenetProblem({6, 12, 24, 16}), options);
  valid &= Run("DenseNet-264", DensenetProblem({6, 12, 64, 48}), options);
  return valid ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace tenon::converter

int main(int argc, char** argv) { return tenon::converter::Main(argc, argv); }
