// What can be set about the simulated board, by the environment (README.md has the list).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::fpga::sim {

/// What goes wrong, and when.
enum class FaultKind : uint8_t {
  kAxiError,   ///< a read of the start's is answered with an error
  kStuck,      ///< the start's reads are not answered any more: it is never done
  kError,      ///< the start is reported as failed though the kernel is done
  kLost,       ///< from the start on every call fails, until the device is opened again
  kWrongUuid,  ///< the board tells another xclbin's uuid than was loaded
};

struct Fault {
  FaultKind kind = FaultKind::kError;
  uint64_t start = 0;  ///< counted from 1 over the life of the board; 0: every start
};

/// The board's memory as its ports see it. The figures of the defaults: see README.md.
struct MemoryTiming {
  double clock_mhz = 300.0;
  double peak_bytes_per_second = 19.2e9;
  double sustained_fraction = 0.8;
  uint32_t read_latency = 60;   ///< cycles from an address to its first data
  uint32_t write_latency = 60;  ///< cycles from the last data to the response
};

struct Settings {
  std::string fault_text;
  std::vector<Fault> faults;
  MemoryTiming timing;
  unsigned devices = 1;
  std::string counters_file;  ///< empty: none is written
  std::string layers_file;    ///< empty: none is written
  bool trace = false;
};

/// Reads the environment. False: something in it is not understood, which `error` then says.
bool ReadSettings(Settings* settings, std::string* error);

}  // namespace tenon::fpga::sim
