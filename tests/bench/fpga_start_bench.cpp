// What a start of the FPGA backend costs the host, on the simulated board with a kernel that does
// next to nothing: XRT, our driver and the board's scheduler, without a card's driver and bus.
//   TENON_BINARY_DIR=build/host build/host/bin/fpga_start_bench [STARTS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/unit/backends/fpga/loopback_board.hpp"

namespace {

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT
using Clock = std::chrono::steady_clock;

/// Microseconds of each of `count` calls, sorted.
template <typename Call>
std::vector<double> Measure(int count, const Call& call) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto begin = Clock::now();
    call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

void Print(const char* what, const std::vector<double>& times) {
  std::printf("%-44s median %7.2f us, least %7.2f, 99%% below %7.2f\n", what,
              times[times.size() / 2], times.front(), times[times.size() * 99 / 100]);
}

void Check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", Words(status).c_str());
  std::exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  const int starts = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2000;
  Rig rig(4096);
  if (!rig.failure().empty()) {
    std::fprintf(stderr, "%s\n", rig.failure().c_str());
    return 5;
  }
  Check(rig.Load(LoopbackCode(1)));
  rig.Fill(1);
  for (int i = 0; i < 100; ++i) Check(rig.Run());
  const uint64_t clocks = CountOf("clocks");
  Print("segment: 2 KiB in, start, wait, 2 KiB out", Measure(starts, [&] { Check(rig.Run()); }));
  Print("segment without the copy in",
        Measure(starts, [&] { Check(rig.Run(10'000'000'000U, /*uploads=*/false)); }));
  std::vector<double> enqueue;
  for (int i = 0; i < starts; ++i) {
    void* event = nullptr;
    const auto one = Measure(1, [&] { Check(rig.Enqueue(&event, /*uploads=*/false)); });
    enqueue.push_back(one.front());
    Check(rig.Wait(event));
  }
  std::sort(enqueue.begin(), enqueue.end());
  Print("of it the start itself, before the wait", enqueue);
  std::printf("clocks simulated per start: %.0f\n",
              static_cast<double>(CountOf("clocks") - clocks) / (3.0 * starts));
}
