// Cuts windows out of a program that is too large to be solved at once.
#pragma once

#include <vector>

#include "converter/solve/program/memory_steps.hpp"

namespace tenon::converter {

/// Ops from `begin` up to, not including, `end`.
struct ProgramWindow {
  Index begin = 0;
  Index end = 0;
  friend bool operator==(const ProgramWindow&, const ProgramWindow&) = default;
};

/// Returns windows, in order and apart, that contain every op which needs more than the limit. As
/// far as `most_ops` allow, a window reaches from the first to the last use of all that is alive
/// there, and its ends lie where little is alive: at a key node, often.
[[nodiscard]] std::vector<ProgramWindow> FindWindows(const MemoryStepsProblem& problem,
                                                     Index most_ops);

/// A window as a problem of its own: what is alive at its ends is in fast memory there.
struct WindowProblem {
  MemoryStepsProblem problem;
  std::vector<Index> storages;  ///< of the whole problem, by storage of the window's
};
[[nodiscard]] WindowProblem ProblemOf(const MemoryStepsProblem& problem,
                                      const ProgramWindow& window);

/// Returns the window's steps in the whole problem's numbers.
[[nodiscard]] std::vector<MemoryStep> StepsOfWhole(const WindowProblem& window, Index begin,
                                                   const std::vector<MemoryStep>& steps);

}  // namespace tenon::converter
