// How often OpenCL is started and waited for, counted in its own interface while models run.
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backends/opencl/device/cl_functions.hpp"
#include "runtime/format/plan_view.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/float_models.hpp"
#include "tests/support/random_tables.hpp"
#include "tests/support/shared_folder.hpp"

namespace tenon::test {
namespace {

/// What has been called since the last Reset.
struct Calls {
  std::atomic<int> launches{0};
  std::atomic<int> flushes{0};
  std::atomic<int> finishes{0};
  std::mutex mutex;
  std::set<cl_event> waiting;  ///< events asked for, and not released since
  int waits = 0;

  void Reset() {
    launches = flushes = finishes = 0;
    const std::lock_guard<std::mutex> lock(mutex);
    waiting.clear();
    waits = 0;
  }
  void Wait(cl_event event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (waiting.insert(event).second) ++waits;
  }
};

Calls& TheCalls() {
  static Calls calls;
  return calls;
}

const opencl::ClFunctions* library = nullptr;

cl_int CL_API_CALL CountLaunch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                               const size_t* offset, const size_t* global, const size_t* local,
                               cl_uint count, const cl_event* list, cl_event* event) {
  ++TheCalls().launches;
  return library->EnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count,
                                       list, event);
}
cl_int CL_API_CALL CountFlush(cl_command_queue queue) {
  ++TheCalls().flushes;
  return library->Flush(queue);
}
cl_int CL_API_CALL CountFinish(cl_command_queue queue) {
  ++TheCalls().finishes;
  return library->Finish(queue);
}
cl_int CL_API_CALL CountWait(cl_uint count, const cl_event* events) {
  for (cl_uint i = 0; i < count; ++i) TheCalls().Wait(events[i]);
  return library->WaitForEvents(count, events);
}
cl_int CL_API_CALL CountEventInfo(cl_event event, cl_event_info name, size_t bytes, void* value,
                                  size_t* used) {
  TheCalls().Wait(event);
  return library->GetEventInfo(event, name, bytes, value, used);
}
cl_int CL_API_CALL ForgetEvent(cl_event event) {
  {
    const std::lock_guard<std::mutex> lock(TheCalls().mutex);
    TheCalls().waiting.erase(event);
  }
  return library->ReleaseEvent(event);
}

/// Counts calls as long as it lives.
class Interception {
 public:
  Interception() {
    library = opencl::FindClFunctions();
    REQUIRE(library != nullptr);
    counting_ = *library;
    counting_.EnqueueNDRangeKernel = CountLaunch;
    counting_.Flush = CountFlush;
    counting_.Finish = CountFinish;
    counting_.WaitForEvents = CountWait;
    counting_.GetEventInfo = CountEventInfo;
    counting_.ReleaseEvent = ForgetEvent;
    opencl::InterceptClFunctions(&counting_);
  }
  ~Interception() { opencl::InterceptClFunctions(nullptr); }
  Interception(const Interception&) = delete;
  Interception& operator=(const Interception&) = delete;

 private:
  opencl::ClFunctions counting_;
};

/// What a plan's first program says of its device.
struct Planned {
  int ops = 0;
  int segments = 0;
  int crossings = 0;  ///< tensors that the device's segments hand over to others
};

Planned Describe(const std::vector<uint8_t>& bytes) {
  const PlanBytes file(bytes);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(file.data()), file.size()}, true);
  REQUIRE(plan.ok());
  const ProgramView program = plan->program(0);
  Planned planned;
  for (size_t i = 0; i < program.segment_count(); ++i) {
    const SegmentInfo segment = program.segment(i);
    if (std::string(plan->backend(segment.backend)) != "opencl") continue;
    ++planned.segments;
    planned.ops += static_cast<int>(segment.ops.size());
    planned.crossings += static_cast<int>(segment.writes.size());
  }
  return planned;
}

TEST_CASE("OpenCL is started once per segment and waited for once per tensor that leaves it") {
  const std::filesystem::path models = SharedPath("models");
  if (models.empty()) return;
  const Interception interception;
  auto board = converter::LoadBoard("x86-64-opencl");
  REQUIRE(board.ok());
  std::string table =
      "model | table | ops on OpenCL | segments | starts | tensors handed over | waits\n";
  for (const FloatModel& model : FloatModels()) {
    CAPTURE(model.folder);
    CAPTURE(model.file);
    const Arrays inputs = ReadArrays(models, model, "input");
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      CAPTURE(seed);
      board->priorities = RandomTable(seed);
      converter::ConvertOptions options;
      options.board = *board;
      options.model = ModelPath(models, model);
      const auto conversion = converter::Convert(options);
      REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
      const Planned planned = Describe(conversion->plan);
      RunSettings settings;
      settings.before_run = [] { TheCalls().Reset(); };
      int starts = 0;
      int waits = 0;
      settings.after_run = [&] {
        starts = TheCalls().flushes;
        waits = TheCalls().waits;
      };
      const RunResult result = RunPlan(conversion->plan, inputs, settings);
      REQUIRE_MESSAGE(result.error.empty(), result.error);
      table += fmt::format("{}/{} | {} | {} | {} | {} | {} | {}\n", model.folder, model.file, seed,
                           planned.ops, planned.segments, starts, planned.crossings, waits);
      CHECK(starts == planned.segments);
      CHECK(waits == planned.crossings);
      CHECK(TheCalls().finishes == 0);
    }
  }
  MESSAGE(table);
}

}  // namespace
}  // namespace tenon::test
