// One try of a plan that may be hostile: it is refused, or it runs inside its own memory and in the
// time that its work takes.
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/format/plan_view.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tenon/tenon.h"

namespace tenon::test {

inline constexpr uint64_t kMostArenaBytes = uint64_t{64} << 20;
inline constexpr int64_t kMostWork = 100'000'000;
inline constexpr double kMostSeconds = 30;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using OwnedMemory = std::unique_ptr<uint8_t, Free>;

/// Exactly `bytes` bytes, so that ASan sees the first one beyond.
inline OwnedMemory Allocate(uint64_t bytes, size_t alignment = 16) {
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < 16 ? 16 : alignment, bytes) != 0) return nullptr;
  if (memory != nullptr) std::memset(memory, 0xA5, bytes);
  return OwnedMemory(static_cast<uint8_t*>(memory));
}

struct PlanUnloader {
  void operator()(tenon_plan* plan) const { tenon_plan_unload(plan); }
};
struct SessionDestroyer {
  void operator()(tenon_session* session) const { tenon_session_destroy(session); }
};

struct Outcome {
  bool loaded = false;
  bool ran = false;
  tenon_status status = TENON_OK;  ///< of the last call that a plan within bounds led to
  std::string error;
  std::vector<std::vector<uint8_t>> outputs;
};

/// What a run takes, roughly: products, functions and bytes written. Of what no kernel takes there
/// is no end.
inline int64_t WorkOf(const ProgramView& program) {
  std::vector<TensorView> tensors(program.tensor_count());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo info = program.tensor(i);
    tensors[i] = {nullptr, info.dims.data(), info.strides.data(), info.dtype,
                  static_cast<uint8_t>(info.dims.size())};
  }
  double total = 0;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const OpInfo op = program.op(i);
    const OpCall call{tensors.data(), op.inputs, op.outputs, op.attributes.data()};
    const auto kind = static_cast<OpKind>(op.kind);
    if (!CheckOpCall(GetOpRow(kind), call).ok()) return INT64_MAX;
    const OpWork work = GetOpHostRow(kind).work(call);
    total += static_cast<double>(work.multiply_accumulates) +
             static_cast<double>(work.elementary_ops) + static_cast<double>(work.bytes_written);
  }
  return total > 1e18 ? INT64_MAX : static_cast<int64_t>(total);
}

/// Loads a plan and runs it once, with memory of exactly the sizes that it asks for.
class Attempt {
 public:
  Attempt(const std::vector<uint8_t>& file, const tenon_backend* backend)
      : size_(file.size()), file_(Allocate(file.size())), backend_(backend) {
    if (!file.empty()) std::memcpy(file_.get(), file.data(), file.size());
  }

  Outcome Run(uint32_t input_seed) {
    Outcome outcome;
    outcome.loaded = Load() && CheckHeldMemory();
    if (outcome.loaded && IsAffordable() && OpenSession()) {
      Bind(input_seed);
      status_ = tenon_session_run(session_.get(), &error_);
      outcome.ran = status_ == TENON_OK;
      outcome.outputs = std::move(outputs_);
      for (size_t i = 0; i < outcome.outputs.size(); ++i) {
        std::memcpy(outcome.outputs[i].data(), bound_outputs_[i].get(), outcome.outputs[i].size());
      }
    }
    outcome.status = status_;
    outcome.error = error_.message;
    return outcome;
  }

 private:
  bool Load() {
    size_t scratch_bytes = 0;
    size_t state_bytes = 0;
    status_ = tenon_plan_scratch_size(file_.get(), size_, &scratch_bytes, &error_);
    if (status_ == TENON_OK) {
      status_ = tenon_plan_state_size(file_.get(), size_, &state_bytes, &error_);
    }
    if (status_ != TENON_OK) return false;
    // Tables in the file are a few times smaller than what describes them in memory.
    CHECK(scratch_bytes + state_bytes <= 16 * size_ + 65536);
    state_ = Allocate(state_bytes);
    const OwnedMemory scratch = Allocate(scratch_bytes);
    const tenon_backends backends{&backend_, 1};
    tenon_plan* plan = nullptr;
    status_ = tenon_plan_load(file_.get(), size_, &backends, 1, state_.get(), state_bytes,
                              scratch.get(), scratch_bytes, &plan, &error_);
    plan_.reset(plan);
    return status_ == TENON_OK;
  }

