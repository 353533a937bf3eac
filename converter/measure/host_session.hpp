// Runs a plan on this machine through the public C interface, for what a conversion computes by
// running it: folded constants, and values of a model on samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "converter/status.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

/// Selects the kernels of a session: the portable ones, whose results are the same on every
/// machine, or all that this build has for the CPU.
enum class HostKernels : uint8_t { kPortable, kAll };

/// Owns a loaded plan with one session, on one thread. May be used by one thread at a time.
class HostSession {
 public:
  /// Copies the plan. Errors (kInternal): it does not load here.
  [[nodiscard]] static Result<HostSession> Open(const std::vector<uint8_t>& plan,
                                                HostKernels kernels);

  HostSession(HostSession&&) noexcept;
  HostSession& operator=(HostSession&&) noexcept;
  ~HostSession();

  /// Returns where input `i` is read from, row-major, valid until the session ends.
  [[nodiscard]] std::byte* Input(size_t i);

  /// Runs the plan. Errors (kInput): what the run reports.
  [[nodiscard]] Status Run();

  [[nodiscard]] size_t output_count() const;
  /// Returns the row-major bytes of output `i`, valid after a run and until the next.
  [[nodiscard]] Span<const std::byte> Output(size_t i) const;

 private:
  struct State;
  explicit HostSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tenon::converter
