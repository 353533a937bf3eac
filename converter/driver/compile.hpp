// Compiles a graph whose ops are final (fused, split) into a program: chooses kernels, layouts,
// views, order and placement. The pipeline compiles several candidates and keeps one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converter/board/board.hpp"
#include "converter/ir/pass.hpp"
#include "converter/profile/prediction_sources.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/program_to_emit.hpp"
#include "converter/solve/map/optimal_map.hpp"
#include "converter/solve/order/memory_order.hpp"
#include "converter/solve/program/memory_program.hpp"
#include "converter/stage/program_options.hpp"
#include "converter/stage/start_groups.hpp"
#include "converter/time_limit.hpp"

namespace tenon::converter {

enum class Objective {
  kLatency,  ///< least predicted time; among equals the smallest arena
  kMemory,   ///< smallest arena, at the price of time
  /// Minimises the time between the results of an input stream. The plan also gets programs for
  /// that, see MakeParallelPrograms; the sequential program is compiled as for kLatency.
  kThroughput,
};

enum class OrderMode {
  kSource,  ///< as the model has it
  kSearch,  ///< the best order that the search finds
  kRandom,  ///< a random order, drawn by the seed: the baseline that a search must beat
  kGiven,   ///< by OrderOptions::priority
};

struct OrderOptions {
  OrderMode mode = OrderMode::kSearch;
  /// Of OrderMode::kGiven, by executed op in the graph's order: of those whose inputs are ready,
  /// the one with the largest comes first. Ops beyond its end have priority 0.
  std::vector<double> priority = {};
  int64_t budget = 250'000;  ///< downsets expanded, see MemoryOrderOptions
  uint64_t seed = 1;
  bool key_nodes = true;  ///< cut at them; else the graph is searched as one
  /// Subgraphs between key nodes have at least so many ops; smaller ones join a neighbour.
  int subgraph_ops = MemoryOrderOptions{}.smallest_subgraph;
  std::shared_ptr<MemoryOrderMemo> memo = nullptr;  ///< orders that are known; may be null
  double target_ms = 0;  ///< stop at the first order predicted to take no longer; 0: none

