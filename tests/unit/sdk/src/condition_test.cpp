// Ops that runs pass over where a select takes its other operand.
#include <cstring>
#include <vector>

#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

/// The index comes from the caller: out of range, the op says so when it runs.
constexpr const char* kGathersIfAsked = R"(graph chosen
input %c: bool[1]
input %i: i32[1]
input %x: f32[4]
%one = unary(%x) {function=exp}
%g = gather(%one, %i) {axis=0}
%n = unary(%g) {function=neg}
const %zero: f32[1] = [0]
%y = select(%c, %n, %zero)
output %y
)";

struct Outcome {
  tenon_status status = TENON_OK;
  float y = 0;
  size_t recorded = 0;  ///< ops
};

Outcome Run(const SessionForTest& session, bool condition, int32_t index, bool traced = false) {
  const float x[4] = {0, 1, 2, 3};
  std::memcpy(tenon_session_input(session.get(), 0), &condition, 1);
  std::memcpy(tenon_session_input(session.get(), 1), &index, sizeof index);
  std::memcpy(tenon_session_input(session.get(), 2), x, sizeof x);
  Outcome outcome;
  tenon_trace trace{};
  trace.context = &outcome;
  trace.clock_nanoseconds = [](void*) -> uint64_t { return 0; };
  trace.record = [](void* context, size_t, uint64_t) {
    ++static_cast<Outcome*>(context)->recorded;
  };
  tenon_error error;
  outcome.status = traced ? tenon_session_run_traced(session.get(), &trace, &error)
                          : tenon_session_run(session.get(), &error);
  std::memcpy(&outcome.y, tenon_session_output(session.get(), 0), sizeof outcome.y);
  return outcome;
}

TEST_CASE("Conditions: a branch that is not taken is not run, whatever its index says") {
  const LoadedForTest plan(PlanOf(kGathersIfAsked));
  const SessionForTest session(plan);
  CHECK(Run(session, true, 0).y == -1.0F);
  CHECK(Run(session, false, 0).y == 0.0F);
  CHECK(Run(session, false, 4).status == TENON_OK);
  CHECK(Run(session, true, 4).status == TENON_INVALID_ARGUMENT);
  CHECK(Run(session, false, 4).y == 0.0F);
  CHECK(Run(session, true, 0).y == -1.0F);
}

TEST_CASE("Conditions: ops that are passed over take no time") {
  const LoadedForTest plan(PlanOf(kGathersIfAsked));
  const SessionForTest session(plan);
  CHECK(Run(session, true, 0, /*traced=*/true).recorded == 4);
  CHECK(Run(session, false, 0, /*traced=*/true).recorded == 1);
}

}  // namespace
}  // namespace tenon::test
