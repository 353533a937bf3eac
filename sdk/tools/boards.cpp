// tenon boards: the boards known, one line each.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <string>

#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {
namespace {

/// "2 MiB": exact where the number of bytes is a whole number of a unit, else with one digit more.
std::string Size(int64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  const bool whole = value == static_cast<double>(static_cast<int64_t>(value));
  return fmt::format("{:.{}f} {}", value, whole ? 0 : 1, units[unit]);
}

/// "cpu x4 + dma; ddr 4 GiB, sram 2 MiB".
std::string Parts(const BoardSummary& board) {
  std::string text;
  for (const BoardSummary::Unit& unit : board.units) {
    if (!text.empty()) text += " + ";
    text += unit.threads > 1 ? fmt::format("{} x{}", unit.name, unit.threads) : unit.name;
  }
  const char* separator = "; ";
  for (const BoardSummary::MemorySpace& space : board.memory_spaces) {
    text += fmt::format("{}{} {}", separator, space.name, Size(space.bytes));
    separator = ", ";
  }
  return text;
}

}  // namespace

void AddBoards(CLI::App& app) {
  CLI::App* command = app.add_subcommand("boards", "Lists the boards known, one line each.");
  command->callback([] {
    for (const BoardSummary& board : BuiltInBoards()) {
      std::cout << fmt::format("{:<11} {} ({})\n", board.name, board.description, Parts(board));
    }
  });
}

}  // namespace tenon::tool