  [[nodiscard]] uint64_t ArenaBytes() const {
    uint64_t bytes = 0;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_.get()); ++i) {
      tenon_arena_info info;
      REQUIRE(tenon_plan_arena(plan_.get(), i, &info) == TENON_OK);
      if (info.bytes > UINT64_MAX - bytes) return UINT64_MAX;
      bytes += info.bytes + info.alignment;
    }
    return bytes;
  }

  /// What `load` packed comes from constants: Winograd's coefficients are 4 times the weights.
  bool CheckHeldMemory() {
#ifndef TENON_FIRMWARE
    CHECK(tenon_plan_packed_bytes(plan_.get()) <= 8 * size_ + 65536);
#endif
    return true;
  }

  /// Huge arenas and endless work are what the plan asks for; the runtime cannot know better.
  bool IsAffordable() {
    const uint64_t arena_bytes = ArenaBytes();
    if (arena_bytes > kMostArenaBytes) {
#ifndef TENON_FIRMWARE
      tenon_session* session = nullptr;
      const tenon_status status = tenon_session_open(plan_.get(), &session, &error_);
      CHECK((status == TENON_OK || status == TENON_OUT_OF_MEMORY));
      if (arena_bytes >= uint64_t{1} << 58) CHECK(status == TENON_OUT_OF_MEMORY);
      tenon_session_close(session);
#endif
      return false;
    }
    const Result<PlanView> view = PlanView::Open(Span<const uint8_t>(file_.get(), size_));
    return WorkOf(view->program(0)) <= kMostWork;
  }

  bool OpenSession() {
    std::vector<tenon_memory> blocks;
    for (size_t i = 0; i < tenon_plan_arena_count(plan_.get()); ++i) {
      tenon_arena_info info;
      REQUIRE(tenon_plan_arena(plan_.get(), i, &info) == TENON_OK);
      arenas_.push_back(Allocate(info.bytes, info.alignment));
      blocks.push_back({arenas_.back().get(), info.bytes});
    }
    const size_t bytes = tenon_session_state_size(plan_.get());
    session_state_ = Allocate(bytes);
    tenon_session* session = nullptr;
    status_ = tenon_session_create(plan_.get(), session_state_.get(), bytes, blocks.data(),
                                   blocks.size(), &session, &error_);
    session_.reset(session);
    if (status_ != TENON_OK) return false;
#ifndef TENON_FIRMWARE
    // oneDNN's scratch, where a hostile plan left no workspace, is no larger than the operands.
    CHECK(tenon_session_packed_bytes(session) <= 8 * (size_ + ArenaBytes()) + (1U << 20));
#endif
    return true;
  }

  void Bind(uint32_t seed) {
    std::mt19937 random(seed);
    tenon_port_info info;
    for (size_t i = 0; i < tenon_plan_input_count(plan_.get()); ++i) {
      REQUIRE(tenon_plan_input(plan_.get(), i, &info) == TENON_OK);
      inputs_.push_back(Allocate(info.bytes));
      for (size_t at = 0; at + 4 <= info.bytes; at += 4) {
        const float value = static_cast<float>(random() % 2000) / 1000.0F - 1.0F;
        std::memcpy(inputs_.back().get() + at, &value, 4);
      }
      REQUIRE(tenon_session_bind_input(session_.get(), i, inputs_.back().get(), info.bytes,
                                       &error_) == TENON_OK);
    }
    for (size_t i = 0; i < tenon_plan_output_count(plan_.get()); ++i) {
      REQUIRE(tenon_plan_output(plan_.get(), i, &info) == TENON_OK);
      bound_outputs_.push_back(Allocate(info.bytes));
      outputs_.emplace_back(info.bytes);
      REQUIRE(tenon_session_bind_output(session_.get(), i, bound_outputs_.back().get(), info.bytes,
                                        &error_) == TENON_OK);
    }
  }

  size_t size_;
  OwnedMemory file_;
  const tenon_backend* backend_;
  tenon_error error_{};
  tenon_status status_ = TENON_OK;
  OwnedMemory state_;
  std::unique_ptr<tenon_plan, PlanUnloader> plan_;
  std::vector<OwnedMemory> arenas_;
  OwnedMemory session_state_;
  std::vector<OwnedMemory> inputs_;
  std::vector<OwnedMemory> bound_outputs_;
  std::vector<std::vector<uint8_t>> outputs_;
  std::unique_ptr<tenon_session, SessionDestroyer> session_;
};

inline Outcome Try(const std::vector<uint8_t>& file, const tenon_backend* backend) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = Attempt(file, backend).Run(7);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(elapsed.count() < kMostSeconds);
  return outcome;
}

inline Outcome Try(const std::vector<uint8_t>& file, bool portable) {
#ifdef TENON_FIRMWARE
  (void)portable;
  return Try(file, tenon_backend_cpu_portable());
#else
  return Try(file, portable ? tenon_backend_cpu_portable() : tenon_backend_cpu());
#endif
}

}  // namespace tenon::test
