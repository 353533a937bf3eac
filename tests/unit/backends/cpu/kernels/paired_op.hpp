// One op on equal operands with two kernels of the CPU backend: a fast one and the portable one
// that it must agree with.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/cpu_backend.hpp"
#include "tests/unit/backends/cpu/kernels/kernel_named.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

/// The kernel called `id`, which must be there.
inline const KernelEntry& FindKernel(const char* id) {
  const KernelEntry* kernel = KernelNamed(id);
  REQUIRE(kernel != nullptr);
  return *kernel;
}

/// The capabilities of the kernel called `id`.
inline const KernelCaps& FindCaps(const char* id) {
  const KernelCaps* caps = CapsNamed(id);
  REQUIRE(caps != nullptr);
  return *caps;
}

/// One of the layouts that kChannelsLastStrided allows.
inline Layout PickChannelsLast(Generator& random) {
  return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
}

/// Operands go to both kernels; each has an output of its own.
class PairedOp {
 public:
  PairedOp(const char* fast_id, const char* portable_id)
      : fast_(FindKernel(fast_id)), portable_(FindKernel(portable_id)) {}

  void AddInput(const Tensor& tensor, bool constant = false) {
    fast_.AddInput(tensor, constant);
    portable_.AddInput(tensor, constant);
  }
  void AddAbsentInput() {
    fast_.AddAbsentInput();
    portable_.AddAbsentInput();
  }
  void AddOutput(const std::vector<int32_t>& dims, Layout layout) {
    AddOutput(dims, StridesFor(dims, layout));
  }
  void AddOutput(const std::vector<int32_t>& dims, const std::vector<int32_t>& strides) {
    fast_output_.push_back(fast_.AddOutput(Tensor(DType::kF32, dims, strides)));
    portable_output_.push_back(portable_.AddOutput(Tensor(DType::kF32, dims, strides)));
  }
  /// An input whose memory the output takes over.
  void AddInputThatIsOutput(const std::vector<int32_t>& dims, Layout layout,
                            const std::vector<float>& values) {
    for (OpFixture* op : {&fast_, &portable_}) {
      const Tensor tensor = Tensor::From(DType::kF32, dims, values, layout);
      op->AddInput(tensor);
      (op == &fast_ ? fast_output_ : portable_output_).push_back(op->AddOutput(tensor));
    }
  }
  void set_workspace_bytes(size_t bytes) { fast_.set_workspace_bytes(bytes); }
  template <typename Attributes>
  void SizeWorkspace(const Attributes& attributes, int threads) {
    fast_.SizeWorkspace(attributes, threads);
  }

  template <typename Attributes>
  Status Check(const Attributes& attributes, int threads = 1) {
    return fast_.Check(attributes, threads);
  }

  /// Runs both, the fast one on `threads` threads of the backend's own team, and gives the largest
  /// difference relative to the largest expected value.
  template <typename Attributes>
  double Difference(const Attributes& attributes, int threads, int times = 1) {
    ParallelRunner runner;
    if (CpuBackend().make_runner != nullptr) runner = CpuBackend().make_runner(threads);
    fast_.set_runner(&runner);
    const Status status = fast_.Run(attributes, threads, times);
    fast_.set_runner(nullptr);
    CpuBackend().free_runner(runner);
    INFO(status.message());
    REQUIRE(status.ok());
    REQUIRE(portable_.Run(attributes).ok());
    CHECK(fast_output_[0].GapsIntact());
    const std::vector<float> expected = portable_output_[0].Values<float>();
    return LargestRelativeError(fast_output_[0].Values<float>(),
                                std::vector<double>(expected.begin(), expected.end()));
  }

 private:
  OpFixture fast_;
  OpFixture portable_;
  std::vector<Tensor> fast_output_;
  std::vector<Tensor> portable_output_;
};

}  // namespace tenon::cpu::testing
