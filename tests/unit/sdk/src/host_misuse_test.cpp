// The same for what only systems with files and a heap have.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {
namespace {

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

/// A plan's file in a folder of its own.
class PlanFile {
 public:
  explicit PlanFile(const std::vector<uint8_t>& bytes) {
    std::string name = (std::filesystem::temp_directory_path() / "tenon-test-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
    std::ofstream(path(), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path path() const { return folder_ / "net.tenon"; }

 private:
  std::filesystem::path folder_;
};

TEST_CASE("tenon_plan_open: a file that is made shorter later changes nothing") {
  const PlanFile file(PlanOf(kSmallModel));
  tenon_plan* plan = nullptr;
  tenon_error error;
  REQUIRE(tenon_plan_open(file.path().c_str(), nullptr, 1, &plan, &error) == TENON_OK);
  std::filesystem::resize_file(file.path(), 0);

  CHECK(tenon_plan_verify(plan, &error) == TENON_OK);
  tenon_session* session = nullptr;
  REQUIRE(tenon_session_open(plan, &session, &error) == TENON_OK);
  CHECK(tenon_session_run(session, &error) == TENON_OK);
  tenon_session_close(session);
  tenon_plan_close(plan);
}

TEST_CASE("tenon_plan_open: a file that is written over later changes nothing") {
  const std::vector<uint8_t> bytes = PlanOf(kSmallModel);
  const PlanFile file(bytes);
  tenon_plan* plan = nullptr;
  tenon_error error;
  REQUIRE(tenon_plan_open(file.path().c_str(), nullptr, 1, &plan, &error) == TENON_OK);
  std::ofstream(file.path(), std::ios::binary | std::ios::in)
      .write(std::string(bytes.size(), '\xFF').data(), static_cast<std::streamsize>(bytes.size()));

  CHECK(tenon_plan_verify(plan, &error) == TENON_OK);
  tenon_plan_close(plan);
}

TEST_CASE("tenon_plan_open_mapped: shares the file's memory, and verifying sees what was changed") {
  const std::vector<uint8_t> bytes = PlanOf(kSmallModel);
  const PlanFile file(bytes);
  tenon_plan* plan = nullptr;
  tenon_error error;
  REQUIRE(tenon_plan_open_mapped(file.path().c_str(), nullptr, nullptr, 1, &plan, &error) ==
          TENON_OK);
  CHECK(tenon_plan_verify(plan, &error) == TENON_OK);
  std::fstream stream(file.path(), std::ios::binary | std::ios::in | std::ios::out);
  stream.seekp(static_cast<std::streamoff>(bytes.size()) - 1);
  stream.put(static_cast<char>(bytes.back() ^ 1));
  stream.close();

  CHECK(tenon_plan_verify(plan, &error) == TENON_CORRUPT_PLAN);
  tenon_plan_close(plan);
}

/// Does something in the middle of a run, on another thread.
struct Meanwhile {
  tenon_session* session;
  std::function<tenon_status(tenon_session*, tenon_error*)> call;
  tenon_status status = TENON_OK;
  tenon_error error{};
  bool done = false;

  tenon_status Run() {
    tenon_trace trace{};
    trace.context = this;
    trace.record = [](void*, size_t, uint64_t) {};
    trace.clock_nanoseconds = [](void* context) -> uint64_t {
      auto& self = *static_cast<Meanwhile*>(context);
      if (!std::exchange(self.done, true)) {
        std::thread([&] { self.status = self.call(self.session, &self.error); }).join();
      }
      return 0;
    };
    tenon_error ignored;
    return tenon_session_run_traced(session, &trace, &ignored);
  }
};

TEST_CASE("A session that runs: calls from another thread are refused, and the run is right") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan.get());
  alignas(64) static float memory[4096];
  const auto bytes_of_input = [&] {
    tenon_port_info info;
    REQUIRE(tenon_plan_input(plan.get(), 0, &info) == TENON_OK);
    return info.bytes;
  }();
  const std::function<tenon_status(tenon_session*, tenon_error*)> calls[] = {
      [](tenon_session* used, tenon_error* error) { return tenon_session_run(used, error); },
      [](tenon_session* used, tenon_error* error) { return tenon_session_reset(used, error); },
      [&](tenon_session* used, tenon_error* error) {
        return tenon_session_bind_input(used, 0, memory, bytes_of_input, error);
      },
      [](tenon_session* used, tenon_error* error) {
        return tenon_session_set_cache_hooks(used, nullptr, error);
      }};
  for (const auto& call : calls) {
    Meanwhile meanwhile{session.get(), call};
    CHECK(meanwhile.Run() == TENON_OK);
    REQUIRE(meanwhile.done);
    CheckFailed(meanwhile.status, TENON_FAILED_PRECONDITION, meanwhile.error, "in use");
    tenon_error error;
    CHECK(call(session.get(), &error) == TENON_OK);  // once the run is over
  }
}

TEST_CASE(
    "tenon_session_bind_output: memory inside an arena is refused, but for the output's own") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan.get());
  tenon_error error;
  tenon_port_info info;
  REQUIRE(tenon_plan_output(plan.get(), 0, &info) == TENON_OK);
  void* own = const_cast<void*>(tenon_session_output(session.get(), 0));

