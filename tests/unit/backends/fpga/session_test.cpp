// Plans with code run through the public interface, XRT and the simulated board; and what sessions
// do when the board fails.
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/backends/fpga/loopback_plan.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

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
  spec.segments[1].code[0].parameters[0] = 16;
  CHECK(Contains(Loaded(spec).error(), "the code is for an array whose parameter 0 is 16"));
  spec = OnBoard();
  spec.segments[1].code[0].image = {7, 7, 7, 7};
  CHECK(Contains(Loaded(spec).error(), "the code is for another image"));
}

TEST_CASE("session: corrupted code is refused when the plan is loaded, and is never started") {
  const PlanSpec sound = OnBoard();
  const uint64_t starts = CountOf("starts");
  for (size_t byte = 0; byte < sound.sections[0].data.size(); ++byte) {
    CAPTURE(byte);
    PlanSpec spec = sound;
    spec.sections[0].data[byte] ^= 0x41;
    CHECK(Contains(Loaded(spec).error(), "descriptor 0 of the code: "));
  }
  CHECK(CountOf("starts") == starts);
}

TEST_CASE("session: code that writes elsewhere than its segment may is refused") {
  PlanSpec spec = OnBoard();
  spec.sections[0].data = CopyCode(5);  // one beat more than the output has
  CHECK(Contains(Loaded(spec).error(), "descriptor 0 of the code reads outside"));
  spec = OnBoard();
  std::swap(spec.segments[1].code[0].relocations[0].base_register,
            spec.segments[1].code[0].relocations[1].base_register);
  CHECK(Contains(Loaded(spec).error(), "descriptor 0 of the code writes outside"));
}

TEST_CASE("session: code that the accelerator itself refuses stops with its reason, every time") {
  PlanSpec spec = OnBoard();
  spec.sections[0].data = CopyCode(4, /*magic=*/2);
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
