// Every call of OpenCL's interface fails, one by one: a plan without a fall-back ends with an error
// or the right values, one with it with the right values, and what comes after finds all as it was.
#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <tuple>
#include <type_traits>

#include "backends/opencl/device/cl_functions.hpp"
#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {
namespace {

constexpr const char* kModel = R"(graph faulty
input %x as "x": f32[1,4,8,8]
const %w: f32[8,4,3,3] = random(1)
const %m: f32[8,5] = random(2)
%a = conv(%x, %w) {pads=[1,1,1,1], activation=relu}
%p = max_pool(%a) {kernel=[2,2], strides=[2,2]}
%r = reduce(%p) {function=mean, axes_mask=12, keep_dims=0}
%y = matmul(%r, %m)
%s = softmax(%y) {axis=1}
output %s as "s"
)";

const opencl::ClFunctions* original = nullptr;
std::atomic<int> calls{0};
std::atomic<int> fail_at{0};  ///< 0: none
std::atomic<const char*> failed{nullptr};

bool Fails(const char* name) {
  if (++calls != fail_at) return false;
  failed = name;
  return true;
}

/// Calls the library, or fails as the function does: by its result, or by the last argument.
template <auto kFunction, typename... Arguments>
auto Forward(const char* name, Arguments... arguments) {
  using Returned = decltype((original->*kFunction)(arguments...));
  if (!Fails(name)) return (original->*kFunction)(arguments...);
  if constexpr (std::is_pointer_v<Returned>) {
    auto* const code = std::get<sizeof...(Arguments) - 1>(std::tie(arguments...));
    if (code != nullptr) *code = CL_OUT_OF_RESOURCES;
    return Returned(nullptr);
  } else {
    return Returned(CL_OUT_OF_RESOURCES);
  }
}

/// Lets calls fail for as long as it lives.
class FailingCalls {
 public:
  FailingCalls() {
    original = opencl::FindClFunctions();
    REQUIRE(original != nullptr);
#define TENON_OPENCL_FAILING(name)                                        \
  functions_.name = [](auto... arguments) {                               \
    return Forward<&opencl::ClFunctions::name>("cl" #name, arguments...); \
  };
    TENON_OPENCL_FUNCTIONS(TENON_OPENCL_FAILING)
#undef TENON_OPENCL_FAILING
    opencl::InterceptClFunctions(&functions_);
  }
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;
  ~FailingCalls() { opencl::InterceptClFunctions(nullptr); }

  /// Has call number `number` from now on fail; 0: none.
  static void FailAt(int number) {
    calls = 0;
    failed = nullptr;
    fail_at = number;
  }

 private:
  opencl::ClFunctions functions_;
};

std::vector<uint8_t> PlanWith(bool fallback) {
  auto graph = converter::ParseGraph(kModel);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  converter::ConvertOptions options = OptionsFor("x86-64-opencl");
  options.compile.fallback = fallback;
  options.compile.kernels.pins = *converter::ParsePins("*=opencl");
  auto conversion = converter::ConvertGraph(std::move(*graph), options);
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return std::move(conversion->plan);
}

/// Fails every call in turn; returns how many there were, and how many runs ended with an error.
std::tuple<int, int> FailEveryCall(const std::vector<uint8_t>& plan, bool fallback) {
  const auto inputs = RandomInputs(*converter::ParseGraph(kModel), 3);
  FailingCalls::FailAt(0);
  const RunResult right = RunPlan(plan, inputs);
  REQUIRE_MESSAGE(right.error.empty(), right.error);
  const auto is_right = [&](const RunResult& result) {
    return result.error.empty() && RelativeDifference(result.outputs[0], right.outputs[0]) < 1e-5;
  };
  int errors = 0;
  for (int number = 1;; ++number) {
    FailingCalls::FailAt(number);
    const RunResult result = RunPlan(plan, inputs);
    const char* name = failed.load();
    if (name == nullptr) return {number - 1, errors};
    CAPTURE(number);
    CAPTURE(name);
    errors += result.error.empty() ? 0 : 1;
    CHECK_MESSAGE((is_right(result) || (!fallback && !result.error.empty())), result.error);
    FailingCalls::FailAt(0);
    const RunResult after = RunPlan(plan, inputs);
    CHECK_MESSAGE(is_right(after), after.error);
  }
}

TEST_CASE("OpenCL: any call may fail, and the plan says so or gives the right values") {
  const FailingCalls failing;
  const auto [calls_made, errors] = FailEveryCall(PlanWith(/*fallback=*/false), false);
  MESSAGE(calls_made << " calls failed one by one, " << errors << " runs ended with an error");
  CHECK(calls_made > 30);
  CHECK(errors > 20);
}

TEST_CASE("OpenCL: any call may fail, and the CPU takes over where it may") {
  const FailingCalls failing;
  const auto [calls_made, errors] = FailEveryCall(PlanWith(/*fallback=*/true), true);
  MESSAGE(calls_made << " calls failed one by one, " << errors << " runs ended with an error");
  CHECK(calls_made > 30);
  CHECK(errors == 0);
}

}  // namespace
}  // namespace tenon::test
