// One op with real operands, for kernel tests: owns memory, dims and strides, checks the call as
// the runtime does, and takes a kernel through its whole life.
//
//   OpFixture op(OpKind::kConv);
//   op.AddInput(Random({1, 8, 5, 5}, Layout::kChannelsLast, random));
//   op.AddInput(Random({4, 8, 3, 3}, Layout::kRowMajor, random), kConstant);
//   Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 4, 3, 3}, Layout::kChannelsLast));
//   REQUIRE(op.Run(ConvAttributes{}).ok());
//   y.Values<float>()  // logical row-major order, whatever the layout
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/op_row.hpp"
#ifdef TENON_BARE_METAL
#include "sdk/examples/firmware/board/board.h"
#endif

namespace tenon::cpu::testing {

enum class Layout {
  kRowMajor,
  kChannelsLast,        ///< rank 4 only; other ranks fall to row-major
  kRowMajorGaps,        ///< row-major with unused elements after every dimension
  kChannelsLastGaps,    ///< channels innermost with stride 1, gaps outside
  kChannelsLastSpaced,  ///< channels-last order, every stride (the channels' too) with gaps
  kOutputsLast,         ///< weights: axis 0 innermost, then axis 1, then the others; no gaps
};
inline constexpr Layout kAllLayouts[] = {Layout::kRowMajor, Layout::kChannelsLast,
                                         Layout::kRowMajorGaps, Layout::kChannelsLastGaps,
                                         Layout::kChannelsLastSpaced};

/// Strides of `dims` in `layout`, in elements.
inline std::vector<int32_t> StridesFor(const std::vector<int32_t>& dims, Layout layout) {
  if (layout == Layout::kOutputsLast) {
    std::vector<int32_t> strides(dims.size(), 1);
    if (dims.size() > 1) strides[1] = dims[0];
    int32_t next = dims.size() > 1 ? dims[0] * dims[1] : 1;
    for (size_t axis = dims.size(); axis-- > 2; next *= dims[axis]) strides[axis] = next;
    return strides;
  }
  const bool channels_last = layout == Layout::kChannelsLast ||
                             layout == Layout::kChannelsLastGaps ||
                             layout == Layout::kChannelsLastSpaced;
  std::vector<size_t> order;  // innermost first
  for (size_t i = dims.size(); i-- > 0;) order.push_back(i);
  if (channels_last && dims.size() == 4) order = {1, 3, 2, 0};
  const bool gaps = layout != Layout::kRowMajor && layout != Layout::kChannelsLast;
  std::vector<int32_t> strides(dims.size());
  int32_t stride = layout == Layout::kChannelsLastSpaced ? 2 : 1;
  for (size_t axis : order) {
    strides[axis] = stride;
    stride = stride * std::max<int32_t>(dims[axis], 1) + (gaps ? 3 : 0);
  }
  return strides;
}

/// A tensor with memory of its own. Copies share the memory; elements that no index reaches hold
/// a pattern that `GapsIntact` looks for.
class Tensor {
 public:
  Tensor(DType dtype, std::vector<int32_t> dims, std::vector<int32_t> strides)
      : dtype_(dtype), dims_(std::move(dims)), strides_(std::move(strides)) {
    size_t elements = 1;
    for (size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i] == 0) elements = 0;
      count_ *= static_cast<size_t>(dims_[i]);
      if (elements == 0) continue;
      elements += static_cast<size_t>(dims_[i] - 1) * static_cast<size_t>(strides_[i]);
    }
    // Exactly as long as the last element needs, so that AddressSanitizer sees a step too far.
    memory_ = std::make_shared<std::vector<uint8_t>>(elements * Bytes(), kGap);
  }
  Tensor(DType dtype, const std::vector<int32_t>& dims, Layout layout = Layout::kRowMajor)
      : Tensor(dtype, dims, StridesFor(dims, layout)) {}

  /// From values in logical row-major order.
  template <typename T>
  static Tensor From(DType dtype, const std::vector<int32_t>& dims, const std::vector<T>& values,
                     Layout layout = Layout::kRowMajor) {
    Tensor tensor(dtype, dims, layout);
    tensor.Set(values);
    return tensor;
  }

  [[nodiscard]] const std::vector<int32_t>& dims() const { return dims_; }
  [[nodiscard]] const std::vector<int32_t>& strides() const { return strides_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] size_t count() const { return count_; }

  [[nodiscard]] TensorView View(bool with_data = true) const {
    TensorView view;
    view.data = with_data ? memory_->data() : nullptr;
    view.dims = dims_.data();
    view.strides = strides_.data();
    view.dtype = dtype_;
    view.rank = static_cast<uint8_t>(dims_.size());
    return view;
  }

  /// Position in memory, in elements, of the element at `index` of the logical row-major order.
  [[nodiscard]] size_t OffsetOf(size_t index) const {
    size_t offset = 0;
    for (size_t i = dims_.size(); i-- > 0;) {
      const auto dim = static_cast<size_t>(dims_[i]);
      offset += index % dim * static_cast<size_t>(strides_[i]);
      index /= dim;
    }
    return offset;
  }

  template <typename T>
  [[nodiscard]] std::vector<T> Values() const {
    std::vector<T> values(count_);
    for (size_t i = 0; i < count_; ++i) {
      std::memcpy(&values[i], memory_->data() + OffsetOf(i) * sizeof(T), sizeof(T));
    }
    return values;
  }

  template <typename T>
  void Set(const std::vector<T>& values) {
    for (size_t i = 0; i < count_; ++i) {
      std::memcpy(memory_->data() + OffsetOf(i) * sizeof(T), &values[i], sizeof(T));
    }
  }

  /// True if nothing has been written to the elements that no index reaches.
  [[nodiscard]] bool GapsIntact() const {
    std::vector<bool> reached(memory_->size(), false);
    for (size_t i = 0; i < count_; ++i) {
      for (size_t b = 0; b < Bytes(); ++b) reached[OffsetOf(i) * Bytes() + b] = true;
    }
    for (size_t i = 0; i < reached.size(); ++i) {
      if (!reached[i] && (*memory_)[i] != kGap) return false;
    }
    return true;
  }

 private:
  static constexpr uint8_t kGap = 0xFF;  // as a float: NaN, so that reading it shows too

  [[nodiscard]] size_t Bytes() const { return static_cast<size_t>(DTypeBytes(dtype_)); }

  DType dtype_;
  std::vector<int32_t> dims_;
  std::vector<int32_t> strides_;
  size_t count_ = 1;
  std::shared_ptr<std::vector<uint8_t>> memory_;
};

