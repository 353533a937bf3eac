#include "converter/driver/refusal.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "converter/layout/storage_uses.hpp"

namespace tenon::converter {
namespace {

/// The step at which the most bytes are alive in the arena that ops run from.
struct PeakStep {
  std::string op;
  int64_t bytes = 0;
};

PeakStep FindPeakStep(const Compiled& compiled, const std::string& space,
                      const std::string& arena_space) {
  const ArenaPlan& arena = compiled.arena;
  const auto is_there = [&](const PlannedStorage& storage) {
    const auto index = static_cast<size_t>(storage.arena);
    const std::string& named = index < arena.arenas.size() ? arena.arenas[index].space : "";
    return !storage.on_chip && (named.empty() ? arena_space : named) == space;
  };
  const std::vector<int64_t> taken = TakenBytes(arena, /*alignment=*/1, is_there);
  const auto most = std::max_element(taken.begin(), taken.end());
  if (most == taken.end() || *most == 0) return {};
  return {compiled.graph.op(arena.steps[static_cast<size_t>(most - taken.begin())]).name, *most};
}

/// Returns the program that is closest to fitting: within the arena's space if any is, then with
/// the least need of what is short.
const RefusedProgram& Closest(const std::vector<RefusedProgram>& programs, const Board& board) {
  const MemorySpace& arena = *board.ArenaSpace();
  const auto rank = [&](const RefusedProgram& program) {
    const SpaceNeed own = NeedOf(program.needs, arena.name);
    const bool fits_arena = own.bytes() <= arena.usable_bytes();
    const SpaceNeed* shortage = FindShortage(program.needs, board);
    return std::make_pair(fits_arena ? 0 : 1,
                          fits_arena && shortage != nullptr ? shortage->bytes() : own.bytes());
  };
  return *std::min_element(
      programs.begin(), programs.end(),
      [&](const RefusedProgram& a, const RefusedProgram& b) { return rank(a) < rank(b); });
}

std::string PartsOf(const SpaceNeed& need) {
  std::string text;
  const auto add = [&](const char* what, int64_t bytes) {
    if (bytes > 0) text += fmt::format("{}{} bytes of {}", text.empty() ? "" : ", ", bytes, what);
  };
  add("arenas", need.arenas);
  add("constants", need.constants);
  add("packed weights", need.packed);
  return text;
}

int64_t UsableBytes(const MemorySpace& space) { return std::max<int64_t>(space.usable_bytes(), 0); }

std::string TooFewBytes(int64_t needed, const MemorySpace& space) {
  return fmt::format("the model needs {} bytes of '{}', {} are available", needed, space.name,
                     UsableBytes(space));
}

}  // namespace

Error RefusalOf(const std::vector<RefusedProgram>& programs, const Board& board,
                bool split_allowed) {
  const RefusedProgram& program = Closest(programs, board);
  const Compiled& compiled = program.fitted.compiled;
  Error error{ErrorKind::kDoesNotFit, "", {}};
  std::vector<std::string> works;
  for (const SpaceNeed& need : program.needs) {
    const MemorySpace& space = *board.FindSpace(need.space);
    if (need.bytes() <= space.usable_bytes()) continue;
    const std::string what = TooFewBytes(need.bytes(), space);
    if (error.message.empty()) {
      error.message = what;
    } else {
      error.details.push_back("and " + what);
    }
    error.details.push_back(fmt::format("in '{}': {}", need.space, PartsOf(need)));
    works.push_back(fmt::format("--memory-limit {}={}", need.space, need.bytes()));
  }
  const PeakStep peak =
      FindPeakStep(compiled, FindShortage(program.needs, board)->space, board.ArenaSpace()->name);
  if (!peak.op.empty()) {
    error.details.push_back(
        fmt::format("most is needed while '{}' runs: {} bytes of tensors and workspace are alive",
                    peak.op, peak.bytes));
  }
  const MemoryReport& memory = compiled.memory;
  if (!split_allowed && !memory.largest_op.empty()) {
    error.details.push_back(fmt::format("'{}' alone needs {} bytes: whole ops do not fit less",
                                        memory.largest_op, memory.largest_op_bytes));
  }
  error.details.push_back(split_allowed ? "that is with everything split that helps"
                                        : "--split=auto may need less");
  if (works.size() == 1) {
    error.details.push_back("the smallest limit that works is " + works[0]);
  } else {
    std::string all;
    for (const std::string& limit : works) all += " " + limit;
    error.details.push_back("the smallest limits that work are" + all);
  }
  for (const ArenaBeside& beside : compiled.memory.beside) {
    error.details.push_back(fmt::format("with that limit the rest lies in '{}'", beside.space));
  }
  return error;
}

Error RefusalOfConstants(int64_t constants, const SpaceNeed& arena, const Board& board) {
  const MemorySpace& space = ConstantsSpace(board);
  Error error{ErrorKind::kDoesNotFit, TooFewBytes(constants, space), {}};
  error.details.push_back(
      fmt::format("in '{}': constants, which no split makes fewer", space.name));
  error.details.push_back(
      fmt::format("at least --memory-limit {}={} is needed", space.name, constants));
  error.details.push_back(
      fmt::format("whole ops need {} bytes of '{}' too, {} are available; how few would do with "
                  "everything split was not looked for",
                  arena.bytes(), arena.space, UsableBytes(*board.ArenaSpace())));
  return error;
}

std::map<std::string, int64_t> LimitsIn(const std::string& line) {
  constexpr std::string_view kOption = "--memory-limit ";
  std::map<std::string, int64_t> limits;
  for (size_t at = line.find(kOption); at != std::string::npos; at = line.find(kOption, at + 1)) {
    const size_t name = at + kOption.size();
    const size_t equals = line.find('=', name);
    if (equals == std::string::npos) break;
    limits[line.substr(name, equals - name)] = std::atoll(line.c_str() + equals + 1);
  }
  return limits;
}

int64_t OfferedLimit(const Error& refused, const std::string& space) {
  for (const std::string& line : refused.details) {
    const std::map<std::string, int64_t> limits = LimitsIn(line);
    if (const auto found = limits.find(space); found != limits.end()) return found->second;
  }
  return 0;
}

}  // namespace tenon::converter
