// Opening a plan for `run` and `bench`, with the runtime's errors as exit statuses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/tools/npy.hpp"
#include "tenon/tenon.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace tenon::tool {

inline constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000;

/// The time of a clock that is never set, for spans of time.
[[nodiscard]] uint64_t MonotonicNanoseconds();

/// Opens a plan; throws Failure. `threads` 0: one per processor available to this process.
/// `program`: its name; empty: the first.
[[nodiscard]] Plan OpenPlan(const std::string& path, int threads, bool portable,
                            const std::string& program = "");
/// `device_seconds`: the longest that a run may wait for devices; 0: a minute.
[[nodiscard]] Session OpenSession(const Plan& plan, int device_seconds = 0);

/// Adds the option for the seconds that a run may wait for devices.
void AddDeviceTimeout(CLI::App& command, int& seconds);

/// Throws Failure with the exit status that fits a runtime error.
[[noreturn]] void FailWith(const Error& error, const std::string& about);

[[nodiscard]] int AvailableProcessors();

/// The shape of a port; of its values in `steps` runs, if that is above 0.
[[nodiscard]] std::vector<int64_t> ShapeOf(const tenon_port_info& port, int64_t steps = 0);

/// What the plan's inputs, or outputs, are called.
[[nodiscard]] std::vector<std::string> InputNames(const Plan& plan);
[[nodiscard]] std::vector<std::string> OutputNames(const Plan& plan);

/// What inputs hold for which no array is given.
enum class Missing { kRefused, kZeros, kRandom };

/// One array per input of the plan, from NAME=FILE.npy arguments, or FILE.npy for an only input;
/// kRefused: a Failure names the others. With `steps` above 0 each has a leading dimension of so
/// many (of zeros then). Throws Failure on unknown names and wrong shapes or types.
[[nodiscard]] std::vector<NpyArray> ReadInputs(const Plan& plan,
                                               const std::vector<std::string>& arguments,
                                               Missing missing, int64_t steps = 0);

}  // namespace tenon::tool
