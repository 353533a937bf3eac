// Plans and sessions in memory of a test's own, whatever the runtime is built for.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <vector>

#include "tenon/tenon.h"
#include "tests/support/plan_bytes.hpp"

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
  [[nodiscard]] tenon_plan* get() const { return plan_; }
  [[nodiscard]] PlanBytes& file() { return file_; }

 private:
  PlanBytes file_;
  Memory state_;
  tenon_plan* plan_ = nullptr;
};

/// What loading a plan says, in memory of its own.
inline tenon_status LoadStatus(const std::vector<uint8_t>& bytes, tenon_error& error,
                               const tenon_backend* backend = tenon_backend_cpu_portable()) {
  const PlanBytes file(bytes);
  size_t scratch_bytes = 0;
  size_t state_bytes = 0;
  REQUIRE(tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, &error) == TENON_OK);
  REQUIRE(tenon_plan_state_size(file.data(), file.size(), &state_bytes, &error) == TENON_OK);
  Memory scratch = MakeMemory(scratch_bytes);
  Memory state = MakeMemory(state_bytes);
  const tenon_backends backends{&backend, 1};
  tenon_plan* plan = nullptr;
  const tenon_status status =
      tenon_plan_load(file.data(), file.size(), &backends, 1, state.data(), state_bytes,
                      scratch.data(), scratch_bytes, &plan, &error);
  tenon_plan_unload(plan);
  return status;
}

/// The status is the expected one, and its message holds the words.
inline void CheckFailed(tenon_status status, tenon_status expected, const tenon_error& error,
                        std::string_view words) {
  CHECK(status == expected);
  CHECK_MESSAGE(std::string_view(error.message).find(words) != std::string_view::npos,
                error.message);
}

/// Arenas for one session of a plan.
class ArenasForTest {
 public:
  explicit ArenasForTest(const tenon_plan* plan) {
    for (size_t i = 0; i < tenon_plan_arena_count(plan); ++i) {
      tenon_arena_info info;
      REQUIRE(tenon_plan_arena(plan, i, &info) == TENON_OK);
      std::vector<uint8_t>& block = blocks_.emplace_back(info.bytes + info.alignment);
      const auto address = reinterpret_cast<uintptr_t>(block.data());
      const size_t skipped = (info.alignment - address % info.alignment) % info.alignment;
      arenas_.push_back({block.data() + skipped, info.bytes});
    }
  }
  [[nodiscard]] const tenon_memory* data() const { return arenas_.data(); }
  [[nodiscard]] size_t size() const { return arenas_.size(); }

 private:
  std::list<std::vector<uint8_t>> blocks_;
  std::vector<tenon_memory> arenas_;
};

/// A session that ends itself.
class SessionForTest {
 public:
  explicit SessionForTest(const LoadedForTest& plan) : SessionForTest(plan.get()) {}
  explicit SessionForTest(const tenon_plan* plan)
      : arenas_(plan), state_(MakeMemory(tenon_session_state_size(plan))) {
    tenon_error error;
    const tenon_status status =
        tenon_session_create(plan, state_.data(), tenon_session_state_size(plan), arenas_.data(),
                             arenas_.size(), &session_, &error);
    REQUIRE_MESSAGE(status == TENON_OK, error.message);
  }
  SessionForTest(const SessionForTest&) = delete;
  SessionForTest& operator=(const SessionForTest&) = delete;
  ~SessionForTest() { tenon_session_destroy(session_); }
  [[nodiscard]] tenon_session* get() const { return session_; }

 private:
  ArenasForTest arenas_;
  Memory state_;
  tenon_session* session_ = nullptr;
};

}  // namespace tenon::test
