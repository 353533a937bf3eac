#include "backends/cpu/cpu_backend.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::cpu {

namespace {

/// Kernels of hosts, and of every instruction set that a board can name.
std::vector<const KernelCaps*> AllCaps() {
  std::vector<const KernelCaps*> all;
  for (const Span<const KernelCaps> kernels :
       {Kernels(), KernelsOfSet("helium"), KernelsOfSet("dsp")}) {
    for (const KernelCaps& caps : kernels) all.push_back(&caps);
  }
  return all;
}

}  // namespace

TEST_CASE("CPU backend: ids are unique, and name the op that they run") {
  std::set<std::string> seen;
  for (const KernelCaps* caps : AllCaps()) {
    CAPTURE(caps->id);
    CHECK(seen.insert(caps->id).second);
    CHECK(std::string(caps->id).find(std::string("cpu.") + GetOpRow(caps->kind).name + ".") == 0);
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
    CHECK(last->portable);
    CHECK(last->activations == LayoutNeed::kAny);
    CHECK((last->workspace_bytes == nullptr));
  }
}

TEST_CASE("CPU backend: the portable backend has exactly the portable kernels") {
  std::set<std::string> portable;
  for (const KernelCaps& caps : Kernels()) {
    if (caps.portable) portable.insert(caps.id);
  }
  CHECK(CpuPortableBackend().kernels.size() == portable.size());
  for (const KernelEntry& kernel : CpuPortableBackend().kernels) {
    CHECK(portable.count(kernel.id) == 1);
  }
}

TEST_CASE(
    "CPU backend: the set 'vector' is our own kernels that are not portable, in their order") {
  // Processors of boards that name it multiply bytes faster than Winograd's 16-bit numbers.
  const std::string of_words = "cpu.quantized_conv.vector_winograd";
  std::vector<std::string> own;
  for (const KernelCaps& caps : Kernels()) {
    if (caps.portable || std::strstr(caps.id, ".onednn") != nullptr) continue;
    if (caps.id != of_words) own.emplace_back(caps.id);
  }
  std::vector<std::string> set;
  for (const KernelCaps& caps : KernelsOfSet("vector")) set.emplace_back(caps.id);
  CHECK(set == own);
  CHECK(KernelsOfSet("neon").empty());
}

TEST_CASE("CPU backend: kernels are found by what plans call them, and by nothing less") {
  for (const KernelCaps* caps : AllCaps()) {
    CHECK(CapsNamed(caps->id) == caps);
    CHECK(CapsNamed((std::string(caps->id) + ":variant").c_str()) == caps);
  }
  for (const char* unknown : {"", "cpu.conv", "cpu.conv.", "cpu.conv.portabl", "conv.portable",
                              "cpu.conv.portable_", "opencl.conv.tile"}) {
    CAPTURE(unknown);
    CHECK(CapsNamed(unknown) == nullptr);
  }
}

TEST_CASE("CPU backend: firmware runs the portable kernels and those of Cortex-M's sets") {
  for (const KernelCaps& caps : Kernels()) CHECK(caps.firmware == caps.portable);
  for (const char* set : {"helium", "dsp"}) {
    for (const KernelCaps& caps : KernelsOfSet(set)) {
      CAPTURE(caps.id);
      CHECK(caps.firmware);
      CHECK_FALSE(caps.portable);
      CHECK((caps.packed_bytes == nullptr));
    }
  }
}

TEST_CASE("CPU backend: kernels for in place only say which input their output takes over") {
  for (const KernelCaps* caps : AllCaps()) {
    CAPTURE(caps->id);
    if (caps->in_place_only) CHECK(caps->in_place_inputs != 0);
    // The plan check goes by the name.
    const std::string id = caps->id;
    const std::string end = "_in_place";
    const bool says_so = id.size() > end.size() && id.substr(id.size() - end.size()) == end;
    CHECK(caps->in_place_inputs == (says_so ? 1U : 0U));
  }
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
