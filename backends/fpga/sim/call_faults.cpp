#include "backends/fpga/sim/call_faults.hpp"

#include <atomic>
#include <cstring>

namespace {

std::atomic<uint64_t> calls{0};
std::atomic<uint64_t> fail_at{0};
std::atomic<const char*> counted{nullptr};
std::atomic<const char*> failed{nullptr};

}  // namespace

bool tenon::fpga::sim::Fails(const char* call) {
  const char* const function = counted;
  if (function != nullptr && std::strcmp(call, function) != 0) return false;
  if (++calls != fail_at) return false;
  failed = call;
  return true;
}

void tenon_fpga_sim_fail_call(uint64_t number, const char* function) {
  fail_at = 0;
  counted = function;
  calls = 0;
  failed = nullptr;
  fail_at = number;
}

const char* tenon_fpga_sim_failed_call() { return failed; }