using Generator = std::mt19937;

inline std::vector<float> RandomValues(size_t count, Generator& random, float low = -1.0F,
                                       float high = 1.0F) {
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

/// An f32 tensor of uniform random values.
inline Tensor Random(const std::vector<int32_t>& dims, Layout layout, Generator& random,
                     float low = -1.0F, float high = 1.0F) {
  Tensor tensor(DType::kF32, dims, layout);
  tensor.Set(RandomValues(tensor.count(), random, low, high));
  return tensor;
}

/// Returns how many of so many random cases run: on emulated boards, where each takes some hundred
/// times as long and the code is the same, every sixth, unless the program was started with the
/// word --all-cases, as the tests with the label full are.
inline int RandomCases(int all) {
#ifdef TENON_BARE_METAL
  constexpr int kShare = 6;
  constexpr int kMostWords = 32;
  char* words[kMostWords];
  const int count = board_arguments(words, kMostWords);
  const bool runs_all = std::any_of(
      words, words + count, [](const char* word) { return std::strcmp(word, "--all-cases") == 0; });
  return runs_all ? all : (all + kShare - 1) / kShare;
#else
  return all;
#endif
}

/// A uniform integer of [low, high].
inline int32_t Pick(Generator& random, int32_t low, int32_t high) {
  return std::uniform_int_distribution<int32_t>(low, high)(random);
}

inline Layout PickLayout(Generator& random) { return kAllLayouts[Pick(random, 0, 4)]; }

/// Largest |actual - expected| over the largest |expected| (or over 1e-30 where all are 0). NaN
/// and infinities must stand at the same places, else the answer is infinity.
template <typename T>
double LargestRelativeError(const std::vector<T>& actual, const std::vector<double>& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size()) return kInfinity;
  double scale = 1e-30;
  double error = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const auto value = static_cast<double>(actual[i]);
    if (std::isnan(value) != std::isnan(expected[i])) return kInfinity;
    if (std::isinf(value) || std::isinf(expected[i])) {
      if (value != expected[i]) return kInfinity;
      continue;
    }
    if (std::isnan(value)) continue;
    scale = std::max(scale, std::abs(expected[i]));
    error = std::max(error, std::abs(value - expected[i]));
  }
  return error / scale;
}

