// Groups of ops on the CPU: each op on a thread that is free, with the values of one after the
// other.
#include "tests/unit/sdk/src/device_testing.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {
namespace {

/// Three functions of the input, of which two sums make the output.
PlanSpec ThreeBranches() {
  DeviceGraph graph;
  graph.backends = {"cpu"};
  graph.ops = {{{0}, 0, UnaryFunction::kNeg},
               {{0}, 0, UnaryFunction::kExp},
               {{0}, 0, UnaryFunction::kTanh},
               {{1, 2}, 0},
               {{4, 3}, 0}};
  graph.outputs = {5};
  graph.elements = 1000;
  return DevicePlan(graph).spec();
}

std::vector<float> RunOnce(const SessionForTest& session, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(1000);
  for (float& value : x) value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
  std::memcpy(tenon_session_input(session.get(), 0), x.data(), x.size() * sizeof(float));
  tenon_error error;
  REQUIRE_MESSAGE(tenon_session_run(session.get(), &error) == TENON_OK, error.message);
  const auto* y = static_cast<const float*>(tenon_session_output(session.get(), 0));
  return {y, y + x.size()};
}

TEST_CASE("Groups on the CPU: any number of threads gives the values of one op after the other") {
  PlanSpec spec = ThreeBranches();
  const LoadedForTest alone(spec.Write(), 1, tenon_backend_cpu());
  const SessionForTest expected(alone);
  spec.groups = {{{0, 1, 2}}};
  for (const int threads : {1, 2, 3, 8}) {
    CAPTURE(threads);
    const LoadedForTest plan(spec.Write(), threads, tenon_backend_cpu());
    const SessionForTest session(plan);
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      CHECK(RunOnce(session, seed) == RunOnce(expected, seed));
    }
  }
}

}  // namespace
}  // namespace tenon::test
