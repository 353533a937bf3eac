// tenon boards: the boards known, one line each.
#include <iostream>

#include "converter/board/board.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

void AddBoards(CLI::App& app) {
  CLI::App* command = app.add_subcommand("boards", "Lists the boards known, one line each.");
  command->callback([] {
    for (const converter::Board& board : converter::BuiltInBoards()) {
      std::cout << fmt::format("{:<14} {}\n", board.name, board.description);
    }
  });
}

}  // namespace tenon::tool