  CHECK(tenon_session_bind_output(session.get(), 0, own, info.bytes, &error) == TENON_OK);
  CheckFailed(
      tenon_session_bind_output(session.get(), 0, static_cast<float*>(own) + 1, info.bytes, &error),
      TENON_INVALID_ARGUMENT, error, "arena");
}

TEST_CASE("tenon_session_bind_input: memory inside an arena is refused, but for the input's own") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan.get());
  tenon_error error;
  tenon_port_info info;
  REQUIRE(tenon_plan_input(plan.get(), 0, &info) == TENON_OK);
  auto* const own = static_cast<float*>(tenon_session_input(session.get(), 0));
  const auto bind = [&](const void* data) {
    return tenon_session_bind_input(session.get(), 0, data, info.bytes, &error);
  };
  CHECK(bind(own) == TENON_OK);
  CheckFailed(bind(own + 1), TENON_INVALID_ARGUMENT, error, "'image' overlaps an arena");
  // Its own place stays so while it lies elsewhere.
  const std::vector<float> memory(info.bytes / sizeof(float));
  CHECK(bind(memory.data()) == TENON_OK);
  CHECK(bind(own) == TENON_OK);
  CHECK(tenon_session_run(session.get(), &error) == TENON_OK);
}

TEST_CASE("tenon_session_bind_*: an output over another port's memory is refused, either way") {
  const LoadedForTest plan(PlanOf(kSmallModel));
  const SessionForTest session(plan.get());
  tenon_error error;
  tenon_port_info input;
  tenon_port_info output;
  REQUIRE(tenon_plan_input(plan.get(), 0, &input) == TENON_OK);
  REQUIRE(tenon_plan_output(plan.get(), 0, &output) == TENON_OK);
  std::vector<float> memory((input.bytes + output.bytes) / sizeof(float));
  float* const last_of_input = memory.data() + input.bytes / sizeof(float) - 1;
  const auto bind_input = [&](const void* data) {
    return tenon_session_bind_input(session.get(), 0, data, input.bytes, &error);
  };
  const auto bind_output = [&](void* data) {
    return tenon_session_bind_output(session.get(), 0, data, output.bytes, &error);
  };
  CHECK(bind_input(memory.data()) == TENON_OK);
  CheckFailed(bind_output(last_of_input), TENON_INVALID_ARGUMENT, error, "is bound to");
  CHECK(bind_output(last_of_input + 1) == TENON_OK);
  CHECK(bind_output(last_of_input + 1) == TENON_OK);
  CHECK(bind_input(nullptr) == TENON_OK);
  CHECK(bind_output(last_of_input) == TENON_OK);
  CheckFailed(bind_input(memory.data()), TENON_INVALID_ARGUMENT, error, "is bound to");
}

}  // namespace
}  // namespace tenon::test
