#include "converter/driver/programs_of_plan.hpp"

#include <utility>

#include "converter/code/code_memory.hpp"
#include "converter/driver/fit_ways.hpp"
#include "converter/driver/memory_needs.hpp"
#include "converter/layout/limit_arenas.hpp"

namespace tenon::converter {
namespace {

/// Divides arenas of which the device gives no piece as large.
Status LimitToPieces(const Board& board, Compiled& compiled, ParallelPrograms& parallel) {
  const int64_t most = board.ArenaSpace()->largest_allocation_bytes;
  TENON_RETURN_IF_ERROR(LimitArenas(most, compiled.arena));
  if (most > 0) compiled.memory.arena_bytes = compiled.arena.bytes;
  if (parallel.pipeline) TENON_RETURN_IF_ERROR(LimitArenas(most, parallel.pipeline->arenas.plan));
  if (parallel.inter) TENON_RETURN_IF_ERROR(LimitArenas(most, parallel.inter->program.arena));
  if (parallel.shards) TENON_RETURN_IF_ERROR(LimitArenas(most, parallel.shards->arena));
  if (parallel.inter_shards) {
    TENON_RETURN_IF_ERROR(LimitArenas(most, parallel.inter_shards->program.arena));
  }
  return {};
}

std::vector<ProgramToEmit> ProgramsToEmit(const ProgramsOfPlan& made, const Board& board) {
  const ParallelPrograms& parallel = made.parallel;
  std::vector<ProgramToEmit> programs = {SequentialProgram(made.fitted.compiled, board)};
  if (parallel.pipeline) programs.push_back(parallel.pipeline->ToEmit());
  if (parallel.inter) programs.push_back(parallel.inter->ToEmit());
  if (parallel.shards) {
    programs.push_back(SequentialProgram(*parallel.shards, board));
    programs.back().name = "shards";
    programs.back().mode = converter::ProgramMode::kReplicas;
  }
  if (parallel.inter_shards) programs.push_back(parallel.inter_shards->ToEmit());
  return programs;
}

/// The arenas of ProgramsToEmit, in its order.
std::vector<ArenaPlan*> ArenasOf(ProgramsOfPlan& made) {
  ParallelPrograms& parallel = made.parallel;
  std::vector<ArenaPlan*> arenas = {&made.fitted.compiled.arena};
  if (parallel.pipeline) arenas.push_back(&parallel.pipeline->arenas.plan);
  if (parallel.inter) arenas.push_back(&parallel.inter->program.arena);
  if (parallel.shards) arenas.push_back(&parallel.shards->arena);
  if (parallel.inter_shards) arenas.push_back(&parallel.inter_shards->program.arena);
  return arenas;
}

void ReportArena(const ArenaPlan& arena, MemoryReport& memory) {
  memory.arena_bytes = arena.bytes;
  memory.lower_bound = arena.lower_bound;
  memory.proven_optimal = arena.proven_optimal;
}

/// Makes the code of an accelerator's segments, for which the host's memory holds only what they
/// exchange. Returns what the accelerator cannot run after all.
std::vector<RefusedOp> MakeCodes(const Board& board, ProgramsOfPlan& made) {
  const std::vector<ArenaPlan*> arenas = ArenasOf(made);
  for (size_t i = 0; i < arenas.size(); ++i) KeepOnChip(board, made.programs[i], *arenas[i]);
  GeneratedCodes codes = GenerateCodes(board, made.programs);
  made.codes = std::move(codes.segments);
  if (!codes.refused.empty()) return std::move(codes.refused);
  for (size_t i = 0; i < arenas.size(); ++i) AddScratch(made.programs[i], *arenas[i]);
  ReportArena(made.fitted.compiled.arena, made.fitted.compiled.memory);
  return {};
}

/// Returns the bytes of the arena's space that the programs need and the board has not.
Result<int64_t> MissingBytes(const std::vector<ProgramToEmit>& programs, const Board& board) {
  TENON_ASSIGN_OR_RETURN(const std::vector<SpaceNeed> needs, NeedsOf(programs, board));
  const MemorySpace& space = *board.ArenaSpace();
  return NeedOf(needs, space.name).bytes() - space.usable_bytes();
}

/// As CompileToFit on a board that may have been told of less memory than there is; then the error
/// is the one that says what there is.
Status Fit(const Graph& graph, const Board& board, const CompileOptions& compile,
           const SplitOptions& split, ProgramsOfPlan& made) {
  Result<Fitted> fitted = CompileToFit(graph, compile, split);
  if (fitted.ok()) {
    made.fitted = std::move(*fitted);
    return {};
  }
  const bool is_told_less = compile.board().ArenaSpace()->bytes < board.ArenaSpace()->bytes;
  if (is_told_less && fitted.error().kind == ErrorKind::kDoesNotFit) {
    TENON_RETURN_IF_ERROR(CheckTogether(made.programs, board));
  }
  return fitted.error();
}

}  // namespace

Status MakePrograms(const Graph& graph, const Board& board, const SplitOptions& split,
                    const ParallelOptions& parallel, CompileOptions& compile,
                    ProgramsOfPlan& made) {
  made.board = board;
  compile.kernels.board = &made.board;
  for (int tries = 4;;) {
    TENON_RETURN_IF_ERROR(Fit(graph, board, compile, split, made));
    TENON_ASSIGN_OR_RETURN(made.parallel,
                           MakeParallelPrograms(graph, made.fitted, compile, split, parallel));
    TENON_RETURN_IF_ERROR(LimitToPieces(board, made.fitted.compiled, made.parallel));
    made.programs = ProgramsToEmit(made, board);
    if (AcceleratorUnit(board) == nullptr) return {};
    const std::vector<RefusedOp> found = MakeCodes(board, made);
    if (found.empty()) {
      TENON_ASSIGN_OR_RETURN(const int64_t missing, MissingBytes(made.programs, board));
      if (missing <= 0 || tries-- == 0) return {};
      made.board.FindSpace(made.board.ArenaSpace()->name)->bytes -= missing;
      continue;
    }
    std::vector<RefusedOp>& refused = compile.kernels.refused;
    refused.insert(refused.end(), found.begin(), found.end());
  }
}

Status CheckTogether(const std::vector<ProgramToEmit>& programs, const Board& board) {
  TENON_ASSIGN_OR_RETURN(const std::vector<SpaceNeed> needs, NeedsOf(programs, board));
  const SpaceNeed* shortage = FindShortage(needs, board);
  if (shortage == nullptr) return {};
  Error error{ErrorKind::kDoesNotFit, "", {}};
  error.message =
      fmt::format("the plan's programs need {} bytes of '{}', {} are available", shortage->bytes(),
                  shortage->space, board.FindSpace(shortage->space)->usable_bytes());
  error.details.push_back("--parallel=intra leaves out programs for several threads");
  return error;
}

}  // namespace tenon::converter
