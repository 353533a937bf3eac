#include "converter/cost/simulated_board.hpp"

#include <fmt/format.h>

#include <utility>

namespace tenon::converter {

SimulatedBoard::SimulatedBoard(Board board) : board_(std::move(board)) {
  for (const Unit& unit : board_.units) {
    program_.units.push_back(unit.name);
    program_.ports.push_back(
        {fmt::format("port of {}", unit.name), board_.PortBytesPerSecond(unit), false});
  }
  for (const MemorySpace& space : board_.memory_spaces) {
    port_of_space_.push_back(space.shared ? static_cast<int32_t>(program_.ports.size()) : kNone);
    if (space.shared) {
      program_.ports.push_back({space.name, space.bandwidth_bytes_per_second, true});
    }
  }
}

void SimulatedBoard::UseSpace(const MemorySpace* space, int64_t bytes, SimulatedStep& step) const {
  if (space == nullptr) return;
  const int32_t port = port_of_space_[static_cast<size_t>(space - board_.memory_spaces.data())];
  if (port != kNone) step.uses.push_back({port, bytes});
}

SimulatedStep SimulatedBoard::OpStep(int32_t unit, const OpTime& time) const {
  SimulatedStep step;
  step.unit = unit;
  step.fixed = time.fixed;
  step.compute = time.compute;
  if (time.bytes > 0) {
    step.uses.push_back({unit, time.bytes});
    UseSpace(board_.SpaceOf(board_.units[static_cast<size_t>(unit)]), time.bytes, step);
  }
  return step;
}

SimulatedStep SimulatedBoard::TransferStep(int32_t link_index, int64_t bytes,
                                           int32_t own_unit) const {
  const Link& link = board_.links[static_cast<size_t>(link_index)];
  const OpTime time = TransferTime(board_, link, bytes);
  const Unit* mover = board_.FindUnit(link.unit);
  SimulatedStep step;
  step.unit = mover == nullptr ? own_unit : static_cast<int32_t>(mover - board_.units.data());
  step.fixed = time.fixed;
  step.compute = time.compute;
  UseSpace(board_.FindSpace(link.from), bytes, step);
  UseSpace(board_.FindSpace(link.to), bytes, step);
  return step;
}

}  // namespace tenon::converter
