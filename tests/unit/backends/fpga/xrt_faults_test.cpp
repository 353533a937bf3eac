// Every call of XRT fails, one by one, in sessions and in a pipeline: a plan without a fall-back
// ends with an error or the right values, one with it with values, nothing stays on the board, and
// what comes after finds all as it was.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/backends/fpga/failing_xrt.hpp"
#include "tests/unit/backends/fpga/loopback_pipeline.hpp"

using namespace tenon;        // NOLINT
using namespace tenon::test;  // NOLINT

namespace {

/// ns, of one run in which a call fails: it may have to wait for as long.
constexpr uint64_t kFallbackPatience = 500'000'000;
/// ns, of one in which none does, whatever else the machine has to do.
constexpr uint64_t kLongPatience = 30'000'000'000U;
constexpr uint64_t kMostOfAUse = 20'000'000'000U;  // ns: no wait without end

/// What became of using a plan.
struct Outcome {
  std::string error;     ///< the first, with whose words
  bool is_right = true;  ///< of what ended well
};

void Add(Outcome& outcome, tenon_status status, const std::string& words, int flipped,
         bool fallback) {
  if (status == TENON_OK) {
    // The board flips the lowest bit of every byte; the CPU does not.
    outcome.is_right = outcome.is_right && (flipped == 1 || (fallback && flipped == 0));
  } else if (outcome.error.empty()) {
    outcome.error = words.empty() ? "an error without a word" : words;
  }
}

/// A session, and a second one of the same plan, run in turn.
Outcome UseSessions(bool fallback, uint64_t patience) {
  Outcome outcome;
  Loaded plan(fallback ? OnBoardWithFallback() : OnBoard());
  if (plan.session() == nullptr) {
    outcome.error = plan.error().empty() ? "an error without a word" : plan.error();
    return outcome;
  }
  tenon_session_set_timeout(plan.session(), patience, MonotonicNow);
  tenon_error error{};
  tenon_session* second = nullptr;
  const tenon_status opened = tenon_session_open(plan.plan(), &second, &error);
  if (opened != TENON_OK) Add(outcome, opened, error.message, -1, fallback);
  for (uint8_t run = 0; run < 2; ++run) {
    const tenon_status status = plan.Run(run);
    Add(outcome, status, plan.error(), status == TENON_OK ? plan.Flipped() : -1, fallback);
    if (second == nullptr) continue;
    error = {};
    const tenon_status other = RunOn(second, static_cast<uint8_t>(run + 100), &error);
    Add(outcome, other, error.message, other == TENON_OK ? FlippedOf(second) : -1, fallback);
  }
  if (second != nullptr) tenon_session_close(second);
  return outcome;
}

/// A stream of four inputs through stages on CPU, board and CPU.
Outcome UsePipeline(bool fallback, uint64_t patience) {
  Outcome outcome;
  const Loaded plan(PipelineOnBoard(fallback));
  if (plan.plan() == nullptr) {
    outcome.error = plan.error().empty() ? "an error without a word" : plan.error();
    return outcome;
  }
  tenon_stream_options options = PipelineOptions();
  options.device_timeout_ns = patience;
  tenon_stream* stream = nullptr;
  tenon_error error{};
  if (const auto status = tenon_stream_open(plan.plan(), &options, &stream, &error);
      status != TENON_OK) {
    Add(outcome, status, error.message, -1, fallback);
    return outcome;
  }
  std::vector<Job> jobs = JobsFor(plan.plan(), 4);
  for (Job& job : jobs) {
    const void* input = job.inputs[0].data();
    void* output = job.outputs[0].data();
    error = {};
    auto status = tenon_stream_submit(stream, &input, &output, kMinute, &job.ticket, &error);
    if (status == TENON_OK) status = tenon_stream_wait(stream, job.ticket, kMinute, &error);
    Add(outcome, status, error.message, status == TENON_OK ? Flipped(job) : -1, fallback);
  }
  tenon_stream_close(stream);
  return outcome;
}

using Use = Outcome (*)(bool fallback, uint64_t patience);

/// Something whose calls fail on demand: call number `number` from now on of those of `function`
/// (null: of all), none if it is 0.
struct Failing {
  void (*fail_at)(int number, const char* function);
  std::string (*failed)();
  /// Parts of the names of the functions that no use can do without.
  std::vector<const char*> needed;
};

Failing CallsOfXrt(XrtFailure failure) {
  static XrtFailure how;
  how = failure;
  return {[](int number, const char* function) { FailXrtCall(number, how, function); },
          FailedXrtCall,
          {"6deviceC1", "6xclbinC1", "11load_xclbin", "6kernelC1", "3runC1", "2boC1", "2bo3map",
           "2bo7address", "2bo4sync", "16set_arg_at_index", "3run5start", "3run5state", "8group_id",
           "13read_register"}};
}

/// Below XRT, what the driver in the kernel would answer.
Failing CallsOfDriver() {
  return {FailDriverCall,
          FailedDriverCall,
          {"xclOpen", "xclLoadXclBin", "xclOpenContext", "xclAllocBO", "xclGetBOProperties",
           "xclMapBO", "xclSyncBO", "xclExecBuf", "xclRegRead"}};
}

/// What failing call number `number` of those of `function` (null: of all) did to a use.
struct Failure {
  std::string name;  ///< the function that failed; empty: the use makes fewer calls
  bool is_error = false;
};

Failure FailOneCall(Use use, bool fallback, const Failing& failing, int number,
                    const char* function) {
  const uint64_t allocated = CountOf("buffers_allocated");
  const uint64_t freed = CountOf("buffers_freed");
  const uint64_t begin = MonotonicNow();
  failing.fail_at(number, function);
  const Outcome outcome = use(fallback, kFallbackPatience);
  const Failure failure{failing.failed(), !outcome.error.empty()};
  failing.fail_at(0, nullptr);
  if (failure.name.empty()) return failure;
  CAPTURE(number);
  CAPTURE(failure.name);
  CHECK(MonotonicNow() - begin < kMostOfAUse);
  // Of a buffer that cannot be mapped XRT itself loses the memory.
  const uint64_t lost = failure.name == "xclMapBO" ? 1 : 0;
  CHECK(CountOf("buffers_allocated") - allocated == CountOf("buffers_freed") - freed + lost);
  CHECK(outcome.is_right);
  if (fallback) CHECK(outcome.error == "");
  if (failure.is_error) CHECK(Contains(outcome.error, "fpga"));
  const Outcome after = use(fallback, kLongPatience);
  CHECK(after.error == "");
  CHECK(after.is_right);
  return failure;
}

/// What failing every call of a use in turn gave.
struct Failures {
  int calls = 0;
  /// Uses that ended with an error.
  int errors = 0;
};

/// Fails every call of a use in turn.
Failures FailEveryCall(Use use, bool fallback, const Failing& failing) {
  UseLoopbackBoard();
  failing.fail_at(0, nullptr);
  const Outcome sound = use(fallback, kLongPatience);
  REQUIRE(sound.error == "");
  REQUIRE(sound.is_right);
  Failures failures;
  for (int number = 1;; ++number, ++failures.calls) {
    const Failure failure = FailOneCall(use, fallback, failing, number, nullptr);
    if (failure.name.empty()) return failures;
    if (failure.is_error) ++failures.errors;
  }
}

/// Which call has a number differs from run to run (waits ask again, and XRT has threads of its
/// own), so that the functions that a use cannot do without fail by name.
void FailWithAndWithoutFallback(Use use, const Failing& failing) {
  const Failures alone = FailEveryCall(use, /*fallback=*/false, failing);
  for (const char* const function : failing.needed) {
    CAPTURE(function);
    const Failure failure = FailOneCall(use, /*fallback=*/false, failing, 1, function);
    CHECK(Contains(failure.name, function));
    CHECK(failure.is_error);
  }
  const Failures with = FailEveryCall(use, /*fallback=*/true, failing);
  CHECK(with.calls >= static_cast<int>(failing.needed.size()));
  CHECK(with.errors == 0);
  MESSAGE(alone.calls << " calls failed one by one, " << alone.errors
                      << " uses ended with an error; with a fall-back " << with.calls << " and "
                      << with.errors);
}

}  // namespace

TEST_CASE("XRT: any call may fail in a session, which says so, is right, or falls back") {
  for (const auto failure :
       {XrtFailure::kSystemError, XrtFailure::kBadAlloc, XrtFailure::kUnknown}) {
    CAPTURE(static_cast<int>(failure));
    FailWithAndWithoutFallback(UseSessions, CallsOfXrt(failure));
  }
}

TEST_CASE("XRT: any call may fail in a pipeline, which says so, is right, or falls back") {
  FailWithAndWithoutFallback(UsePipeline, CallsOfXrt(XrtFailure::kSystemError));
}

TEST_CASE("XRT: any call of the driver below it may fail in a session") {
  FailWithAndWithoutFallback(UseSessions, CallsOfDriver());
}

TEST_CASE("XRT: any call of the driver below it may fail in a pipeline") {
  FailWithAndWithoutFallback(UsePipeline, CallsOfDriver());
}
