#include "sdk/tools/plan_runner.hpp"

#include <fmt/ranges.h>
#include <sched.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <set>
#include <thread>

#include "converter/did_you_mean.hpp"
#include "sdk/tools/backend_files.hpp"
#include "sdk/tools/long_step.hpp"
#include "sdk/tools/quantized_port.hpp"
#include "sdk/tools/random_input.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {

int AvailableProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

void FailWith(const Error& error, const std::string& about) {
  Exit exit = kDeviceFailure;
  switch (error.status) {
    case TENON_INVALID_ARGUMENT:
    case TENON_FAILED_PRECONDITION:
      exit = kUsage;
      break;
    case TENON_CORRUPT_PLAN:
    case TENON_UNSUPPORTED_VERSION:
    case TENON_IO_ERROR:
      exit = kInputRefused;
      break;
    case TENON_OUT_OF_MEMORY:
      exit = kDoesNotFit;
      break;
    default:
      break;
  }
  Fail(exit, "{}: {}", about, error.message);
}

Plan OpenPlan(const std::string& path, int threads, bool portable, const std::string& program) {
  std::vector<const tenon_backend*> backends = RunningBackends();
  if (portable) backends = {tenon_backend_cpu_portable()};
  std::optional<LongStep> waiting(
      std::in_place, "loading " + path + ": a device compiles its programs the first time");
  Expected<Plan> plan =
      Plan::Open(path, threads > 0 ? threads : AvailableProcessors(), backends, program);
  waiting.reset();
  if (!plan && portable && plan.error().status == TENON_UNSUPPORTED) {
    Fail(kDeviceFailure, "{}: {} (--portable runs nothing but the portable CPU kernels)", path,
         plan.error().message);
  }
  if (!plan) FailWith(plan.error(), path);
  if (!plan->Notice().empty()) std::cerr << "tenon: " << plan->Notice() << '\n';
  return std::move(*plan);
}

uint64_t MonotonicNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

Session OpenSession(const Plan& plan, int device_seconds) {
  Expected<Session> session = Session::Open(plan);
  if (!session) FailWith(session.error(), "session");
  if (device_seconds > 0) {
    const auto seconds = static_cast<uint64_t>(device_seconds);
    tenon_session_set_timeout(session->handle(), seconds * kNanosecondsPerSecond,
                              MonotonicNanoseconds);
  }
  const auto print = [](void*, const char* notice) {
    std::cerr << "tenon: " << notice << "; its ops run on the CPU\n";
  };
  tenon_session_set_notice(session->handle(), print, nullptr);
  return std::move(*session);
}

void AddDeviceTimeout(CLI::App& command, int& seconds) {
  constexpr int kMostSeconds = 86400;
  command
      .add_option("--device-timeout", seconds,
                  "Seconds after which a device that has not answered is given up (simulated ones "
                  "are slow); 0: 60 for one input, 10 for each stage of a stream")
      ->check(CLI::Range(0, kMostSeconds))
      ->capture_default_str();
}

std::vector<int64_t> ShapeOf(const tenon_port_info& port, int64_t steps) {
  std::vector<int64_t> shape(port.dims, port.dims + port.rank);
  if (steps > 0) shape.insert(shape.begin(), steps);
  return shape;
}

namespace {

/// True if `held` is `wanted` but for the batch of 1 that stands at `batch`: one picture is often
/// stored so.
bool LacksBatchOfOne(std::vector<int64_t> held, const std::vector<int64_t>& wanted, size_t batch) {
  if (wanted.size() <= batch || wanted[batch] != 1 || held.size() + 1 != wanted.size())
    return false;
  held.insert(held.begin() + static_cast<std::ptrdiff_t>(batch), 1);
  return held == wanted;
}

}  // namespace

std::vector<std::string> InputNames(const Plan& plan) {
  std::vector<std::string> names;
  for (size_t i = 0; i < plan.InputCount(); ++i) names.emplace_back(plan.Input(i).name);
  return names;
}

std::vector<std::string> OutputNames(const Plan& plan) {
  std::vector<std::string> names;
  for (size_t i = 0; i < plan.OutputCount(); ++i) names.emplace_back(plan.Output(i).name);
  return names;
}

std::vector<NpyArray> ReadInputs(const Plan& plan, const std::vector<std::string>& arguments,
                                 Missing missing, int64_t steps) {
  std::vector<NpyArray> inputs(plan.InputCount());
  std::set<size_t> given;
  const std::vector<std::string> names = InputNames(plan);
  for (const std::string& argument : arguments) {
    const auto [name, file] = SplitPortFile(argument, "--input", names);
    const std::optional<size_t> index = plan.FindInput(name);
    if (names.empty()) Fail(kUsage, "the plan has no inputs: leave --input {} out", argument);
    if (!index.has_value()) {
      Fail(kUsage, "the plan has no input '{}': {}it has '{}'", name, DidYouMean(name, names),
           fmt::join(names, "', '"));
    }
    if (!given.insert(*index).second) Fail(kUsage, "input '{}' is given twice", name);
    const tenon_port_info port = plan.Input(*index);
    const std::vector<int64_t> shape = ShapeOf(port, steps);
    const WantedArray wanted{port.dtype, shape};
    inputs[*index] = ReadNpy(file, &wanted);
    const std::string held = inputs[*index].Description();
    if (LacksBatchOfOne(inputs[*index].shape, shape, steps > 0 ? 1 : 0)) {
      inputs[*index].shape = shape;
    }
    if (IsQuantized(port) && inputs[*index].dtype == TENON_F32 && inputs[*index].shape == shape) {
      std::cerr << fmt::format("tenon: input '{}': f32 values of '{}' become {}{}\n", name, file,
                               tenon_dtype_name(port.dtype), DescribeQuantization(port));
      inputs[*index] = QuantizeFor(port, inputs[*index]);
    }
    if (inputs[*index].dtype != port.dtype || inputs[*index].shape != shape) {
      Fail(kInputRefused, "input '{}' wants {}, '{}' holds {}", name,
           DescribeArray(port.dtype, shape), file, held);
    }
  }
  std::string names_of_missing;
  for (size_t i = 0; i < plan.InputCount(); ++i) {
    if (given.contains(i)) continue;
    const tenon_port_info port = plan.Input(i);
    const auto runs = static_cast<size_t>(std::max<int64_t>(steps, 1));
    inputs[i] = {port.dtype, ShapeOf(port, steps),
                 missing == Missing::kRandom && steps == 0
                     ? RandomInput(port)
                     : std::vector<std::byte>(runs * port.bytes)};
    names_of_missing += fmt::format("{}'{}' {}", names_of_missing.empty() ? "" : ", ", port.name,
                                    inputs[i].Description());
  }
  if (!names_of_missing.empty() && missing == Missing::kRefused) {
    Fail(kUsage, "no value for input {}: give --input NAME=FILE.npy, or --zeros", names_of_missing);
  }
  return inputs;
}

}  // namespace tenon::tool
