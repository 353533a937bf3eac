#include "backends/fpga/sim/settings.hpp"

#include <cstdlib>
#include <optional>
#include <utility>

namespace tenon::fpga::sim {
namespace {

constexpr std::pair<const char*, FaultKind> kFaultNames[] = {
    {"axi-error", FaultKind::kAxiError},   {"stuck", FaultKind::kStuck},
    {"error", FaultKind::kError},          {"lost", FaultKind::kLost},
    {"wrong-uuid", FaultKind::kWrongUuid},
};

std::string Variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// Reads one of "stuck", "stuck@3".
std::optional<Fault> ReadFault(const std::string& text) {
  const size_t at = text.find('@');
  Fault fault;
  if (at != std::string::npos) {
    char* end = nullptr;
    fault.start = std::strtoull(text.c_str() + at + 1, &end, 10);
    if (fault.start == 0 || *end != '\0') return std::nullopt;
  }
  for (const auto& [name, kind] : kFaultNames) {
    if (text.substr(0, at) != name) continue;
    fault.kind = kind;
    return fault;
  }
  return std::nullopt;
}

bool ReadFaults(const std::string& text, std::vector<Fault>* faults) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find(',', begin);
    if (end == std::string::npos) end = text.size();
    const std::optional<Fault> fault = ReadFault(text.substr(begin, end - begin));
    if (!fault) return false;
    faults->push_back(*fault);
    begin = end + 1;
  }
  return true;
}

/// A number in [least, most]; unset leaves what is there.
template <typename Number>
bool ReadNumber(const char* name, double least, double most, double unit, Number* number,
                std::string* error) {
  const std::string text = Variable(name);
  if (text.empty()) return true;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(value >= least && value <= most)) {
    *error = std::string(name) + "=" + text + ": give a number from " + std::to_string(least) +
             " to " + std::to_string(most);
    return false;
  }
  *number = static_cast<Number>(value * unit);
  return true;
}

}  // namespace

bool ReadSettings(Settings* settings, std::string* error) {
  settings->fault_text = Variable("TENON_FPGA_SIM_FAULT");
  if (!ReadFaults(settings->fault_text, &settings->faults)) {
    *error = "TENON_FPGA_SIM_FAULT=" + settings->fault_text +
             ": give KIND or KIND@START, with commas between, of the kinds axi-error, stuck, "
             "error, lost, wrong-uuid; starts count from 1";
    return false;
  }
  settings->counters_file = Variable("TENON_FPGA_SIM_COUNTERS");
  settings->layers_file = Variable("TENON_FPGA_SIM_LAYERS");
  settings->trace = !Variable("TENON_FPGA_SIM_TRACE").empty();
  MemoryTiming& timing = settings->timing;
  return ReadNumber("TENON_FPGA_SIM_CLOCK_MHZ", 1, 2000, 1, &timing.clock_mhz, error) &&
         ReadNumber("TENON_FPGA_SIM_PEAK_GBS", 0.01, 1000, 1e9, &timing.peak_bytes_per_second,
                    error) &&
         ReadNumber("TENON_FPGA_SIM_SUSTAINED", 1, 100, 0.01, &timing.sustained_fraction, error) &&
         ReadNumber("TENON_FPGA_SIM_READ_LATENCY", 1, 100000, 1, &timing.read_latency, error) &&
         ReadNumber("TENON_FPGA_SIM_WRITE_LATENCY", 1, 100000, 1, &timing.write_latency, error) &&
         ReadNumber("TENON_FPGA_SIM_DEVICES", 0, 16, 1, &settings->devices, error);
}

}  // namespace tenon::fpga::sim
