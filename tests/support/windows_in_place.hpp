// How many states of a plan are windows that move on in their place.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "runtime/format/plan_view.hpp"
#include "tests/support/plan_bytes.hpp"

namespace tenon::test {

/// Counts the states of the first program whose `read` and `write` lie in one storage.
inline int WindowsInPlace(const std::vector<uint8_t>& bytes) {
  const PlanBytes plan(bytes);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(plan.data()), plan.size()});
  REQUIRE(view.ok());
  const ProgramView program = view->program(0);
  int count = 0;
  for (size_t i = 0; i < program.state_count(); ++i) {
    const StateInfo state = program.state(i);
    count += program.tensor_storage(state.read) == program.tensor_storage(state.write) ? 1 : 0;
  }
  return count;
}

}  // namespace tenon::test
