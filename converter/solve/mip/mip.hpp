// Solves mixed-integer linear programs. This header is all that the rest of the converter knows of
// the solver behind it (COIN-OR's CBC).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenon::converter {

/// Minimises the sum of cost * column over the values of columns that satisfy all rows.
struct MipProblem {
  struct Column {
    double lower = 0;
    double upper = 1;
    double cost = 0;
    bool integer = false;
  };
  struct Term {
    int32_t column = 0;
    double factor = 0;
  };
  struct Row {
    std::vector<Term> terms;  ///< a column may be named several times
    double lower = 0;         ///< -kMipInfinity: none
    double upper = 0;         ///< kMipInfinity: none
  };
  std::vector<Column> columns;
  std::vector<Row> rows;

  int32_t AddColumn(const Column& column) {
    columns.push_back(column);
    return static_cast<int32_t>(columns.size()) - 1;
  }
  void AddRow(double lower, std::vector<Term> terms, double upper) {
    rows.push_back({std::move(terms), lower, upper});
  }
};
inline constexpr double kMipInfinity = 1e30;

struct MipOptions {
  int64_t most_nodes = 1000;  ///< of the branch-and-bound tree; 0: the root alone
  double relative_gap = 0;    ///< stops once value and bound are so close
  /// Values of integer columns of a solution that is known, by column; what the others are follows.
  /// Empty: none is known.
  std::vector<double> start = {};
};

enum class MipState : uint8_t {
  kOptimal,     ///< proved, within the gap
  kStopped,     ///< a solution was found before the node limit was reached
  kInfeasible,  ///< proved: there is no solution
  kNothing,     ///< no solution was found before the node limit was reached
};

struct MipAnswer {
  MipState state = MipState::kNothing;
  std::vector<double> values;  ///< by column; empty without a solution
  double objective = 0;
  double bound = 0;  ///< no solution is below
};

/// Deterministic: one thread, and effort is counted in nodes. Prints nothing.
[[nodiscard]] MipAnswer SolveMip(const MipProblem& problem, const MipOptions& options);

}  // namespace tenon::converter
