// Streams through pipelines with a device in the middle: a real asynchronous one that fails,
// dawdles and stops answering on demand.
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/unit/sdk/src/device_testing.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

tenon_stream_options PipelineOptions(uint64_t device_timeout = 10'000 * kMillisecond) {
  tenon_stream_options options = OptionsOf(TENON_STREAM_PIPELINE);
  options.results = 1000;
  options.device_timeout_ns = device_timeout;
  return options;
}

std::vector<Job> AdderJobs(const tenon_plan* plan, size_t count, size_t first = 0) {
  std::vector<Job> jobs;
  for (size_t n = 0; n < count; ++n) jobs.push_back(JobFor(plan, AdderInputs(first + n)));
  return jobs;
}

/// How many inputs in a row, from the start, have come out right.
void CheckRight(const Job& job, size_t n) { CHECK(IsAdderOutput(n, job.outputs[0])); }

TEST_CASE(
    "Device pipelines: of 1,000 inputs those that the device fails end so, all others right") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(AdderPipeline(2, 2, "scripted").Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  const StreamForTest stream(plan.get(), PipelineOptions());
  device.Fail(DeviceCall::kKernel, 400, 50);
  std::vector<Job> jobs = AdderJobs(plan.get(), 1000);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = 0; n < jobs.size(); ++n) {
    const std::string error = Await(stream, jobs[n].ticket);
    CAPTURE(n);
    if (n >= 400 && n < 450) {
      CHECK(error.find("scripted") != std::string::npos);
      CHECK(error.find("op1") != std::string::npos);
    } else {
      CHECK(error == "");
      CheckRight(jobs[n], n);
    }
  }
  CHECK(stream.Stats().failed == 50);
  Job again = JobFor(plan.get(), AdderInputs(7));
  REQUIRE(Submit(stream, again) == TENON_OK);
  CHECK(Await(stream, again.ticket) == "");
  CheckRight(again, 7);
  CHECK(device.protocol_errors() == 0);
}

TEST_CASE("Device pipelines: whatever call fails, every ticket ends, and the stream goes on") {
  for (const DeviceCall call :
       {DeviceCall::kStart, DeviceCall::kUpload, DeviceCall::kRun, DeviceCall::kSignal,
        DeviceCall::kSubmit, DeviceCall::kWait, DeviceCall::kKernel}) {
    CAPTURE(static_cast<int>(call));
    ScriptedBackend device;
    const LoadedDevicePlan plan(AdderPipeline(2, 1, "scripted").Write(), {device.handle()});
    REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
    const StreamForTest stream(plan.get(), PipelineOptions());
    device.Fail(call, 20, 1);
    std::vector<Job> jobs = AdderJobs(plan.get(), 100);
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    size_t failed = 0;
    for (size_t n = 0; n < jobs.size(); ++n) {
      const std::string error = Await(stream, jobs[n].ticket);
      if (!error.empty()) ++failed;
      if (error.empty()) CheckRight(jobs[n], n);
    }
    CHECK(failed == 1);
    CHECK(device.protocol_errors() == 0);
  }
}

/// The pipeline with a device in the middle, whose stage has a second worker on the CPU that waits
/// for the device.
PlanSpec HelpedDevicePipeline() {
  PlanSpec spec = AdderPipeline(2, 2, "scripted");
  constexpr uint64_t kBytes = kAdderElements * sizeof(float);
  const uint32_t y = spec.inputs[1].tensor;
  spec.arenas[1].bytes = 2 * kBytes;
  spec.storages.push_back({kBytes, kBytes, false, 1});
  const uint32_t sum =
      spec.AddTensor(static_cast<uint32_t>(spec.storages.size()) - 1, {kAdderElements});
  const uint32_t op = spec.AddOp({y, y}, {sum}, 3, {{1, 0}}, 3);
  spec.ops[op].kind = spec.ops[0].kind;
  spec.ops[op].attributes = spec.ops[0].attributes;
  spec.segments[3].stage = 1;
  return spec;
}