/// What a status says; in builds without words, its number.
inline std::string Words(const Status& status) {
  char words[256] = "";
  status.Format({words, sizeof words});
  return words;
}

/// Cuts the range into `threads` parts and runs each on a thread of its own; where there are no
/// threads, the last part first.
inline ParallelRunner ThreadRunner(int threads) {
  ParallelRunner runner;
  runner.threads = threads;
  runner.run = [](const ParallelRunner& self, int count, void (*body)(void*, int, int),
                  void* context) {
#ifdef _GLIBCXX_HAS_GTHREADS
    std::vector<std::thread> team;
    const auto start = [&](int begin, int end) { team.emplace_back(body, context, begin, end); };
#else
    const auto start = [&](int begin, int end) { body(context, begin, end); };
#endif
    for (int part = self.threads - 1; part >= 0; --part) {
      const auto begin = static_cast<int>(int64_t{count} * part / self.threads);
      const auto end = static_cast<int>(int64_t{count} * (part + 1) / self.threads);
      if (begin < end) start(begin, end);
    }
#ifdef _GLIBCXX_HAS_GTHREADS
    for (std::thread& thread : team) thread.join();
#endif
  };
  return runner;
}

inline constexpr bool kConstant = true;

/// One op, its operands, and the kernel that runs it.
class OpFixture {
 public:
  explicit OpFixture(const KernelEntry& kernel) : kernel_(kernel) {}
  /// With the portable kernel.
  explicit OpFixture(OpKind kind) : OpFixture(PortableKernels()[static_cast<size_t>(kind)]) {}

  /// Gives back the tensor, whose memory is shared with the op's operand. An output may be an
  /// input: pass the tensor that AddInput gave.
  Tensor AddInput(const Tensor& tensor, bool constant = false) {
    input_ids_.push_back(static_cast<int32_t>(operands_.size()));
    operands_.push_back({tensor, constant});
    return tensor;
  }
  void AddAbsentInput() { input_ids_.push_back(-1); }
  Tensor AddOutput(const Tensor& tensor) {
    output_ids_.push_back(static_cast<int32_t>(operands_.size()));
    operands_.push_back({tensor, false});
    return tensor;
  }
  /// Runs on `runner` instead of threads of the fixture's own (what a library's team needs).
  void set_runner(const ParallelRunner* runner) { runner_ = runner; }
  void set_workspace_bytes(size_t bytes) { workspace_.resize(bytes); }

#ifndef TENON_FIRMWARE  // the tables are the converter's
  /// Gives the kernel what its row of the capability table says, full of what is no number.
  template <typename Attributes>
  void SizeWorkspace(const Attributes& attributes, int threads = 1) {
    const KernelCaps* caps = CapsNamed(kernel_.id);
    if (caps == nullptr || caps->workspace_bytes == nullptr) return;
    constexpr uint8_t kNoNumber = 0xFF;
    workspace_.assign(caps->workspace_bytes(Call(&attributes, false), threads), kNoNumber);
  }
#endif

  /// CheckOpCall and the kernel's own check.
  template <typename Attributes>
  Status Check(const Attributes& attributes, int threads = 1) {
    const KernelSetup setup = Setup(&attributes, threads);
    TENON_RETURN_IF_ERROR(CheckOpCall(*kernel_.row, setup.op));
    return kernel_.check(setup);
  }

