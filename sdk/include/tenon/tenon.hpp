// Tenon runtime, C++17 interface: RAII over tenon.h, header only, no exceptions.
//
//   auto plan = tenon::Plan::Open("model.tenon");
//   if (!plan) return Complain(plan.error().message);
//   auto session = tenon::Session::Open(*plan);
//   if (!session) return Complain(session.error().message);
//   std::memcpy(session->InputData(0), image, plan->Input(0).bytes);
//   if (auto error = session->Run()) return Complain(error->message);
//   const float* scores = static_cast<const float*>(session->OutputData(0));
//
// Thread rules and lifetimes are those of tenon.h: a plan may be shared, a session is used by one
// thread at a time, a plan outlives its sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {
inline namespace api_v1 {

struct Error {
  tenon_status status = TENON_OK;
  std::string message;
};

/// A value, or the Error that says why there is none.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Expected(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// A loaded plan. Movable; closes itself.
class Plan {
 public:
  /// Maps and loads a plan file for runs on up to `threads` threads, with the backends given (the
  /// pointers must outlive the plan), or with every backend of this build.
  [[nodiscard]] static Expected<Plan> Open(const std::string& path, int threads = 1,
                                           const std::vector<const tenon_backend*>& backends = {}) {
    const tenon_backends list{backends.data(), backends.size()};
    tenon_plan* handle = nullptr;
    tenon_error error;
    const tenon_status status =
        tenon_plan_open(path.c_str(), backends.empty() ? nullptr : &list, threads, &handle, &error);
    if (status != TENON_OK) return Error{status, error.message};
    return Plan(handle);
  }

  Plan(Plan&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Plan& operator=(Plan&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() { tenon_plan_close(handle_); }

  [[nodiscard]] size_t InputCount() const { return tenon_plan_input_count(handle_); }
  [[nodiscard]] size_t OutputCount() const { return tenon_plan_output_count(handle_); }
  /// `index` below the count.
  [[nodiscard]] tenon_port_info Input(size_t index) const {
    tenon_port_info info{};
    if (tenon_plan_input(handle_, index, &info) != TENON_OK) info = {};
    return info;
  }
  [[nodiscard]] tenon_port_info Output(size_t index) const {
    tenon_port_info info{};
    if (tenon_plan_output(handle_, index, &info) != TENON_OK) info = {};
    return info;
  }
  /// Index of the input called `name`, if there is one.
  [[nodiscard]] std::optional<size_t> FindInput(std::string_view name) const {
    for (size_t i = 0; i < InputCount(); ++i) {
      if (name == Input(i).name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<size_t> FindOutput(std::string_view name) const {
    for (size_t i = 0; i < OutputCount(); ++i) {
      if (name == Output(i).name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] size_t OpCount() const { return tenon_plan_op_count(handle_); }
  [[nodiscard]] tenon_op_info Op(size_t index) const {
    tenon_op_info info{};
    if (tenon_plan_op(handle_, index, &info) != TENON_OK) info = {};
    return info;
  }
  [[nodiscard]] size_t ArenaCount() const { return tenon_plan_arena_count(handle_); }
  [[nodiscard]] tenon_arena_info Arena(size_t index) const {
    tenon_arena_info info{};
    if (tenon_plan_arena(handle_, index, &info) != TENON_OK) info = {};
    return info;
  }
  /// Bytes of the plan's own state.
  [[nodiscard]] size_t StateBytes() const { return tenon_plan_state_bytes(handle_); }
  /// Heap bytes that kernels hold for this plan (packed weights).
  [[nodiscard]] size_t PackedBytes() const { return tenon_plan_packed_bytes(handle_); }

  [[nodiscard]] const tenon_plan* handle() const { return handle_; }

 private:
  explicit Plan(tenon_plan* handle) : handle_(handle) {}
  tenon_plan* handle_ = nullptr;
};

/// One independent execution of a plan, which it must not outlive. Movable; closes itself.
class Session {
 public:
  [[nodiscard]] static Expected<Session> Open(const Plan& plan) {
    tenon_session* handle = nullptr;
    tenon_error error;
    const tenon_status status = tenon_session_open(plan.handle(), &handle, &error);
    if (status != TENON_OK) return Error{status, error.message};
    return Session(handle);
  }

  Session(Session&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Session& operator=(Session&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { tenon_session_close(handle_); }

  /// Where to write an input before every run, and read an output after it; see tenon.h.
  [[nodiscard]] void* InputData(size_t index) { return tenon_session_input(handle_, index); }
  [[nodiscard]] const void* OutputData(size_t index) const {
    return tenon_session_output(handle_, index);
  }
  /// Uses the caller's memory without copying. None, or what is wrong.
  [[nodiscard]] std::optional<Error> BindInput(size_t index, const void* data, size_t bytes) {
    tenon_error error;
    return Check(tenon_session_bind_input(handle_, index, data, bytes, &error), error);
  }
  [[nodiscard]] std::optional<Error> BindOutput(size_t index, void* data, size_t bytes) {
    tenon_error error;
    return Check(tenon_session_bind_output(handle_, index, data, bytes, &error), error);
  }
  /// One inference. None, or what went wrong.
  [[nodiscard]] std::optional<Error> Run() {
    tenon_error error;
    return Check(tenon_session_run(handle_, &error), error);
  }
  [[nodiscard]] std::optional<Error> RunTraced(const tenon_trace& trace) {
    tenon_error error;
    return Check(tenon_session_run_traced(handle_, &trace, &error), error);
  }
  [[nodiscard]] size_t PackedBytes() const { return tenon_session_packed_bytes(handle_); }

  [[nodiscard]] tenon_session* handle() const { return handle_; }

 private:
  explicit Session(tenon_session* handle) : handle_(handle) {}
  static std::optional<Error> Check(tenon_status status, const tenon_error& error) {
    if (status == TENON_OK) return std::nullopt;
    return Error{status, error.message};
  }
  tenon_session* handle_ = nullptr;
};

}  // namespace api_v1
}  // namespace tenon
