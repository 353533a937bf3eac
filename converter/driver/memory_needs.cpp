#include "converter/driver/memory_needs.hpp"

#include <algorithm>
#include <map>

#include "converter/emit/emit_plan.hpp"

namespace tenon::converter {
namespace {

/// Returns the bytes of a program's arenas, by space.
std::map<std::string, int64_t> ArenaBytes(const ArenaPlan& plan, const Board& board) {
  const std::string& own = board.ArenaSpace()->name;
  std::map<std::string, int64_t> bytes;
  if (plan.arenas.empty()) bytes[own] = plan.bytes;
  for (const PlannedArena& arena : plan.arenas) {
    const int64_t slots = arena.slots;
    bytes[arena.space.empty() ? own : arena.space] +=
        slots == 1 ? arena.bytes : slots * PaddedBytes(arena.bytes);
  }
  return bytes;
}

}  // namespace

ProgramToEmit SequentialProgram(const Compiled& compiled, const Board& board) {
  ProgramToEmit program;
  program.graph = &compiled.graph;
  program.locations = &compiled.locations;
  program.arena = &compiled.arena;
  program.schedule = &compiled.schedule;
  program.group_sources = compiled.group_sources;
  for (const int32_t unit : compiled.schedule.unit_of_worker) {
    program.worker_names.push_back(board.units[static_cast<size_t>(unit)].name);
  }
  return program;
}

const MemorySpace& ConstantsSpace(const Board& board) {
  for (const MemorySpace& space : board.memory_spaces) {
    if (space.holds_constants) return space;
  }
  return *board.ArenaSpace();
}

Result<std::vector<SpaceNeed>> NeedsOf(const std::vector<ProgramToEmit>& programs,
                                       const Board& board) {
  std::vector<SpaceNeed> needs;
  for (const MemorySpace& space : board.memory_spaces) {
    SpaceNeed need;
    need.space = space.name;
    for (const ProgramToEmit& program : programs) {
      const std::map<std::string, int64_t> bytes = ArenaBytes(*program.arena, board);
      const auto found = bytes.find(space.name);
      const int64_t arenas = found != bytes.end() ? found->second : 0;
      const int64_t packed = &space == board.ArenaSpace() ? PackedBytes(*program.graph) : 0;
      if (arenas + packed <= need.arenas + need.packed) continue;
      need.arenas = arenas;
      need.packed = packed;
    }
    if (&space == &ConstantsSpace(board)) {
      TENON_ASSIGN_OR_RETURN(need.constants, EmittedConstantBytes(programs));
    }
    needs.push_back(std::move(need));
  }
  return needs;
}

Result<std::vector<SpaceNeed>> NeedsOf(const Compiled& compiled, const Board& board) {
  return NeedsOf({SequentialProgram(compiled, board)}, board);
}

Result<int64_t> BytesBesideArena(const Compiled& compiled, const Board& board) {
  const MemorySpace& space = *board.ArenaSpace();
  if (!space.holds_constants) return PackedBytes(compiled.graph);
  TENON_ASSIGN_OR_RETURN(const std::vector<SpaceNeed> needs, NeedsOf(compiled, board));
  const SpaceNeed need = NeedOf(needs, space.name);
  return need.constants + need.packed;
}

const SpaceNeed* FindShortage(const std::vector<SpaceNeed>& needs, const Board& board) {
  for (const SpaceNeed& need : needs) {
    if (need.bytes() > board.FindSpace(need.space)->usable_bytes()) return &need;
  }
  return nullptr;
}

SpaceNeed NeedOf(const std::vector<SpaceNeed>& needs, const std::string& space) {
  for (const SpaceNeed& need : needs) {
    if (need.space == space) return need;
  }
  return {space};
}

}  // namespace tenon::converter
