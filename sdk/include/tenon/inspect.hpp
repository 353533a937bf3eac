// What surrounds a conversion: what is inside a plan, which boards there are, and the placement of
// buffers by itself. Link tenon::converter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/converter.hpp"

namespace tenon {
inline namespace api_v1 {

struct PlanInspection {
  std::string json;  ///< what `tenon inspect --json` prints
  std::string text;  ///< the same for people
};

/// `plan` is a whole plan file. Errors: kInput, it cannot be opened as a plan.
[[nodiscard]] Outcome<PlanInspection> InspectPlan(const std::vector<uint8_t>& plan);

/// Appends a conversion's decisions (ConvertedPlan::decisions_json) to its plan file, for
/// `tenon explain` and `tenon report`; runtimes never read them (docs/plan-format.md). Errors:
/// kInternal, `plan` is no plan.
[[nodiscard]] Outcome<std::vector<uint8_t>> RecordDecisions(std::vector<uint8_t> plan,
                                                            const std::string& decisions_json);

struct BoardSummary {
  struct Unit {
    std::string name;
    int threads = 1;
  };
  struct MemorySpace {
    std::string name;
    int64_t bytes = 0;
  };
  std::string name;
  std::string description;
  std::vector<Unit> units;
  std::vector<MemorySpace> memory_spaces;
};

/// The boards that are built in, in order of name.
[[nodiscard]] std::vector<BoardSummary> BuiltInBoards();

/// What can be converted.
struct OperatorList {
  std::string json;  ///< what `tenon ops --json` prints
  std::string text;  ///< the same as a table for people
};

/// Every operator of every importer, with its limits.
[[nodiscard]] OperatorList ConvertibleOperators();

/// Every op that plans are made of, with the kernels that each backend of this build has for it; in
/// the same two forms (`tenon ops --kernels`).
[[nodiscard]] OperatorList KernelsOfOps();

/// One problem of placing buffers in an arena.
struct PlaceRequest {
  std::string_view csv;          ///< a table with columns id, lower, upper (exclusive), size
  std::optional<int64_t> limit;  ///< bytes: the first placement within is good enough
  /// Stops after so many seconds; none: after an amount of work that is the same everywhere.
  std::optional<double> time_limit_seconds;
};

struct PlacedBuffers {
  size_t buffers = 0;
  int64_t peak = 0;
  int64_t lower_bound = 0;  ///< no placement has a smaller peak
  bool proven_optimal = false;
  int64_t work = 0;
  bool stopped_by_clock = false;
  std::string csv;  ///< the table with a column `offset`
};

/// The best placement found, whether it is within the limit or not. Errors: kInput, a malformed
/// table, or buffers of 2^63 bytes and more.
[[nodiscard]] Outcome<PlacedBuffers> PlaceBuffers(const PlaceRequest& request);

}  // namespace api_v1
}  // namespace tenon
