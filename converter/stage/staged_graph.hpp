// A graph whose ops belong to the stages of a pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/locations.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Guarantees: the order runs stage by stage and no op reads what a later stage writes; every
/// storage is written in one stage only; the caller's inputs and outputs are touched by one stage
/// only (others read copies); storages that cross stages are touched by ops only.
struct StagedGraph {
  Graph graph;
  Locations locations;
  std::vector<OpId> steps;           ///< ops that execute, stage by stage
  std::vector<int32_t> stage_of_op;  ///< by OpId
};

/// Requires: kernels chosen, layouts assigned. `stage_of_op` is -1 or missing for ops that passes
/// have inserted since the cut: they go to a stage of their backend (`backend_of_stage`),
/// preferably that of their inputs rather than of their readers. Finds the locations and steps and
/// inserts copies of ports that several stages would touch. Errors (kInternal): an op reads what a
/// later stage writes.
[[nodiscard]] Status PlaceInStages(StagedGraph& staged,
                                   const std::vector<std::string>& backend_of_stage,
                                   PassReport& report);

}  // namespace tenon::converter
