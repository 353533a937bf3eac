#include "tests/support/random_board.hpp"

#include <fmt/format.h>

#include <random>
#include <string>

namespace tenon::test {
namespace {

using converter::Board;
using converter::Link;
using converter::MemorySpace;
using converter::Unit;

class BoardMaker {
 public:
  BoardMaker(uint64_t seed, bool with_opencl) : random_(seed * 7919 + 17) {
    board_.name = fmt::format("random-{}", seed);
    MakeMemories();
    MakeUnits(with_opencl);
    if (has_slow_) AddLinks();
    board_.fingerprint = seed;
    for (const std::string& backend : BackendsOfUnits(board_)) {
      board_.priorities.push_back({backend, "*", backend == "cpu" ? 2 : 1, {}});
    }
  }

  Board Take() { return std::move(board_); }

 private:
  int64_t Draw(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random_);
  }
  bool Chance(int percent) { return Draw(1, 100) <= percent; }

  MemorySpace& AddSpace(const char* name) {
    MemorySpace space;
    space.name = name;
    space.bytes = int64_t{1} << 32;
    space.bandwidth_bytes_per_second = 1e9 * static_cast<double>(Draw(1, 60));
    space.latency_ns = static_cast<double>(Draw(1, 200));
    space.alignment_bytes = 16u << Draw(0, 4);
    board_.memory_spaces.push_back(space);
    return board_.memory_spaces.back();
  }

  /// The arena's space comes first. Constants lie there, in a file, or in a slow memory into which
  /// tensors are moved too; ops may work in a second space.
  void MakeMemories() {
    AddSpace("arena").holds_arena = true;
    has_slow_ = Chance(35);
    if (has_slow_) {
      MemorySpace& slow = AddSpace("slow");
      slow.spill = slow.stage_constants = true;
      slow.holds_constants = true;
    } else if (Chance(50)) {
      AddSpace("file").holds_constants = true;
    } else {
      board_.memory_spaces[0].holds_constants = true;
    }
    if (!has_slow_ && Chance(30)) {
      MemorySpace& direct = AddSpace("direct");
      direct.direct = true;
      direct.bytes = Draw(1, 64) * 256;
    }
    if (Chance(20)) AddSpace("unused");
  }

  Unit& AddUnit(const std::string& name, const char* backend) {
    Unit unit;
    unit.name = name;
    unit.backend = backend;
    unit.kind = "cpu";
    unit.portable_kernels_only = std::string(backend) == "cpu";
    unit.launch_overhead_us = 0.1 * static_cast<double>(Draw(1, 100));
    unit.multiply_accumulates_per_second["f32"] = 1e9 * static_cast<double>(Draw(1, 200));
    unit.elementary_ops_per_second = 1e9 * static_cast<double>(Draw(1, 20));
    unit.runs_from = "arena";
    board_.units.push_back(unit);
    return board_.units.back();
  }

  void MakeUnits(bool with_opencl) {
    const bool one = HasDirectSpace() || Chance(25);
    const bool matrix = has_slow_ && !one;
    if (matrix) AddUnit("matrix", "cpu").ops = {"conv", "matmul"};
    AddUnit("cpu", "cpu");
    if (!one && !has_slow_ && Chance(50)) AddUnit("little", "cpu");
    if (!one && !has_slow_ && with_opencl) {
      Unit& gpu = AddUnit("gpu", "opencl");
      gpu.kind = "gpu";
      gpu.launch_overhead_us = 20;
      gpu.enqueue_overhead_us = 5;
    }
    if (!has_slow_) return;
    Unit& dma = AddUnit("dma", "cpu");
    dma.kind = "dma";
    dma.ops = {"copy"};
  }

  [[nodiscard]] bool HasDirectSpace() const { return board_.DirectSpace() != nullptr; }

  void AddLinks() {
    const double rate = 1e9 * static_cast<double>(Draw(1, 20));
    board_.links.push_back({"dma", "slow", "arena", rate, 100});
    board_.links.push_back({"dma", "arena", "slow", rate, 100});
  }

  std::mt19937_64 random_;
  Board board_;
  bool has_slow_ = false;
};

}  // namespace

Board RandomBoard(uint64_t seed, bool with_opencl) { return BoardMaker(seed, with_opencl).Take(); }

}  // namespace tenon::test
