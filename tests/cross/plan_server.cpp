// Runs the plans that come in on standard input (see plan_messages.hpp) until it ends, and says
// at the end how many there were.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/plan_messages.hpp"
#include "tests/support/run_plan.hpp"

int main() {
  using namespace tenon::test;
  size_t plans = 0;
  uint64_t portable = 0;
  while (ReadNumber(stdin, portable)) {
    uint64_t threads = 1;
    uint64_t bound = 0;
    std::vector<uint8_t> plan;
    std::vector<std::vector<std::byte>> inputs;
    if (!ReadNumber(stdin, threads) || !ReadNumber(stdin, bound) || !ReadBlock(stdin, plan) ||
        !ReadBlocks(stdin, inputs)) {
      std::fputs("plan_server: a request that ends early\n", stderr);
      return 1;
    }
    RunSettings settings;
    settings.portable = portable != 0;
    settings.threads = static_cast<int>(threads);
    settings.bound = bound != 0;
    const RunResult result = RunPlan(plan, inputs, settings);
    const std::vector<char> error(result.error.begin(), result.error.end());
    if (!WriteBlock(stdout, error) || !WriteBlocks(stdout, result.outputs) ||
        std::fflush(stdout) != 0) {
      return 1;
    }
    ++plans;
  }
  std::fprintf(stderr, "plan_server: %zu plans\n", plans);
  return 0;
}
