// Plans from text for tests of the public interface.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "converter/ir/text.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::test {

/// Two inputs, two outputs, a constant, a concatenation in place and a residual convolution.
inline constexpr const char* kSmallModel = R"(graph small
input %x as "image": f32[1,2,4,4]
input %z as "other": f32[1,2,4,4]
const %w: f32[2,2,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]} "conv"
%b = binary(%a, %z) "add"
%c = unary(%x) {function=relu} "relu"
%y = concat(%b, %c) {axis=1} "join"
%p = reduce(%y) {function=mean, axes_mask=12, keep_dims=0} "mean"
output %y as "features"
output %p as "means"
)";

inline std::vector<uint8_t> PlanOf(std::string_view text, bool portable = true) {
  auto graph = converter::ParseGraph(text);
  if (!graph.ok()) FAIL(graph.error().message);
  converter::ConvertOptions options = OptionsFor();
  options.board.units[0].portable_kernels_only = portable;
  auto conversion = converter::ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(conversion->plan);
}

using Memory = std::vector<std::max_align_t>;
inline Memory MakeMemory(size_t bytes) { return Memory(bytes / sizeof(std::max_align_t) + 1); }

/// A plan loaded in memory of its own, on the portable kernels unless `backend` says otherwise.
class LoadedForTest {
 public:
  explicit LoadedForTest(const std::vector<uint8_t>& bytes, int threads = 1,
                         const tenon_backend* backend = tenon_backend_cpu_portable())
      : file_(bytes) {
    tenon_error error;
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    REQUIRE(tenon_plan_scratch_size(file_.data(), file_.size(), &scratch_bytes, &error) ==
            TENON_OK);
    REQUIRE(tenon_plan_state_size(file_.data(), file_.size(), &state_bytes, &error) == TENON_OK);
    Memory scratch = MakeMemory(scratch_bytes);
    state_ = MakeMemory(state_bytes);
    const tenon_backends backends{&backend, 1};
    const tenon_status status =
        tenon_plan_load(file_.data(), file_.size(), &backends, threads, state_.data(), state_bytes,
                        scratch.data(), scratch_bytes, &plan_, &error);
    REQUIRE_MESSAGE(status == TENON_OK, error.message);
  }
  LoadedForTest(const LoadedForTest&) = delete;
  LoadedForTest& operator=(const LoadedForTest&) = delete;
  ~LoadedForTest() { tenon_plan_unload(plan_); }
  [[nodiscard]] const tenon_plan* get() const { return plan_; }

 private:
  PlanBytes file_;
  Memory state_;
  tenon_plan* plan_ = nullptr;
};

/// A session that closes itself.
class SessionForTest {
 public:
  explicit SessionForTest(const LoadedForTest& plan) {
    tenon_error error;
    REQUIRE_MESSAGE(tenon_session_open(plan.get(), &session_, &error) == TENON_OK, error.message);
  }
  SessionForTest(const SessionForTest&) = delete;
  SessionForTest& operator=(const SessionForTest&) = delete;
  ~SessionForTest() { tenon_session_close(session_); }
  [[nodiscard]] tenon_session* get() const { return session_; }

 private:
  tenon_session* session_ = nullptr;
};

}  // namespace tenon::test
