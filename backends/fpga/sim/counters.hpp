// What the host did with the simulated board, counted where XRT meets it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tenon::fpga::sim {

// The formatter takes the list for calls.
// clang-format off
#define TENON_FPGA_SIM_COUNTERS(X) \
  X(opened) X(closed) X(xclbins_loaded) X(buffers_allocated) X(buffers_freed) \
  X(syncs_to_device) X(bytes_to_device) X(syncs_from_device) X(bytes_from_device) \
  X(starts) X(starts_done) X(starts_failed) X(resets) X(register_reads) X(register_writes) \
  X(clocks) X(bytes_read) X(bytes_written)
// clang-format on

/// All boards of the process together, since it began.
struct Counters {
#define TENON_FPGA_SIM_COUNTER(name) std::atomic<uint64_t> name{0};
  TENON_FPGA_SIM_COUNTERS(TENON_FPGA_SIM_COUNTER)
#undef TENON_FPGA_SIM_COUNTER
};

Counters& Count();

/// Writes them as JSON to the file that the settings name; nothing without one.
void WriteCounters(const char* file);

}  // namespace tenon::fpga::sim

extern "C" {
/// The count of this name, for tests in the process; UINT64_MAX: there is none.
__attribute__((visibility("default"))) uint64_t tenon_fpga_sim_count(const char* name);
}
