// Makes a pipeline of a model (docs/methods.md, M4, R1): stages on the board's units that work on
// successive inputs at the same time, and channels between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/schedule/schedule.hpp"
#include "converter/solve/program/memory_program.hpp"
#include "converter/solve/stage/cut_stages.hpp"
#include "converter/stage/program_options.hpp"
#include "converter/stage/stage_arenas.hpp"
#include "converter/stage/staged_graph.hpp"

namespace tenon::converter {

struct PipelineOptions : ProgramOptions {
  ParallelOptions parallel;
  int32_t least_stages = 1;
  CutOptions cut = {};
  BoundaryOptions improve = {};
  /// What all arenas may take, every slot counted; 0: no limit. Where they would take more, stages
  /// run ops again.
  int64_t memory_limit = 0;
  MemoryProgramOptions program = {};
};

/// One cut, as it was built.
struct BalanceRound {
  size_t stages = 0;
  Picoseconds period = 0;
  double rate = 1;  ///< BalanceRate
  int64_t memory_bytes = 0;
  int repeated = 0;  ///< runs of ops beyond their first, by the stages' memory programs
};

struct PipelineReport {
  struct Stage {
    std::string unit;
    size_t ops = 0;  ///< ops that execute
    Picoseconds time = 0;
    int64_t arena_bytes = 0;  ///< of the stage's own arena
    int repeated = 0;         ///< runs of ops beyond their first, by its memory program
    std::string copy_engine;  ///< that makes its copies beside its ops; empty: its unit makes them
    size_t copies = 0;        ///< which fetch constants, those of the ops above
    Picoseconds copy_time = 0;
  };
  struct Channel {
    int32_t from = 0;
    int32_t to = 0;
    int32_t depth = 0;
    int64_t slot_bytes = 0;
  };
  std::vector<Stage> stages;
  std::vector<Channel> channels;
  Picoseconds period = 0;  ///< simulated, with the depths chosen
  Picoseconds bound = 0;   ///< largest sum of the times of one unit's steps, or of one stage
  /// The shortest of all cuts tried if stages' units made all copies; and what no overlap of copies
  /// and ops goes below with this cut.
  Picoseconds period_without_engine = 0;
  Picoseconds overlap_bound = 0;
  Picoseconds latency = 0;  ///< of one input alone
  /// The unit that would run every op of the model soonest by itself, one thread of a CPU; empty:
  /// no unit runs them all.
  std::string best_alone;
  Picoseconds alone = 0;     ///< what it would take for one input
  int64_t memory_bytes = 0;  ///< all arenas, every slot counted
  bool exact = false;        ///< no cut of the ops' order has a shorter period, by the model
  double balance = 1;        ///< BalanceRate
  double balance_bound = 1;  ///< BalanceBound
  std::vector<BalanceRound> rounds;  ///< cuts in the order in which they were tried
  size_t kept_round = 0;
};

struct PipelineProgram {
  StagedGraph staged;
  StageArenas arenas;
  /// Worker i is that of stage i; those behind make copies for the stages that a copy engine helps.
  Schedule schedule;
  std::vector<std::string> worker_names;  ///< names of the units
  std::vector<MappedOp> mapping;
  std::vector<PassReport> passes;
  PipelineReport report;

  /// Returns a view that borrows from this object.
  [[nodiscard]] ProgramToEmit ToEmit() const;
};

/// Builds a pipeline from `graph`, which is canonical (fused), without kernels. Errors: kInput,
/// kUsage as ChooseKernels; kUsage if the board allows no pipeline, or if the mapping changes
/// backend more often than the number of stages allows. Deterministic.
[[nodiscard]] Result<PipelineProgram> BuildPipeline(const Graph& graph,
                                                    const PipelineOptions& options);

/// Builds a pipeline from a given cut: the stage of every op (by OpId) and the unit of every stage
/// (index into Board::units). Elements for ops that do not exist are ignored.
[[nodiscard]] Result<PipelineProgram> BuildPipelineFromCut(
    const Graph& graph, const PipelineOptions& options, const std::vector<int32_t>& stage_of_op,
    const std::vector<int32_t>& unit_of_stage);

}  // namespace tenon::converter
