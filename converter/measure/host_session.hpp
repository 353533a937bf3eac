// Runs a plan on this machine through the public C interface, for what a conversion computes by
// running it: folded constants, and values of a model on samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "converter/status.hpp"
#include "runtime/base/dtype.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

/// Selects the kernels of a session: the portable ones, whose results are the same on every
/// machine, all that this build has for the CPU, or those of its other backends too.
enum class HostKernels : uint8_t { kPortable, kAll, kEveryBackend };

/// Owns a loaded plan with one session, on one thread. May be used by one thread at a time.
class HostSession {
 public:
  /// Copies the plan. Errors: it does not load here (kInternal; with other backends kBackend).
  [[nodiscard]] static Result<HostSession> Open(const std::vector<uint8_t>& plan,
                                                HostKernels kernels);

  HostSession(HostSession&&) noexcept;
  HostSession& operator=(HostSession&&) noexcept;
  ~HostSession();

  /// Returns where input `i` is read from, row-major, valid until the session ends.
  [[nodiscard]] std::byte* Input(size_t i);

  /// Runs the plan. Errors (kInput): what the run reports.
  [[nodiscard]] Status Run();

  [[nodiscard]] size_t input_count() const;
  /// The bytes of input `i`, and the type of its elements.
  [[nodiscard]] size_t InputBytes(size_t i) const;
  [[nodiscard]] DType InputType(size_t i) const;
  [[nodiscard]] size_t output_count() const;
  [[nodiscard]] DType OutputType(size_t i) const;
  /// Returns the row-major bytes of output `i`, valid after a run and until the next.
  [[nodiscard]] Span<const std::byte> Output(size_t i) const;

  /// What a backend's device counted in its last work; nothing where it counts nothing.
  [[nodiscard]] std::vector<std::pair<std::string, uint64_t>> Counters(
      const std::string& backend) const;

 private:
  struct State;
  explicit HostSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tenon::converter
