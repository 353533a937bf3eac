// Orders made by rule, without search: baselines, and where a search begins.
#pragma once

#include <string>
#include <vector>

#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// 0, 1, 2, ...
[[nodiscard]] std::vector<Index> SourceOrderOf(const TimeProblem& problem);

/// List scheduling: whenever a unit is free it takes the task, of those whose predecessors are
/// done, with the longest tail (TailsOf; the smaller number, if equal). Memory and transfers do not
/// count. Order of start. O((tasks + edges) log tasks).
[[nodiscard]] std::vector<Index> ListOrderOf(const TimeProblem& problem);

/// Takes, of the tasks whose predecessors are done, the one with the largest priority (the smaller
/// number, if equal). O((tasks + edges) log tasks).
[[nodiscard]] std::vector<Index> OrderByPriority(const TimeProblem& problem,
                                                 const std::vector<double>& priority);

/// By task: the tasks that have it as a predecessor, ascending.
[[nodiscard]] std::vector<std::vector<Index>> SuccessorsOf(const TimeProblem& problem);

/// The tasks `numbers` (ascending) as a problem of their own: what others have written is there
/// from the start, what others will read stays. Task i of the result is numbers[i]; values and
/// storages are numbered by first use, so that equal parts give equal problems.
[[nodiscard]] TimeProblem TimePartOf(const TimeProblem& problem, const std::vector<Index>& numbers);

/// A text that is equal for two problems if and only if they are.
[[nodiscard]] std::string CanonicalForm(const TimeProblem& problem);

}  // namespace tenon::converter
