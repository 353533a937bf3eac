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

#include <chrono>
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

/// Version of the library that the program is linked with, "0.1.0".
[[nodiscard]] inline std::string_view Version() { return tenon_version(); }

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
  /// Why there is no value; only then.
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

/// A loaded plan. Movable; closes itself.
class Plan {
 public:
  /// Reads and loads a plan file for runs on up to `threads` threads, with the backends given (the
  /// pointers must outlive the plan), or with those of this build that the plan names. `program`:
  /// its name in the file; empty: the first.
  [[nodiscard]] static Expected<Plan> Open(const std::string& path, int threads = 1,
                                           const std::vector<const tenon_backend*>& backends = {},
                                           const std::string& program = "") {
    const tenon_backends list{backends.data(), backends.size()};
    tenon_plan* handle = nullptr;
    tenon_error error;
    const tenon_status status =
        tenon_plan_open_program(path.c_str(), program.empty() ? nullptr : program.c_str(),
                                backends.empty() ? nullptr : &list, threads, &handle, &error);
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

  /// Inputs and outputs are counted in the model's order.
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
  /// All programs of the file, loaded or not.
  [[nodiscard]] size_t ProgramCount() const { return tenon_plan_program_count(handle_); }
  [[nodiscard]] tenon_program_info Program(size_t index) const {
    tenon_program_info info{};
    if (tenon_plan_program(handle_, index, &info) != TENON_OK) info = {};
    return info;
  }
  /// The one that sessions and streams run.
  [[nodiscard]] tenon_program_info LoadedProgram() const {
    for (size_t i = 0; i < ProgramCount(); ++i) {
      if (Program(i).is_loaded != 0) return Program(i);
    }
    return {};
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

  /// Which backends the CPU stands in for, and why; empty if none.
  [[nodiscard]] std::string_view Notice() const { return tenon_plan_notice(handle_); }

  /// For calls of the C interface; still owned by this object.
  [[nodiscard]] const tenon_plan* handle() const { return handle_; }

 private:
  explicit Plan(tenon_plan* handle) : handle_(handle) {}
  tenon_plan* handle_ = nullptr;
};

/// One independent execution of a plan, which it must not outlive. Movable; closes itself.
class Session {
 public:
  /// Allocates state and arenas.
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
  /// Sets what the plan keeps from run to run to what the model starts with; see tenon.h.
  [[nodiscard]] std::optional<Error> Reset() {
    tenon_error error;
    return Check(tenon_session_reset(handle_, &error), error);
  }
  /// Limits how long a run may wait for devices; see tenon.h. 0: no limit.
  void SetTimeout(std::chrono::nanoseconds timeout) {
    tenon_session_set_timeout(handle_, static_cast<uint64_t>(timeout.count()), [] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      return static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    });
  }
  /// Words of the last time that the CPU took over from a device that failed; empty if it never had
  /// to.
  [[nodiscard]] std::string_view Notice() const { return tenon_session_notice(handle_); }
  [[nodiscard]] size_t PackedBytes() const { return tenon_session_packed_bytes(handle_); }

  /// For calls of the C interface; still owned by this object.
  [[nodiscard]] tenon_session* handle() const { return handle_; }

 private:
  explicit Session(tenon_session* handle) : handle_(handle) {}
  static std::optional<Error> Check(tenon_status status, const tenon_error& error) {
    if (status == TENON_OK) return std::nullopt;
    return Error{status, error.message};
  }
  tenon_session* handle_ = nullptr;
};

/// Successive inputs of a plan, several under way at once; see tenon.h. It must not outlive the
/// plan. Movable; closes itself, which completes what was handed in. Any number of threads may
/// submit and wait.
class Stream {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  static constexpr Nanoseconds kForever = Nanoseconds::max();

  /// Starts the stream's threads.
  [[nodiscard]] static Expected<Stream> Open(const Plan& plan,
                                             const tenon_stream_options& options = {}) {
    tenon_stream* handle = nullptr;
    tenon_error error;
    const tenon_status status = tenon_stream_open(plan.handle(), &options, &handle, &error);
    if (status != TENON_OK) return Error{status, error.message};
    return Stream(handle);
  }

  Stream(Stream&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { tenon_stream_close(handle_); }

  /// Hands in one input: an address per input and output of the plan, used until the ticket is
  /// over. The ticket to wait for.
  [[nodiscard]] Expected<uint64_t> Submit(const void* const* inputs, void* const* outputs,
                                          Nanoseconds timeout = kForever) {
    uint64_t ticket = 0;
    tenon_error error;
    const tenon_status status =
        tenon_stream_submit(handle_, inputs, outputs, Count(timeout), &ticket, &error);
    if (status != TENON_OK) return Error{status, error.message};
    return ticket;
  }
  /// Waits for a ticket. None, or what went wrong; TENON_DEADLINE_EXCEEDED: not over yet.
  [[nodiscard]] std::optional<Error> Wait(uint64_t ticket, Nanoseconds timeout = kForever) {
    tenon_error error;
    const tenon_status status = tenon_stream_wait(handle_, ticket, Count(timeout), &error);
    if (status == TENON_OK) return std::nullopt;
    return Error{status, error.message};
  }

  /// Sets what the plan keeps from input to input to what the model starts with; see tenon.h.
  [[nodiscard]] std::optional<Error> Reset() {
    tenon_error error;
    const tenon_status status = tenon_stream_reset(handle_, &error);
    if (status == TENON_OK) return std::nullopt;
    return Error{status, error.message};
  }

  /// Runs a batch of rows that is given in one call; see tenon.h. None, or what went wrong.
  [[nodiscard]] std::optional<Error> RunBatch(size_t rows, const void* const* inputs,
                                              void* const* outputs) {
    tenon_error error;
    const tenon_status status = tenon_stream_run_batch(handle_, rows, inputs, outputs, &error);
    if (status == TENON_OK) return std::nullopt;
    return Error{status, error.message};
  }

  /// What the stream has done so far.
  [[nodiscard]] tenon_stream_stats Stats() const {
    tenon_stream_stats stats{};
    if (tenon_stream_get_stats(handle_, &stats) != TENON_OK) stats = {};
    return stats;
  }
  /// Indices below Stats().replicas, .stages and .channels.
  [[nodiscard]] tenon_stage_stats StageStats(size_t replica, size_t stage) const {
    tenon_stage_stats stats{};
    if (tenon_stream_get_stage_stats(handle_, replica, stage, &stats) != TENON_OK) stats = {};
    return stats;
  }
  [[nodiscard]] tenon_channel_stats ChannelStats(size_t channel) const {
    tenon_channel_stats stats{};
    if (tenon_stream_get_channel_stats(handle_, channel, &stats) != TENON_OK) stats = {};
    return stats;
  }

  /// For calls of the C interface; still owned by this object.
  [[nodiscard]] tenon_stream* handle() const { return handle_; }

 private:
  explicit Stream(tenon_stream* handle) : handle_(handle) {}
  static uint64_t Count(Nanoseconds timeout) {
    if (timeout == kForever) return UINT64_MAX;
    return timeout.count() < 0 ? 0 : static_cast<uint64_t>(timeout.count());
  }
  tenon_stream* handle_ = nullptr;
};

}  // namespace api_v1
}  // namespace tenon