TEST_CASE(
    "Device pipelines: what a stage's other workers wait for ends with the device's failure") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(HelpedDevicePipeline().Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  const StreamForTest stream(plan.get(), PipelineOptions());
  CHECK(stream.Stats().stages == 3);
  CHECK(stream.Stats().threads == 4);
  device.Fail(DeviceCall::kKernel, 40, 5);
  std::vector<Job> jobs = AdderJobs(plan.get(), 100);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = 0; n < jobs.size(); ++n) {
    CAPTURE(n);
    const std::string error = Await(stream, jobs[n].ticket);
    const bool fails = n >= 40 && n < 45;
    CHECK(error.empty() != fails);
    if (fails) CHECK(error.find("op1") != std::string::npos);
    if (!fails) CheckRight(jobs[n], n);
  }
  CHECK(device.protocol_errors() == 0);
}

TEST_CASE("Device pipelines: a stage whose device stops answering ends in time with all workers") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(HelpedDevicePipeline().Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  const StreamForTest stream(plan.get(), PipelineOptions(50 * kMillisecond));
  device.Hang(10);
  std::vector<Job> jobs = AdderJobs(plan.get(), 40);
  for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
  for (size_t n = 0; n < jobs.size(); ++n) {
    CAPTURE(n);
    const std::string error = Await(stream, jobs[n].ticket);
    CHECK(error.empty() == (n < 10));
    if (error.empty()) CheckRight(jobs[n], n);
  }
  device.Release();
}

TEST_CASE("Device pipelines: with fall-back the CPU stands in, values stay right, somebody hears") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(AdderPipeline(2, 2, "scripted", true).Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  std::vector<std::string> notices;
  tenon_stream_options options = PipelineOptions();
  options.notice = [](void* context, const char* text) {
    static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  };
  options.notice_context = &notices;
  {
    const StreamForTest stream(plan.get(), options);
    device.Fail(DeviceCall::kKernel, 40, 5);
    std::vector<Job> jobs = AdderJobs(plan.get(), 200);
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (size_t n = 0; n < jobs.size(); ++n) {
      CHECK(Await(stream, jobs[n].ticket) == "");
      CheckRight(jobs[n], n);
    }
  }
  REQUIRE(notices.size() == 5);
  CHECK(notices[0].find("scripted") != std::string::npos);
}

