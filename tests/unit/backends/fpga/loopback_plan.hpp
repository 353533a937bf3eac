// Plans whose segments run on the simulated board with the loopback kernel, and sessions of them.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "tenon/tenon.h"
#include "tests/support/plan_bytes.hpp"
#include "tests/unit/backends/fpga/loopback_board.hpp"
#include "tests/unit/runtime/format/plan_check_samples.hpp"

namespace tenon::test {

inline constexpr size_t kElements = 16;

/// Op 0 on the CPU, ops 1 and 2 on the board by one start, op 3 on the CPU. All pass on what they
/// are given, but for the board's kernel, which flips the lowest bit of every byte.
inline PlanSpec OnBoard() {
  PlanSpec spec = WithDevice();
  spec.backends[1] = "fpga";
  spec.kernels[1] = "fpga.unary.code";
  spec.sections = {{CopyCode(4), 64, 0}};
  CodeSpec code;
  code.accelerator = fpga::isa::kAcceleratorName;
  code.parameters = LoopbackParameters();
  code.version = fpga::isa::kFormatVersion;
  code.bytes = fpga::isa::kDescriptorBytes;
  code.relocations = {{StorageHome::kArena, 0, 64, 64, 0, false},
                      {StorageHome::kArena, 0, 192, 64, 1, true}};
  spec.segments[1].code = {code};
  return spec;
}

inline PlanSpec OnBoardWithFallback() {
  PlanSpec spec = OnBoard();
  spec.ops[1].fallback_kernel = 0;
  spec.ops[2].fallback_kernel = 0;
  return spec;
}

inline uint64_t MonotonicNow() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

inline tenon_status RunOn(tenon_session* session, uint8_t seed, tenon_error* error) {
  auto* const input = static_cast<uint8_t*>(tenon_session_input(session, 0));
  for (size_t i = 0; i < kElements * 4; ++i) input[i] = static_cast<uint8_t>(i * 3 + seed);
  return tenon_session_run(session, error);
}

/// What every output byte is of the input byte; -1: not the same for all.
inline int FlippedOf(const tenon_session* session) {
  const auto* const input =
      static_cast<const uint8_t*>(tenon_session_input(const_cast<tenon_session*>(session), 0));
  const auto* const output = static_cast<const uint8_t*>(tenon_session_output(session, 0));
  const int first = input[0] ^ output[0];
  for (size_t i = 0; i < kElements * 4; ++i) {
    if ((input[i] ^ output[i]) != first) return -1;
  }
  return first;
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
  [[nodiscard]] tenon_plan* plan() const { return plan_; }

  /// Returns TENON_OK, or what went wrong; its words are in error().
  tenon_status Run(uint8_t seed) {
    error_ = tenon_error{};
    return RunOn(session_, seed, &error_);
  }
  [[nodiscard]] int Flipped() const { return FlippedOf(session_); }

 private:
  test::PlanBytes file_;
  std::vector<AlignedUnit> scratch_;
  std::vector<AlignedUnit> state_;
  tenon_plan* plan_ = nullptr;
  tenon_session* session_ = nullptr;
  tenon_error error_{};
};

inline bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A fault of the boards that are opened while it lives. The board counts starts from when it is
/// opened with other faults than before: with none, here.
class Fault {
 public:
  explicit Fault(const std::string& text)
      : opened_(Rig().failure()), setting_("TENON_FPGA_SIM_FAULT", text) {}

 private:
  std::string opened_;
  Setting setting_;
};

}  // namespace tenon::test
