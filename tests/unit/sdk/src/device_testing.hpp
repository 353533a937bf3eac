// Loads and runs plans of several backends through the public interface.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <random>
#include <thread>

#include "tests/support/scripted_backend.hpp"
#include "tests/unit/sdk/src/device_plan.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"

namespace tenon::test {

inline uint64_t SteadyClock() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// Loaded, or the reason why not.
class LoadedDevicePlan {
 public:
  LoadedDevicePlan(const DeviceGraph& graph, const std::vector<const tenon_backend*>& devices,
                   bool with_cpu = true)
      : LoadedDevicePlan(DevicePlan(graph).Write(), devices, with_cpu) {}

  LoadedDevicePlan(const std::vector<uint8_t>& plan,
                   const std::vector<const tenon_backend*>& devices, bool with_cpu = true)
      : file_(plan) {
    backends_ = devices;
    if (with_cpu) backends_.push_back(tenon_backend_cpu_portable());
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    tenon_error error;
    REQUIRE_MESSAGE(
        tenon_plan_scratch_size(file_.data(), file_.size(), &scratch_bytes, &error) == TENON_OK,
        error.message);
    REQUIRE(tenon_plan_state_size(file_.data(), file_.size(), &state_bytes, &error) == TENON_OK);
    Memory scratch = MakeMemory(scratch_bytes);
    state_ = MakeMemory(state_bytes);
    const tenon_backends list{backends_.data(), backends_.size()};
    status_ = tenon_plan_load(file_.data(), file_.size(), &list, 1, state_.data(), state_bytes,
                              scratch.data(), scratch_bytes, &plan_, &error_);
  }
  LoadedDevicePlan(const LoadedDevicePlan&) = delete;
  LoadedDevicePlan& operator=(const LoadedDevicePlan&) = delete;
  ~LoadedDevicePlan() { tenon_plan_unload(plan_); }

  [[nodiscard]] const tenon_plan* get() const { return plan_; }
  [[nodiscard]] tenon_status status() const { return status_; }
  [[nodiscard]] std::string error() const { return error_.message; }
  [[nodiscard]] std::string notice() const { return tenon_plan_notice(plan_); }

 private:
  PlanBytes file_;
  std::vector<const tenon_backend*> backends_;
  Memory state_;
  tenon_plan* plan_ = nullptr;
  tenon_status status_ = TENON_OK;
  tenon_error error_{};
};

using Values = std::vector<std::vector<float>>;

/// A session, its notices, and runs with random inputs.
class DeviceSession {
 public:
  explicit DeviceSession(const LoadedDevicePlan& plan) : plan_(plan.get()) {
    REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
    status_ = tenon_session_open(plan_, &session_, &error_);
    if (status_ != TENON_OK) return;
    tenon_session_set_notice(
        session_,
        [](void* context, const char* notice) {
          static_cast<std::vector<std::string>*>(context)->emplace_back(notice);
        },
        &notices_);
  }
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;
  ~DeviceSession() { tenon_session_close(session_); }

  [[nodiscard]] tenon_session* get() const { return session_; }
  [[nodiscard]] tenon_status status() const { return status_; }
  [[nodiscard]] std::string error() const { return error_.message; }
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }
  void SetTimeout(std::chrono::milliseconds timeout) {
    tenon_session_set_timeout(session_, static_cast<uint64_t>(timeout.count()) * 1'000'000,
                              SteadyClock);
  }

  /// Outputs of one run whose inputs are random numbers from `seed`. `bound`: in memory of ours.
  Values Run(uint32_t seed, bool bound = false) {
    Values inputs = RandomValues(tenon_plan_input_count(plan_), true, seed);
    Values outputs = RandomValues(tenon_plan_output_count(plan_), false, 0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const size_t bytes = inputs[i].size() * sizeof(float);
      if (bound) {
        REQUIRE(tenon_session_bind_input(session_, i, inputs[i].data(), bytes, nullptr) ==
                TENON_OK);
      } else {
        REQUIRE(tenon_session_bind_input(session_, i, nullptr, 0, nullptr) == TENON_OK);
        std::memcpy(tenon_session_input(session_, i), inputs[i].data(), bytes);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      REQUIRE(tenon_session_bind_output(session_, i, bound ? outputs[i].data() : nullptr,
                                        bound ? outputs[i].size() * sizeof(float) : 0,
                                        nullptr) == TENON_OK);
    }
    status_ = tenon_session_run(session_, &error_);
    for (size_t i = 0; i < outputs.size() && !bound; ++i) {
      const auto* data = static_cast<const float*>(tenon_session_output(session_, i));
      outputs[i].assign(data, data + outputs[i].size());
    }
    return outputs;
  }

 private:
  [[nodiscard]] Values RandomValues(size_t ports, bool inputs, uint32_t seed) const {
    std::mt19937 random(seed);
    Values values;
    for (size_t i = 0; i < ports; ++i) {
      tenon_port_info info;
      REQUIRE((inputs ? tenon_plan_input : tenon_plan_output)(plan_, i, &info) == TENON_OK);
      values.emplace_back(info.bytes / sizeof(float), NAN);
      for (float& value : values.back()) {
        if (inputs) value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
      }
    }
    return values;
  }

  const tenon_plan* plan_;
  tenon_session* session_ = nullptr;
  tenon_status status_ = TENON_OK;
  tenon_error error_{};
  std::vector<std::string> notices_;
};

/// The same graph with all ops on the CPU.
inline Values ExpectedValues(DeviceGraph graph, uint32_t seed) {
  graph.backends = {"cpu"};
  graph.fallback = false;
  for (DeviceOp& op : graph.ops) op.backend = 0;
  const LoadedDevicePlan plan(graph, {});
  DeviceSession session(plan);
  Values outputs = session.Run(seed);
  REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
  return outputs;
}

}  // namespace tenon::test
