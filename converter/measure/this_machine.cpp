#include "converter/measure/this_machine.hpp"

namespace tenon::converter {

std::string_view ThisArchitecture() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#elif defined(__arm__)
  return "arm";
#elif defined(__riscv) && __riscv_xlen == 64
  return "riscv64";
#else
  return "of a kind that boards have no word for";
#endif
}

Status CheckIsThisMachine(const Board& board) {
  const std::string_view here = ThisArchitecture();
  for (const Unit& unit : board.units) {
    if (unit.backend != "cpu" || unit.kind == "cpu" || unit.IsTransferOnly()) continue;
    return UsageError(
        "board '{}' cannot be measured here: its unit '{}' is of kind '{}', and on this machine "
        "the "
        "processor would stand in for it. Convert with the board's own figures, without a profile",
        board.name, unit.name, unit.kind);
  }
  if (board.architecture.empty()) {
    return UsageError(
        "board '{}' does not say what its processor is, so nothing shows that it is this machine, "
        "which is {}. If it is, add \"architecture\": \"{}\" to the board's file",
        board.name, here, here);
  }
  if (board.architecture == here) return {};
  return UsageError(
      "board '{}' cannot be measured here: its processor is {}, and this machine is {}. Measure on "
      "the board itself, or convert with the board's own figures",
      board.name, board.architecture, here);
}

}  // namespace tenon::converter
