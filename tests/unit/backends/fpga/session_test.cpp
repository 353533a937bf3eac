// Plans with code run through the public interface, XRT and the simulated board; and what sessions
// do when the board fails.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "tenon/tenon.h"
#include "tests/support/plan_bytes.hpp"
#include "tests/unit/backends/fpga/loopback_board.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

constexpr size_t kElements = 16;

/// Op 0 on the CPU, ops 1 and 2 on the board by one start, op 3 on the CPU. All pass on what they
/// are given, but for the board's kernel, which flips the lowest bit of every byte.
PlanSpec OnBoard() {
  PlanSpec spec = WithDevice();
  spec.backends[1] = "fpga";
  spec.kernels[1] = "fpga.unary.code";
  spec.sections = {{CopyCode(4), 64, 0}};
  CodeSpec code;
  code.accelerator = fpga::isa::kAcceleratorName;
  code.parameters.assign(fpga::isa::kParameters, 1);
  code.relocations = {{StorageHome::kArena, 0, 64, 64, 0, false},
                      {StorageHome::kArena, 0, 192, 64, 1, true}};
  spec.segments[1].code = {code};
  return spec;
}

PlanSpec OnBoardWithFallback() {
  PlanSpec spec = OnBoard();
  spec.ops[1].fallback_kernel = 0;
  spec.ops[2].fallback_kernel = 0;
  return spec;
}

uint64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

/// A loaded plan with a session.
class Loaded {
 public:
  explicit Loaded(const PlanSpec& spec) : file_(spec.Write()) {
    UseLoopbackBoard();
    size_t scratch = 0;
    size_t state = 0;
    if (tenon_plan_scratch_size(file_.data(), file_.size(), &scratch, &error_) != TENON_OK ||
        tenon_plan_state_size(file_.data(), file_.size(), &state, &error_) != TENON_OK) {
      return;
    }
    scratch_.resize(scratch / sizeof(AlignedUnit) + 1);
    state_.resize(state / sizeof(AlignedUnit) + 1);
    const tenon_backend* list[] = {tenon_backend_cpu(), tenon_backend_fpga()};
    const tenon_backends backends{list, 2};
    if (tenon_plan_load(file_.data(), file_.size(), &backends, 1, state_.data(), state,
                        scratch_.data(), scratch, &plan_, &error_) != TENON_OK) {
      plan_ = nullptr;
      return;
    }
    if (tenon_session_open(plan_, &session_, &error_) != TENON_OK) session_ = nullptr;
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() {
    if (session_ != nullptr) tenon_session_close(session_);
    if (plan_ != nullptr) tenon_plan_unload(plan_);
  }

  [[nodiscard]] std::string error() const { return error_.message; }
  [[nodiscard]] std::string notice() const { return tenon_plan_notice(plan_); }
  [[nodiscard]] tenon_session* session() const { return session_; }

  /// Returns TENON_OK, or what went wrong; its words are in error().
  tenon_status Run(uint8_t seed) {
    error_ = tenon_error{};
    auto* const input = static_cast<uint8_t*>(tenon_session_input(session_, 0));
    for (size_t i = 0; i < kElements * 4; ++i) input[i] = static_cast<uint8_t>(i * 3 + seed);
    return tenon_session_run(session_, &error_);
  }
  /// What every output byte is of the input byte; -1: not the same for all.
  [[nodiscard]] int Flipped() const {
    const auto* const input = static_cast<const uint8_t*>(tenon_session_input(session_, 0));
    const auto* const output = static_cast<const uint8_t*>(tenon_session_output(session_, 0));
    const int first = input[0] ^ output[0];
    for (size_t i = 0; i < kElements * 4; ++i) {
      if ((input[i] ^ output[i]) != first) return -1;
    }
    return first;
  }

 private:
  test::PlanBytes file_;
  std::vector<AlignedUnit> scratch_;
  std::vector<AlignedUnit> state_;
  tenon_plan* plan_ = nullptr;
  tenon_session* session_ = nullptr;
  tenon_error error_{};
};

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// See driver_faults_test.cpp.
class Fault {
 public:
  explicit Fault(const std::string& text)
      : opened_(Rig().failure()), setting_("TENON_FPGA_SIM_FAULT", text) {}

