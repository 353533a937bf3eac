#include "converter/measure/this_machine.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tenon::converter {
namespace {

void AddUnit(Board& board, const std::string& name, const std::string& backend,
             const std::string& kind) {
  Unit& unit = board.units.emplace_back();
  unit.name = name;
  unit.backend = backend;
  unit.kind = kind;
}

/// A board of one processor, of which its file says this much.
Board BoardOf(const std::string& architecture) {
  Board board;
  board.name = "mine";
  board.architecture = architecture;
  AddUnit(board, "core", "cpu", "cpu");
  return board;
}

std::string MessageOf(const Board& board) {
  const Status status = CheckIsThisMachine(board);
  if (status.ok()) return "";
  CHECK(status.error().kind == ErrorKind::kUsage);
  return status.error().message;
}

bool Contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("CheckIsThisMachine: a board with this machine's processor is, whatever its name") {
  Board board = BoardOf(std::string(ThisArchitecture()));
  CHECK(MessageOf(board) == "");
  AddUnit(board, "gpu", "opencl", "gpu");
  AddUnit(board, "mover", "cpu", "dma");
  CHECK(MessageOf(board) == "");
}

TEST_CASE("CheckIsThisMachine: a board with another processor is not, and both are named") {
  const std::string message = MessageOf(BoardOf("cortex-m"));
  CHECK(Contains(message, "board 'mine' cannot be measured here: its processor is cortex-m"));
  CHECK(Contains(message, std::string("this machine is ") + std::string(ThisArchitecture())));
}

TEST_CASE("CheckIsThisMachine: a board that does not name its processor is told how") {
  const std::string message = MessageOf(BoardOf(""));
  CHECK(Contains(message, "board 'mine' does not say what its processor is"));
  CHECK(Contains(message, "add \"architecture\": \"" + std::string(ThisArchitecture()) + "\""));
}

TEST_CASE("CheckIsThisMachine: a device for which the processor's kernels stand in is not here") {
  Board board = BoardOf(std::string(ThisArchitecture()));
  AddUnit(board, "grid", "cpu", "matrix");
  CHECK(Contains(MessageOf(board), "its unit 'grid' is of kind 'matrix'"));
}

TEST_CASE("CheckIsThisMachine: of the boards built in, a PC is those of PCs") {
  for (const Board& board : BuiltInBoards()) {
    CAPTURE(board.name);
    const bool is_pc = board.architecture == "x86-64";
    CHECK(is_pc == board.name.starts_with("x86-64"));
    CHECK((MessageOf(board) == "") == (board.architecture == ThisArchitecture()));
  }
}

}  // namespace tenon::converter