TEST_CASE(
    "Device pipelines: a device that stops answering fails its input in time, the rest at once") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(AdderPipeline(2, 2, "scripted").Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  const auto start = std::chrono::steady_clock::now();
  {
    const StreamForTest stream(plan.get(), PipelineOptions(100 * kMillisecond));
    device.Hang(100);
    std::vector<Job> jobs = AdderJobs(plan.get(), 1000);
    for (Job& job : jobs) REQUIRE(Submit(stream, job) == TENON_OK);
    for (size_t n = 0; n < jobs.size(); ++n) {
      tenon_error error{};
      const tenon_status status = tenon_stream_wait(stream.get(), jobs[n].ticket, kMinute, &error);
      CAPTURE(n);
      CAPTURE(std::string(error.message));
      CHECK(status == (n < 100 ? TENON_OK : TENON_BACKEND_FAILURE));
      if (n < 100) CheckRight(jobs[n], n);
    }
    device.Release();
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(seconds < 30);  // one time-out and what a drain is given, not 900 of them
}

TEST_CASE("Device pipelines: submit waits at exactly the planned number in flight") {
  for (const uint16_t slots : std::vector<uint16_t>{1, 3}) {
    ScriptedBackend device;
    const LoadedDevicePlan plan(AdderPipeline(slots, 2, "scripted").Write(), {device.handle()});
    REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
    const StreamForTest stream(plan.get(), PipelineOptions(kMinute));
    device.Hang();
    std::vector<Job> jobs = AdderJobs(plan.get(), 50);
    size_t submitted = 0;
    tenon_error error{};
    while (submitted < jobs.size() &&
           Submit(stream, jobs[submitted], 100 * kMillisecond, &error) == TENON_OK) {
      ++submitted;
    }
    CHECK(submitted == stream.Stats().in_flight_limit);
    CHECK(std::string(error.message).find("nothing submitted") == 0);
    device.Release();
    for (size_t n = 0; n < submitted; ++n) {
      CHECK(Await(stream, jobs[n].ticket) == "");
      CheckRight(jobs[n], n);
    }
  }
}

TEST_CASE("Device pipelines: closed while full, every output is there") {
  ScriptedBackend device;
  device.Delay(0, 2000);
  const LoadedDevicePlan plan(AdderPipeline(2, 2, "scripted").Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  std::vector<Job> jobs = AdderJobs(plan.get(), 100);
  size_t submitted = 0;
  {
    const StreamForTest stream(plan.get(), PipelineOptions());
    while (submitted < jobs.size() && Submit(stream, jobs[submitted], 0) == TENON_OK) ++submitted;
  }
  CHECK(submitted >= 2);
  for (size_t n = 0; n < submitted; ++n) CheckRight(jobs[n], n);
  CHECK(device.open_queues() == 0);
}

/// A device that dawdles, calls that fail, a user that dawdles: inputs handed in on one thread and
/// collected on another for `seconds`. Gives the number of inputs.
size_t Soak(double seconds, uint32_t seed, bool fallback) {
  ScriptedBackend device;
  device.Delay(0, 400, seed);
  const LoadedDevicePlan plan(AdderPipeline(2, 2, "scripted", fallback).Write(), {device.handle()});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  const StreamForTest stream(plan.get(), PipelineOptions());
  constexpr size_t kJobs = 64;
  std::vector<Job> jobs = AdderJobs(plan.get(), kJobs);
  std::atomic<uint64_t> collected{0};
  std::atomic<uint64_t> submitted{0};
  std::atomic<bool> is_over{false};
  std::thread producer([&] {
    std::mt19937 random(seed);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < end) {
      while (submitted - collected >= kJobs) std::this_thread::yield();
      Job& job = jobs[submitted % kJobs];
      job.inputs = AdderInputs(submitted);
      job.outputs[0].assign(job.outputs[0].size(), std::byte{0xA5});
      if (Submit(stream, job) != TENON_OK || job.ticket != submitted + 1) std::abort();
      ++submitted;
      if (random() % 16 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
      }
    }
    is_over = true;
  });
  std::mt19937 random(seed + 1);
  size_t failed = 0;
  while (!is_over || collected < submitted) {
    if (collected == submitted) {
      std::this_thread::yield();
      continue;
    }
    const uint64_t n = collected;
    const std::string error = Await(stream, n + 1);
    if (error.empty() && !IsAdderOutput(n, jobs[n % kJobs].outputs[0])) FAIL("wrong output");
    if (!error.empty() && error.find("scripted") == std::string::npos) FAIL(error);
    failed += error.empty() ? 0 : 1;
    if (random() % 100 == 0) {
      constexpr DeviceCall kCalls[] = {DeviceCall::kKernel, DeviceCall::kSubmit,
                                       DeviceCall::kUpload, DeviceCall::kWait};
      device.Fail(kCalls[random() % 4], random() % 10);
    }
    ++collected;
  }
  producer.join();
  CHECK((failed == 0) == fallback);
  CHECK(stream.Stats().failed == failed);
  CHECK(stream.Stats().completed == submitted);
  CHECK(device.protocol_errors() == 0);
  return submitted;
}

/// Minutes by TENON_SOAK_SECONDS; a moment otherwise.
TEST_CASE("Device pipelines: a soak with random delays and failures loses and reorders nothing") {
  const char* wanted = std::getenv("TENON_SOAK_SECONDS");
  const double seconds = wanted != nullptr ? std::atof(wanted) : 5;
  size_t with_fallback = 0;
  std::thread other([&] { with_fallback = Soak(seconds, 2, true); });  // two streams at once
  const size_t without = Soak(seconds, 1, false);
  other.join();
  MESSAGE(without << " inputs without fall-back, " << with_fallback << " with, in " << seconds
                  << " s");
}

}  // namespace
}  // namespace tenon::test
