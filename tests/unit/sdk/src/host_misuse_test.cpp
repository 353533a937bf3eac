// The same for what only systems with files and a heap have.
#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {
namespace {

void CheckFailed(tenon_status status, tenon_status expected, const tenon_error& error,
                 std::string_view words) {
  CHECK(status == expected);
  CHECK_MESSAGE(std::string_view(error.message).find(words) != std::string_view::npos,
                error.message);
}

TEST_CASE("tenon_plan_open: a path that is no plan says why") {
  tenon_plan* plan = nullptr;
  tenon_error error;
  CheckFailed(tenon_plan_open("no/such/file", nullptr, 1, &plan, &error), TENON_IO_ERROR, error,
              "no/such/file");
  CheckFailed(tenon_plan_open(".", nullptr, 1, &plan, &error), TENON_IO_ERROR, error,
              "is a directory");
  CheckFailed(tenon_plan_open(nullptr, nullptr, 1, &plan, &error), TENON_INVALID_ARGUMENT, error,
              "path");
  CHECK(tenon_plan_open("x", nullptr, 1, nullptr, nullptr) == TENON_INVALID_ARGUMENT);
  CHECK(plan == nullptr);
}

TEST_CASE("Queries of a host's plan and session: NULL gives zero, and may be closed") {
  CHECK(tenon_plan_packed_bytes(nullptr) == 0);
  CHECK(tenon_plan_program_count(nullptr) == 0);
  CHECK(std::string(tenon_plan_notice(nullptr)).empty());
  CHECK(tenon_session_packed_bytes(nullptr) == 0);
  CHECK(tenon_session_is_busy(nullptr) == 0);
  CHECK(std::string(tenon_session_notice(nullptr)).empty());
  tenon_plan_close(nullptr);
  tenon_session_close(nullptr);
}

TEST_CASE("Names of dtypes: numbers that are none have one too") {
  CHECK(std::string(tenon_dtype_name(TENON_BF16)) == "bf16");
  CHECK(std::string(tenon_dtype_name(static_cast<tenon_dtype>(13))) == "?");
}

TEST_CASE("tenon_session_open: a plan that was unloaded is refused") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  tenon_plan_unload(plan.get());
  tenon_session* session = nullptr;
  tenon_error error;
  CheckFailed(tenon_session_open(plan.get(), &session, &error), TENON_FAILED_PRECONDITION, error,
              "not loaded");
  CHECK(session == nullptr);
}

}  // namespace
}  // namespace tenon::test
