#include "backends/cpu/cpu_backend.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

TEST_CASE("CPU backend: kernels and capabilities are the same list in the same order") {
  const KernelList kernels = CpuBackend().kernels;
  REQUIRE(kernels.size() == Kernels().size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    CHECK(std::string(kernels[i].id) == Kernels()[i].id);
    CHECK(kernels[i].row->kind == Kernels()[i].kind);
  }
}

TEST_CASE("CPU backend: ids are unique and name the op that they run") {
  std::set<std::string> seen;
  for (const KernelEntry& kernel : CpuBackend().kernels) {
    CAPTURE(kernel.id);
    CHECK(seen.insert(kernel.id).second);
    CHECK(std::string(kernel.id).find(std::string("cpu.") + kernel.row->name + ".") == 0);
  }
}

TEST_CASE("CPU backend: every op's last kernel is the portable one, but for those in place") {
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const KernelCaps* last = nullptr;
    for (const KernelCaps& caps : Kernels()) {
      if (static_cast<int>(caps.kind) == kind && caps.in_place_inputs == 0) last = &caps;
    }
    CAPTURE(kind);
    REQUIRE(last != nullptr);
    CHECK(IsPortable(*last));
  }
}

TEST_CASE("CPU backend: the portable backend has exactly the portable kernels") {
  size_t portable = 0;
  size_t in_place = 0;
  for (const KernelCaps& caps : Kernels()) {
    portable += IsPortable(caps) ? 1 : 0;
    in_place += IsPortable(caps) && caps.in_place_inputs != 0 ? 1 : 0;
  }
  CHECK(CpuPortableBackend().kernels.size() == portable);
  CHECK(portable == static_cast<size_t>(kOpKindCount) + in_place);
}

TEST_CASE("CPU backend: the runner covers a range once, whatever the number of threads") {
  for (const int threads : {1, 2, 5}) {
    ParallelRunner runner = CpuBackend().make_runner(threads);
    CHECK(runner.threads == threads);
    for (const int count : {1, 2, 3, 7, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      ParallelFor(&runner, count, [&](int begin, int end) {
        for (int i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& visit : visits) CHECK(visit == 1);
    }
    CpuBackend().free_runner(runner);
  }
}

}  // namespace tenon::cpu
