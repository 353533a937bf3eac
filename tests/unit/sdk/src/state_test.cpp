// What sessions keep from one run to the next.
#include <cstring>
#include <vector>

#include "tests/unit/sdk/src/plan_of_testing.hpp"

namespace tenon::test {
namespace {

/// next = x + s, y = next * s; s finds next in the run after, and begins with 1, 2, 3, 4.
constexpr const char* kSumsAndProducts = R"(graph sums
input %x: f32[4]
input %s: f32[4]
%n = binary(%x, %s)
%y = binary(%n, %s) {function=mul}
output %n as "next"
output %y as "y"
state "s" = "next" from [1, 2, 3, 4]
)";

using FourValues = std::vector<float>;

FourValues Step(const SessionForTest& session, const FourValues& x) {
  std::memcpy(tenon_session_input(session.get(), 0), x.data(), x.size() * sizeof(float));
  tenon_error error;
  REQUIRE(tenon_session_run(session.get(), &error) == TENON_OK);
  FourValues y(4);
  std::memcpy(y.data(), tenon_session_output(session.get(), 0), y.size() * sizeof(float));
  return y;
}

TEST_CASE("State: is no port, begins as the model says, and is what the run before has written") {
  const LoadedForTest plan(PlanOf(kSumsAndProducts));
  CHECK(tenon_plan_input_count(plan.get()) == 1);
  CHECK(tenon_plan_output_count(plan.get()) == 1);
  const SessionForTest session(plan);
  CHECK(Step(session, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});  // s = 1, 2, 3, 4
  CHECK(Step(session, {1, 0, 0, 0}) == FourValues{6, 9, 16, 25});  // s = 2, 3, 4, 5
  CHECK(Step(session, {0, 0, 0, -5}) == FourValues{9, 9, 16, 0});  // s = 3, 3, 4, 5
  CHECK(Step(session, {0, 0, 0, 7}) == FourValues{9, 9, 16, 0});   // s = 3, 3, 4, 0
}

TEST_CASE("State: two sessions of a plan keep their own") {
  const LoadedForTest plan(PlanOf(kSumsAndProducts));
  const SessionForTest one(plan);
  const SessionForTest other(plan);
  CHECK(Step(one, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});
  CHECK(Step(other, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});
  CHECK(Step(one, {1, 0, 0, 0}) == FourValues{6, 9, 16, 25});
  CHECK(Step(one, {0, 0, 0, 0}) == FourValues{9, 9, 16, 25});
  CHECK(Step(other, {1, 0, 0, 0}) == FourValues{6, 9, 16, 25});
}

TEST_CASE("State: a reset begins anew") {
  const LoadedForTest plan(PlanOf(kSumsAndProducts));
  const SessionForTest session(plan);
  const SessionForTest other(plan);
  CHECK(Step(session, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});
  CHECK(Step(other, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});
  tenon_error error;
  REQUIRE(tenon_session_reset(session.get(), &error) == TENON_OK);
  CHECK(Step(session, {1, 1, 1, 1}) == FourValues{2, 6, 12, 20});
  CHECK(Step(other, {1, 0, 0, 0}) == FourValues{6, 9, 16, 25});
  CHECK(tenon_session_reset(nullptr, &error) == TENON_INVALID_ARGUMENT);
}

TEST_CASE("State: without a first value it begins with zeros, whatever the arena holds") {
  std::string text = kSumsAndProducts;
  text.resize(text.find(" from"));
  const LoadedForTest plan(PlanOf(text));
  ArenasForTest arenas(plan.get());
  for (size_t i = 0; i < arenas.size(); ++i) {
    std::memset(arenas.data()[i].data, 0x55, arenas.data()[i].bytes);
  }
  Memory state = MakeMemory(tenon_session_state_size(plan.get()));
  tenon_session* session = nullptr;
  tenon_error error;
  REQUIRE(tenon_session_create(plan.get(), state.data(), tenon_session_state_size(plan.get()),
                               arenas.data(), arenas.size(), &session, &error) == TENON_OK);
  for (int run = 0; run < 3; ++run) {
    const FourValues x(4, 1.0F);
    std::memcpy(tenon_session_input(session, 0), x.data(), sizeof(float) * 4);
    REQUIRE(tenon_session_run(session, &error) == TENON_OK);
    float y = 0;
    std::memcpy(&y, tenon_session_output(session, 0), sizeof y);
    CHECK(y == static_cast<float>((run + 1) * run));
  }
  tenon_session_destroy(session);
}

TEST_CASE("State: a run that fails leaves it as it was") {
  // The index comes from the caller: out of range, the op says so when it runs.
  const LoadedForTest plan(PlanOf(R"(graph chosen
input %i: i32[1]
input %s: f32[4]
%a = unary(%s) {function=identity}
const %one: f32[1] = [1]
%n = binary(%s, %one)
%y = gather(%n, %i) {axis=0}
output %n as "next"
output %y as "y"
state "s" = "next"
)"));
  const SessionForTest session(plan);
  const auto run = [&](int32_t index, float* y) {
    std::memcpy(tenon_session_input(session.get(), 0), &index, sizeof index);
    tenon_error error;
    const tenon_status status = tenon_session_run(session.get(), &error);
    std::memcpy(y, tenon_session_output(session.get(), 0), sizeof *y);
    return status;
  };
  float y = 0;
  CHECK(run(0, &y) == TENON_OK);
  CHECK(y == 1.0F);
  CHECK(run(7, &y) != TENON_OK);
  CHECK(run(0, &y) == TENON_OK);
  CHECK(y == 2.0F);
}

/// The sum of a window of 4 that moves on by one: 1, 2, 3 at first.
constexpr const char* kMovingSum = R"(graph moving
input %x: f32[1]
input %s: f32[3]
%n = unary(%x) {function=relu}
%w = concat(%s, %n) {axis=0}
%k = slice(%w) {begins=[1], sizes=[3], steps=[1]}
%y = reduce(%w) {function=sum, axes_mask=1}
output %y
output %k
state "s" = "k" from [1, 2, 3]
)";

TEST_CASE("State: a window moves on in its place, from the first value that the model has") {
  const LoadedForTest plan(PlanOf(kMovingSum));
  const SessionForTest session(plan);
  const auto step = [&](float x) {
    std::memcpy(tenon_session_input(session.get(), 0), &x, sizeof x);
    tenon_error error;
    REQUIRE(tenon_session_run(session.get(), &error) == TENON_OK);
    float y = 0;
    std::memcpy(&y, tenon_session_output(session.get(), 0), sizeof y);
    return y;
  };
  for (int round = 0; round < 2; ++round) {
    CHECK(step(10) == 16);
    CHECK(step(20) == 35);   // 2 + 3 + 10 + 20
    CHECK(step(30) == 63);   // 3 + 10 + 20 + 30
    CHECK(step(40) == 100);  // 10 + 20 + 30 + 40
    tenon_error error;
    REQUIRE(tenon_session_reset(session.get(), &error) == TENON_OK);
  }
}

}  // namespace
}  // namespace tenon::test