 private:
  std::string opened_;
  Setting setting_;
};

}  // namespace

TEST_CASE("session: a segment of two ops is one start, between ops of the CPU") {
  Loaded plan(OnBoard());
  REQUIRE(plan.error() == "");
  for (uint8_t run = 0; run < 3; ++run) {
    const uint64_t starts = CountOf("starts");
    CHECK(plan.Run(run) == TENON_OK);
    CHECK(plan.error() == "");
    CHECK(plan.Flipped() == 1);
    CHECK(CountOf("starts") == starts + 1);
  }
}

TEST_CASE("session: a trace gives the segment's time to its first op") {
  Loaded plan(OnBoard());
  REQUIRE(plan.error() == "");
  std::vector<uint64_t> times(4, UINT64_MAX);
  tenon_trace trace{};
  trace.context = &times;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    (*static_cast<std::vector<uint64_t>*>(context))[op] = nanoseconds;
  };
  trace.clock_nanoseconds = [](void*) { return MonotonicNow(); };
  tenon_error error{};
  REQUIRE(tenon_session_run_traced(plan.session(), &trace, &error) == TENON_OK);
  CHECK(times[1] != UINT64_MAX);
  CHECK(times[1] > 0);
  CHECK(times[2] == UINT64_MAX);
  CHECK(times[3] != UINT64_MAX);
}

TEST_CASE("session: several sessions of a plan take turns on the board") {
  Loaded first(OnBoard());
  Loaded second(OnBoard());
  REQUIRE(first.error() == "");
  REQUIRE(second.error() == "");
  CHECK(first.Run(1) == TENON_OK);
  CHECK(second.Run(2) == TENON_OK);
  CHECK(first.Flipped() == 1);
  CHECK(second.Flipped() == 1);
}