  [[nodiscard]] Picoseconds target() const { return static_cast<Picoseconds>(target_ms * 1e9); }
};

/// Describes an arena in a memory space other than the board's arena space.
struct ArenaBeside {
  std::string space;
  int64_t bytes = 0;
};

struct MemoryReport {
  std::string space;
  int64_t arena_bytes = 0;               ///< of that space
  std::vector<ArenaBeside> beside = {};  ///< other arenas that ops work in
  int64_t lower_bound = 0;
  bool proven_optimal = false;
  int64_t constants_bytes = 0;
  int64_t packed_bytes = 0;  ///< weights that kernels pack when the plan is loaded, at most
  int64_t place_work = 0;
  int64_t source_order_bytes = 0;  ///< the arena that the model's own order would need
  int64_t unsplit_bytes = 0;       ///< the arena before anything was split for it
  /// See LargestOp: no program of the ops that run needs less. Empty where ops work on copies of
  /// parts (several units) or in two spaces.
  std::string largest_op;
  int64_t largest_op_bytes = 0;
  /// Of a plan with patches by height, see FindLeastPatched; of others 0.
  int64_t least_patched = 0;
  bool least_patched_into_tiles = false;  ///< it holds for tiles too
  std::string least_patched_reason;
};

struct UnitTime {
  std::string unit;
  Picoseconds before = 0;  ///< busy, in the model's own order
  Picoseconds after = 0;   ///< busy, in the plan
};

struct TimeReport {
  Picoseconds before = 0;  ///< one inference in the model's own order
  Picoseconds after = 0;
  Picoseconds lower_bound = 0;  ///< no order of these ops takes less
  std::vector<UnitTime> units;
  std::vector<Picoseconds> ops;  ///< each alone on its unit, by step of the plan's first program
  bool measured = false;         ///< a profile was used
  PredictionSources sources;     ///< set where one was used
};

struct OrderReport {
  OrderMode mode = OrderMode::kSource;
  uint64_t seed = 0;
  MemoryOrder search;                  ///< in live bytes; empty unless searched for memory
  TimeOrder time;                      ///< in time; empty unless the board has units side by side
  std::vector<std::string> key_nodes;  ///< names of ops, in the order of execution
  bool changed = false;                ///< the plan's order is not the model's
  /// The plan's order, as numbers of executed ops in the model's: OrderOptions::priority has them.
  std::vector<Index> executed;
  /// The plan's order is predicted to take no longer than OrderOptions::target_ms; none: no target.
  std::optional<bool> target_met;
};

enum class MappingMode : uint8_t {
  kTable,    ///< the board's priorities, op by op
  kOptimal,  ///< the least predicted time, see map/optimal_map.hpp
};

/// Reports the result of --mapping=optimal.
struct MappingReport {
  MappingMode mode = MappingMode::kTable;
  bool for_period = false;     ///< optimised for an input stream; else for one inference
  bool chose_optimal = false;  ///< false: the table's mapping takes no longer
  bool exact = false;          ///< proved: no mapping takes less than the one that is kept
  int64_t tried = 0;           ///< mappings
  Picoseconds bound = 0;       ///< by the search's cost model no mapping takes less
  Picoseconds table = 0;       ///< predicted for the whole program by the table's mapping,
  Picoseconds optimal = 0;     ///< and by the one that the search found
};

/// What the memory program aims at.
struct ProgramGoal {
  int64_t bytes = 0;  ///< of the arena; 0: no memory program
  bool moves = true;  ///< between memories; false: ops may only run again
  MemoryProgramOptions solve = {};
};

/// Reports the memory program that was written into the graph.
struct ProgramReport {
  bool used = false;
  int64_t limit = 0;          ///< bytes of the arena
  int repeated = 0;           ///< runs of ops beyond their first
  int moves = 0;              ///< copies between memories
  int rounds = 0;             ///< until what was found could be placed
  Picoseconds time_once = 0;  ///< with every op once, under no limit
  Picoseconds time = 0;
  Picoseconds bound = 0;  ///< of the last round: see MemoryProgram::bound; 0: not known
  int windows = 0;
  int proved = 0;
  int stopped = 0;
};

struct CompileOptions : ProgramOptions {
  Objective objective = Objective::kLatency;
  OrderOptions order;
  MappingMode mapping = MappingMode::kTable;
  ProgramGoal program;
  bool aggregate = true;  ///< false: devices are started for every op
  BranchOptions branches;
  /// Workspaces take what the arena's space has left, see GrowWorkspaces: plans are compared so.
  bool fill_with_workspaces = false;
  /// Picoseconds: of what is predicted to take longer, the arena grows for workspaces until it does
  /// not, if a quarter more is enough. 0: as small as it can be.
  double most_time = 0;
  /// Searches settle for what they have when it has passed.
  TimeLimit time_limit = {};
  /// Called with what is being searched for and the share done so far. May be empty.
  std::function<void(const char* what, double share)> progress = {};
};

struct CompileReport {
  std::vector<MappedOp> mapping;
  MemoryReport memory;
  OrderReport order;
  TimeReport time;
  MappingReport mapping_report;
  SegmentReport segments;  ///< empty where no device runs ops
  ProgramReport program;
  BranchReport branches;
};

/// In its memory report, the size of constants is not filled in yet.
struct Compiled : CompileReport {
  Graph graph;
  Locations locations;
  ArenaPlan arena;
  Schedule schedule;
  std::vector<PassReport> passes;
  std::vector<GroupSource> group_sources;  ///< of the arena's groups
};

/// Returns true if all ops are mapped to one unit. Every order then takes the same time, so that
/// only memory matters. Errors: as ChooseKernels.
[[nodiscard]] Result<bool> RunsOnOneUnit(const Graph& graph, const CompileOptions& options);

/// Compiles the graph. With the optimal mapping, the table's mapping is compiled too, and kept if
/// it takes no longer. Errors (kInput): ops that no kernel runs; (kUsage): pins that cannot be
/// kept. Deterministic.
[[nodiscard]] Result<Compiled> Compile(Graph graph, const CompileOptions& options);

}  // namespace tenon::converter
