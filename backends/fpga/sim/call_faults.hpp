// Calls of XRT's driver interface that fail because a test wants it.
#pragma once

#include <cstdint>

namespace tenon::fpga::sim {

/// Counts a call, and says whether it is the one that fails. Of calls that can report a failure.
[[nodiscard]] bool Fails(const char* call);

}  // namespace tenon::fpga::sim

extern "C" {
/// Has call number `number` from now on fail, of all boards of the process; 0: none. Counted are
/// the calls of the function `function`, a name that stays valid; null: of every one. Threads of
/// XRT itself call too, so that only the calls of one function come in a known order.
__attribute__((visibility("default"))) void tenon_fpga_sim_fail_call(uint64_t number,
                                                                     const char* function);
/// The name of the call that failed since then; null: none has.
__attribute__((visibility("default"))) const char* tenon_fpga_sim_failed_call();
}
