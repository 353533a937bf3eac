#include "backends/fpga/sim/counters.hpp"

#include <cstdio>
#include <cstring>

namespace tenon::fpga::sim {
namespace {

struct NamedCounter {
  const char* name;
  std::atomic<uint64_t> Counters::*counter;
};

constexpr NamedCounter kCounters[] = {
#define TENON_FPGA_SIM_COUNTER(name) {#name, &Counters::name},
    TENON_FPGA_SIM_COUNTERS(TENON_FPGA_SIM_COUNTER)
#undef TENON_FPGA_SIM_COUNTER
};

}  // namespace

Counters& Count() {
  static Counters counters;
  return counters;
}

void WriteCounters(const char* file) {
  std::FILE* const out = std::fopen(file, "w");
  if (out == nullptr) {
    std::fprintf(stderr, "tenon simulated board: %s cannot be written\n", file);
    return;
  }
  const char* before = "{";
  for (const NamedCounter& entry : kCounters) {
    const uint64_t value = Count().*entry.counter;
    std::fprintf(out, "%s\n  \"%s\": %llu", before, entry.name,
                 static_cast<unsigned long long>(value));
    before = ",";
  }
  std::fprintf(out, "\n}\n");
  std::fclose(out);
}

}  // namespace tenon::fpga::sim

uint64_t tenon_fpga_sim_count(const char* name) {
  using tenon::fpga::sim::Count;
  using tenon::fpga::sim::kCounters;
  for (const auto& entry : kCounters) {
    if (std::strcmp(entry.name, name) == 0) return Count().*entry.counter;
  }
  return UINT64_MAX;
}
