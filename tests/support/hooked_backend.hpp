// A CPU backend whose one kernel is a function of the test's: it can wait, fail, or note its calls.
#pragma once

#include <functional>
#include <utility>

#include "runtime/backend_api/backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tenon/tenon.h"

namespace tenon::test {

/// Runs unary ops on arrays of f32; an op's number is attribute `a`. One at a time.
class HookedBackend {
 public:
  using Hook = std::function<Status(int op, Span<const float> input, Span<float> output)>;

  explicit HookedBackend(Hook hook) {
    HookNow() = std::move(hook);
    entry_.id = "cpu.unary.hooked";
    entry_.row = &kUnaryRow;
    entry_.check = [](const KernelSetup&) { return OkStatus(); };
    entry_.run = [](const KernelCall& call) {
      const TensorView& input = call.op.Input(0);
      const TensorView& output = call.op.Output();
      return HookNow()(
          static_cast<int>(call.op.AttributesAs<UnaryAttributes>().a),
          {static_cast<const float*>(input.data), static_cast<size_t>(input.Elements())},
          {static_cast<float*>(output.data), static_cast<size_t>(output.Elements())});
    };
    backend_.name = "cpu";
    backend_.kernels = {&entry_, 1};
  }
  HookedBackend(const HookedBackend&) = delete;
  HookedBackend& operator=(const HookedBackend&) = delete;
  ~HookedBackend() { HookNow() = nullptr; }

  [[nodiscard]] const tenon_backend* handle() const {
    return reinterpret_cast<const tenon_backend*>(&backend_);
  }

 private:
  static Hook& HookNow() {
    static Hook hook;
    return hook;
  }
  KernelEntry entry_{};
  Backend backend_{};
};

}  // namespace tenon::test
