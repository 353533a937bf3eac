// Makes orders by rule, without search, as baselines and starting points of a search.
#pragma once

#include <string>
#include <vector>

#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

/// Returns 0, 1, 2, ...
[[nodiscard]] std::vector<Index> SourceOrderOf(const TimeProblem& problem);

/// Makes an order by list scheduling: whenever a unit is free it takes, of the tasks whose
/// predecessors are done, the one with the longest tail (TailsOf; the smaller number, if equal).
/// Memory and transfers are ignored. Returns the order of starts. O((tasks + edges) log tasks).
[[nodiscard]] std::vector<Index> ListOrderOf(const TimeProblem& problem);

/// Takes, of the tasks whose predecessors are done, the one with the largest priority (the smaller
/// number, if equal). O((tasks + edges) log tasks).
[[nodiscard]] std::vector<Index> OrderByPriority(const TimeProblem& problem,
                                                 const std::vector<double>& priority);

/// Returns by task the tasks that have it as a predecessor, ascending.
[[nodiscard]] std::vector<std::vector<Index>> SuccessorsOf(const TimeProblem& problem);

/// Returns the tasks `numbers` (ascending) as a problem of their own: what other tasks have written
/// exists from the start, and what others will read stays. Task i of the result is numbers[i];
/// values and storages are numbered by first use, so that equal parts give equal problems.
[[nodiscard]] TimeProblem TimePartOf(const TimeProblem& problem, const std::vector<Index>& numbers);

/// Returns a text that is equal for two problems if and only if they are equal.
[[nodiscard]] std::string CanonicalForm(const TimeProblem& problem);

}  // namespace tenon::converter
