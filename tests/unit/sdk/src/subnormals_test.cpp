// Numbers too small to be normal, in a run and behind it.
#include <cstring>
#include <limits>

#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {
namespace {

// Large enough that threads share the op.
constexpr const char* kHalves = R"(input %x: f32[1048576]
const %half: f32[1] = [0.5]
%y = binary(%x, %half) {function=mul}
output %y
)";
constexpr size_t kCount = 1048576;

std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Returns true where this processor can take subnormal numbers for zeros.
constexpr bool CanFlush() {
#if defined(__SSE__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

TEST_CASE("A run takes subnormal numbers for zeros, on any number of threads") {
  const float smallest = std::numeric_limits<float>::min();
  std::vector<float> x(kCount, smallest);
  for (size_t i = 0; i < kCount; i += 3) x[i] = 2 * smallest;
  for (const bool portable : {false, true}) {
    for (const int threads : {1, 2, 3}) {
      CAPTURE(portable);
      CAPTURE(threads);
      RunSettings settings;
      settings.threads = threads;
      settings.portable = portable;
      const RunResult run = RunPlan(PlanOf(kHalves, portable), {BytesOf(x)}, settings);
      REQUIRE(run.error.empty());
      std::vector<float> y(kCount);
      REQUIRE(run.outputs[0].size() == kCount * sizeof(float));
      std::memcpy(y.data(), run.outputs[0].data(), run.outputs[0].size());
      size_t wrong = 0;
      for (size_t i = 0; i < kCount; ++i) {
        const float subnormal = CanFlush() ? 0.0F : smallest / 2;
        wrong += y[i] != (i % 3 == 0 ? smallest : subnormal) ? 1U : 0U;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("A run leaves the caller's arithmetic as it was") {
  RunSettings settings;
  settings.after_run = [] {
    volatile float smallest = std::numeric_limits<float>::min();
    CHECK(smallest / 4 != 0.0F);
  };
  const RunResult run =
      RunPlan(PlanOf(kHalves), {BytesOf(std::vector<float>(kCount, 1.0F))}, settings);
  CHECK(run.error.empty());
}

}  // namespace
}  // namespace tenon::test
