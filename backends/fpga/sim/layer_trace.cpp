#include "backends/fpga/sim/layer_trace.hpp"

#include <cstdio>

namespace tenon::fpga::sim {
namespace {

constexpr size_t kDescriptors = std::size(isa::kCounterNames) - 1;  ///< clocks that wait for them

uint32_t ReadCounter(ComputeUnit& unit, size_t index) {
  const auto offset = static_cast<uint32_t>(index * sizeof(uint32_t));
  return unit.ReadRegister(isa::kFirstCounterRegister + offset);
}

LayerTrace::Counts ReadCounts(ComputeUnit& unit) {
  LayerTrace::Counts counts{};
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = ReadCounter(unit, i);
  return counts;
}

}  // namespace

void LayerTrace::Look(ComputeUnit& unit) {
  const uint32_t waited = ReadCounter(unit, kDescriptors);
  const bool waits = waited != waited_;
  waited_ = waited;
  if (waits && stood_still_) begins_.push_back(ReadCounts(unit));
  stood_still_ = !waits;
}

void LayerTrace::Finish(ComputeUnit& unit, const std::string& file) {
  Look(unit);
  begins_.push_back(ReadCounts(unit));
  std::FILE* const out = std::fopen(file.c_str(), "a");
  if (out == nullptr) {
    std::fprintf(stderr, "tenon simulated board: %s cannot be written\n", file.c_str());
    return;
  }
  const char* before = "[[";
  for (size_t layer = 0; layer + 1 < begins_.size(); ++layer) {
    for (size_t i = 0; i < begins_[layer].size(); ++i) {
      // The first layer's count begins at the start, before the first look.
      const uint32_t begin = layer == 0 ? 0 : begins_[layer][i];
      std::fprintf(out, "%s%u", i == 0 ? before : ", ", begins_[layer + 1][i] - begin);
      if (i == 0) before = ", [";
    }
    std::fprintf(out, "]");
  }
  std::fprintf(out, "]\n");
  std::fclose(out);
}

}  // namespace tenon::fpga::sim