TEST_CASE("session: a stuck board is an error within the timeout, and loading again mends it") {
  const Fault fault("stuck@1");
  Loaded plan(OnBoard());
  REQUIRE(plan.error() == "");
  tenon_session_set_timeout(plan.session(), 300'000'000, MonotonicNow);
  const uint64_t begin = MonotonicNow();
  CHECK(plan.Run(1) == TENON_DEADLINE_EXCEEDED);
  CHECK(MonotonicNow() - begin < 10'000'000'000U);
  CHECK(Contains(plan.error(), "fpga: op"));
  CHECK(Contains(plan.error(), "the accelerator did not answer"));
  CHECK(plan.Run(1) == TENON_BACKEND_FAILURE);
  CHECK(Contains(plan.error(), "load again"));
  Loaded again(OnBoard());
  REQUIRE(again.error() == "");
  CHECK(again.Run(4) == TENON_OK);
  CHECK(again.Flipped() == 1);
}

TEST_CASE("session: after an AXI error the next run of the same session is right") {
  const Fault fault("axi-error@1");
  Loaded plan(OnBoard());
  REQUIRE(plan.error() == "");
  CHECK(plan.Run(1) == TENON_BACKEND_FAILURE);
  CHECK(Contains(plan.error(), "the memory answered with an error"));
  CHECK(plan.Run(2) == TENON_OK);
  CHECK(plan.Flipped() == 1);
}

TEST_CASE("session: with a fall-back the CPU takes over from a board that fails") {
  for (const std::string kind : {"stuck@2", "axi-error@2", "error@2", "lost@2"}) {
    CAPTURE(kind);
    const Fault fault(kind);
    Loaded plan(OnBoardWithFallback());
    REQUIRE(plan.error() == "");
    tenon_session_set_timeout(plan.session(), 300'000'000, MonotonicNow);
    CHECK(plan.Run(1) == TENON_OK);
    CHECK(plan.Flipped() == 1);
    CHECK(plan.Run(2) == TENON_OK);
    CHECK(plan.Flipped() == 0);  // the CPU's kernels do not flip bits
    CHECK(Contains(tenon_session_notice(plan.session()), "fpga: op"));
  }
}

TEST_CASE("session: a board that is missing means the fall-back, or an error that says so") {
  UseLoopbackBoard();
  const Setting device("TENON_FPGA_DEVICE", "7");
  Loaded without(OnBoard());
  CHECK(Contains(without.error(), "fpga: XRT: no device '7'"));
  Loaded with(OnBoardWithFallback());
  REQUIRE(with.error() == "");
  CHECK(Contains(with.notice(), "its ops run on the CPU"));
  CHECK(with.Run(3) == TENON_OK);
  CHECK(with.Flipped() == 0);
}

TEST_CASE("session: a plan for another array or image is refused in words") {
  PlanSpec spec = OnBoard();
  spec.segments[1].code[0].parameters[0] = 32;
  CHECK(Contains(Loaded(spec).error(), "the code is for an array whose parameter 0 is 32"));
  spec = OnBoard();
  spec.segments[1].code[0].image = {7, 7, 7, 7};
  CHECK(Contains(Loaded(spec).error(), "the code is for another image"));
}

TEST_CASE("session: corrupted code stops with the accelerator's reason, every time") {
  PlanSpec spec = OnBoard();
  spec.sections[0].data = CopyCode(4, /*magic=*/0xDEAD);
  Loaded plan(spec);
  REQUIRE(plan.error() == "");
  for (int run = 0; run < 2; ++run) {
    CHECK(plan.Run(1) == TENON_BACKEND_FAILURE);
    CHECK(Contains(plan.error(), "the accelerator stopped at descriptor 0"));
  }
  Loaded sound(OnBoard());
  CHECK(sound.Run(1) == TENON_OK);
  CHECK(sound.Flipped() == 1);
}

namespace {

/// Runs a plan with the command and returns its exit status; `words` is what it said of errors.
int RunCommand(const PlanSpec& spec, std::string* words) {
  UseLoopbackBoard();
  const std::string folder = std::filesystem::temp_directory_path() / "tenon_fpga_session_XXXXXX";
  std::string made = folder;
  REQUIRE(mkdtemp(made.data()) != nullptr);
  const std::string plan = made + "/plan.tenon";
  const std::vector<uint8_t> bytes = spec.Write();
  std::ofstream(plan, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const std::string command = std::string(std::getenv("TENON_BINARY_DIR")) + "/bin/tenon run " +
                              plan + " --zeros 2> " + made + "/errors > " + made + "/output";
  const int status = std::system(command.c_str());
  std::ifstream errors(made + "/errors");
  words->assign(std::istreambuf_iterator<char>(errors), {});
  std::filesystem::remove_all(made);
  return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("tenon run: a plan runs on the board; a board that fails is exit status 5 and a reason") {
  std::string words;
  CHECK(RunCommand(OnBoard(), &words) == 0);
  CHECK(words == "");
  struct Expected {
    const char* fault;
    const char* reason;
  };
  const Setting timeout("TENON_FPGA_TIMEOUT_S", "1");
  for (const Expected& expected :
       {Expected{"axi-error", "the memory answered with an error"},
        Expected{"stuck", "has not ended within 1 s"}, Expected{"error", "XRT reports"},
        Expected{"lost", "it is lost"}, Expected{"wrong-uuid", "no accelerator to be had"}}) {
    const std::string kind = expected.fault;
    CAPTURE(kind);
    const Setting fault("TENON_FPGA_SIM_FAULT", expected.fault);
    CHECK(RunCommand(OnBoard(), &words) == 5);
    CHECK(Contains(words, expected.reason));
    CHECK(words.rfind("tenon: error: ", 0) == 0);
  }
}

TEST_CASE("tenon run: with a fall-back the command says who took over, and goes on") {
  const Setting fault("TENON_FPGA_SIM_FAULT", "axi-error");
  std::string words;
  CHECK(RunCommand(OnBoardWithFallback(), &words) == 0);
  CHECK(Contains(words, "the memory answered with an error"));
}
