#include "converter/driver/direct_space.hpp"

#include <algorithm>
#include <utility>

#include "converter/driver/memory_needs.hpp"
#include "converter/layout/two_arenas.hpp"

namespace tenon::converter {
namespace {

/// Returns the bytes of the direct space that are left after the constants, if those are in it.
int64_t DirectLimit(const Board& board, const Compiled& compiled) {
  const MemorySpace& direct = *board.DirectSpace();
  if (&ConstantsSpace(board) != &direct) return direct.usable_bytes();
  const Result<std::vector<SpaceNeed>> needs = NeedsOf(compiled, board);
  return needs.ok() ? direct.usable_bytes() - NeedOf(*needs, direct.name).constants : 0;
}

/// Returns the time of an op whose bytes move at the bandwidth of their own space, one after
/// another.
Picoseconds TimeInSpaces(const OpTime& op, int64_t direct_bytes, double arena, double direct) {
  const auto time = [](int64_t bytes, double rate) {
    return TimeAtRate(static_cast<double>(bytes), rate);
  };
  if (op.measured) {  // measured with everything in the arena's space
    const Picoseconds more = time(direct_bytes, direct) - time(direct_bytes, arena);
    return op.fixed + op.compute + std::max<Picoseconds>(more, 0);
  }
  const int64_t there = std::min(direct_bytes, op.bytes);
  return op.fixed + std::max(op.compute, time(op.bytes - there, arena) + time(there, direct));
}

void PredictAgain(const CompileOptions& options, Compiled& compiled) {
  const Unit* unit = ComputeUnit(options.board());
  if (unit == nullptr || compiled.time.units.size() != 1) return;
  const MemorySpace& direct = *options.board().DirectSpace();
  const auto model = MakeCostModel(options.board(), options.profile, &compiled.locations);
  const double bandwidth = options.board().PortBytesPerSecond(*unit);
  Picoseconds more = 0;
  for (const OpId id : compiled.arena.steps) {
    const Op& op = compiled.graph.op(id);
    const OpTime time = model->TimeOf(compiled.graph, op, *unit);
    const int64_t there =
        OperandBytesIn(compiled.graph, compiled.locations, compiled.arena, direct.name, op);
    more += TimeInSpaces(time, there, bandwidth, direct.bandwidth_bytes_per_second) -
            time.Alone(bandwidth);
  }
  TimeReport& report = compiled.time;
  report.after += more;
  report.before = report.lower_bound = report.after;
  report.units[0].before = report.units[0].after = report.after;
}

std::optional<ArenaPlan> Spread(const CompileOptions& options, int64_t limit,
                                const Compiled& compiled) {
  constexpr int64_t kShare = 8;  // divides the work budget of one arena's placement
  const Board& board = options.board();
  const MemorySpace& arena = *board.ArenaSpace();
  const MemorySpace& direct = *board.DirectSpace();
  const TwoSpaces spaces = {
      {"", limit, arena.bandwidth_bytes_per_second},
      {direct.name, DirectLimit(board, compiled), direct.bandwidth_bytes_per_second}};
  return SpreadOverTwoArenas(compiled.graph, compiled.locations, compiled.arena, spaces,
                             options.arena.place.work_budget / kShare);
}

}  // namespace

bool SpreadOverSpaces(const CompileOptions& options, int64_t limit, Compiled& compiled) {
  if (options.board().DirectSpace() == nullptr) return false;
  std::optional<ArenaPlan> plan = Spread(options, limit, compiled);
  if (!plan) return false;
  compiled.arena = std::move(*plan);
  MemoryReport& memory = compiled.memory;
  memory.arena_bytes = compiled.arena.bytes;
  memory.lower_bound = compiled.arena.lower_bound;
  memory.proven_optimal = compiled.arena.proven_optimal;
  memory.place_work = compiled.arena.place_work;
  memory.beside.clear();
  for (const PlannedArena& arena : compiled.arena.arenas) {
    if (!arena.space.empty()) memory.beside.push_back({arena.space, arena.bytes});
  }
  PredictAgain(options, compiled);
  return true;
}

int64_t SmallestSpread(const CompileOptions& options, int64_t most, const Compiled& compiled) {
  if (options.board().DirectSpace() == nullptr) return most;
  constexpr int64_t kPrecision = 256;  // of what the arena has whole
  int64_t fails = -1;
  int64_t works = PaddedBytes(most) / kStorageAlignment;
  const int64_t precise = std::max<int64_t>(works / kPrecision, 1);
  while (works - fails > precise) {
    const int64_t middle = fails + (works - fails) / 2;
    (Spread(options, middle * kStorageAlignment, compiled) ? works : fails) = middle;
  }
  return std::min(most, works * kStorageAlignment);
}

}  // namespace tenon::converter