  /// Check, load, open, run `times` times, close, unload.
  template <typename Attributes>
  Status Run(const Attributes& attributes, int threads = 1, int times = 1) {
    TENON_RETURN_IF_ERROR(Check(attributes, threads));
    const KernelSetup setup = Setup(&attributes, threads);
    void* shared = nullptr;
    if (kernel_.load != nullptr) TENON_RETURN_IF_ERROR(kernel_.load(setup, &shared));
    void* state = nullptr;
    Status status;
    if (kernel_.open != nullptr) status = kernel_.open(setup, shared, &state);
    if (status.ok()) status = CheckHeld(setup, shared, state);
    for (int i = 0; i < times && status.ok(); ++i) status = RunOnce(&attributes, threads, state);
    if (kernel_.close != nullptr && state != nullptr) kernel_.close(state);
    if (kernel_.unload != nullptr && shared != nullptr) kernel_.unload(shared);
    return status;
  }

 private:
  /// The kernel holds no more than its row of the capability table says. (Where the converter lays
  /// weights out for the kernel, that counts on it, and these tests do not.)
  [[nodiscard]] Status CheckHeld(const KernelSetup& setup, const void* shared,
                                 const void* state) const {
    if (kernel_.held_bytes == nullptr) return OkStatus();
#ifndef TENON_FIRMWARE  // the tables are the converter's
    // oneDNN's products with a transposed or batched factor can want more scratch than their row
    // states, which they then bring themselves.
    const bool is_gemm = std::strstr(kernel_.id, "matmul") != nullptr;
    const size_t held = kernel_.held_bytes(shared, nullptr) +
                        (state == shared || is_gemm ? 0 : kernel_.held_bytes(nullptr, state));
    const KernelCaps* caps = CapsNamed(kernel_.id);
    if (caps == nullptr || caps->weights != WeightsOrder::kRowMajor) return OkStatus();
    const size_t most = caps->packed_bytes != nullptr ? caps->packed_bytes(setup.op) : 0;
    const size_t workspace =
        caps->workspace_bytes != nullptr ? caps->workspace_bytes(setup.op, setup.threads) : 0;
    if (setup.workspace_bytes < workspace) return OkStatus();  // then it brings its own
    TENON_ENSURE(held <= most, kBackendFailure, "a kernel holds {0} bytes, {1} at most are stated",
                 static_cast<int64_t>(held), static_cast<int64_t>(most));
#else
    (void)setup, (void)shared, (void)state;
#endif
    return OkStatus();
  }

  struct Operand {
    Tensor tensor;
    bool constant;
  };

  OpCall Call(const void* attributes, bool with_data) {
    views_.clear();
    for (const Operand& operand : operands_) {
      views_.push_back(operand.tensor.View(with_data || operand.constant));
    }
    OpCall call;
    call.tensors = views_.data();
    call.input_ids = {input_ids_.data(), input_ids_.size()};
    call.output_ids = {output_ids_.data(), output_ids_.size()};
    call.attributes = attributes;
    return call;
  }

  KernelSetup Setup(const void* attributes, int threads) {
    return {Call(attributes, false), workspace_.size(), threads};
  }

  Status RunOnce(const void* attributes, int threads, void* state) {
    const ParallelRunner runner = runner_ != nullptr ? *runner_ : ThreadRunner(threads);
    KernelCall call;
    call.op = Call(attributes, true);
    call.workspace = workspace_.data();
    call.workspace_bytes = workspace_.size();
    call.state = state;
    call.parallel = threads > 1 || runner_ != nullptr ? &runner : nullptr;
    return kernel_.run(call);
  }

  KernelEntry kernel_;
  std::vector<Operand> operands_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
  std::vector<TensorView> views_;
  std::vector<uint8_t> workspace_;
  const ParallelRunner* runner_ = nullptr;
};

}  // namespace tenon::cpu::testing
