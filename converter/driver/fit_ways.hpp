// The ways to make a program of one graph on one board. How many bytes of the arena's space it may
// need is a parameter: nothing here reads the board's own limit of that space, so that what is
// reachable does not depend on what was asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "converter/driver/fit.hpp"
#include "converter/driver/memory_needs.hpp"

namespace tenon::converter {

class FitWays {
 public:
  FitWays() = default;
  virtual ~FitWays() = default;
  FitWays(const FitWays&) = delete;
  FitWays& operator=(const FitWays&) = delete;

  /// Returns the program that would be made if memory did not matter. Errors: as Compile.
  [[nodiscard]] virtual Result<Fitted> Whole() = 0;

  /// Returns a fast program that needs at most `bytes` of the arena's space; none if none is found.
  [[nodiscard]] virtual Result<std::optional<Fitted>> Aim(int64_t bytes) = 0;

  /// Returns a program that needs at most `bytes` if that is easier to show than the smallest one
  /// is to find; none otherwise.
  [[nodiscard]] virtual Result<std::optional<Fitted>> Proof(int64_t bytes) = 0;

  /// Returns the program that needs the fewest bytes of the arena's space. Errors
  /// (kDoesNotFit): an op that nothing makes small enough to run at all.
  [[nodiscard]] virtual Result<Fitted> Smallest() = 0;

  /// Returns the program that needs the fewest bytes of all spaces that ops work in. Errors: as
  /// Smallest.
  [[nodiscard]] virtual Result<Fitted> SmallestInAll() { return Smallest(); }
};

/// Returns the board with this many bytes of the arena's space, none of them reserved.
[[nodiscard]] Board WithLimit(Board board, int64_t bytes);

/// Returns options for trial compilations: they find most of what a full search finds, in a
/// fraction of the time.
[[nodiscard]] CompileOptions Quick(CompileOptions options);

/// Returns options that exclude kernels whose workspace or packed weights are more than one of
/// `shares` of `limit` bytes.
inline constexpr int64_t kLeanShares = 16;
[[nodiscard]] KernelChoiceOptions LeanKernels(KernelChoiceOptions kernels, int64_t limit,
                                              int64_t shares = kLeanShares);

[[nodiscard]] inline bool IsTooLarge(const Error& error) {
  return error.kind == ErrorKind::kDoesNotFit;
}

/// More bytes than any space has.
constexpr int64_t kUnlimited = int64_t{1} << 50;

}  // namespace tenon::converter
