// One op on equal operands with an OpenCL kernel and with the portable CPU kernel that it must
// agree with. The OpenCL side goes through the backend's own device interface, as the engine does.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "backends/opencl/caps/opencl_caps.hpp"
#include "backends/opencl/kernels/kernel_support.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_name.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::opencl::testing {

using cpu::testing::Generator;
using cpu::testing::kAllLayouts;
using cpu::testing::kConstant;
using cpu::testing::Layout;
using cpu::testing::Pick;
using cpu::testing::Random;
using cpu::testing::RandomValues;
using cpu::testing::StridesFor;
using cpu::testing::Tensor;

inline std::string Text(const Status& status) {
  char text[512];
  status.Format(text);
  return text;
}

inline const KernelEntry& FindKernel(const std::string& id) {
  for (const KernelEntry& kernel : OpenclBackend().kernels) {
    if (NamesKernel(id.c_str(), kernel.id)) return kernel;
  }
  FAIL("no OpenCL kernel " << id);
  return OpenclBackend().kernels[0];
}

inline const KernelCaps& FindCaps(const std::string& id) {
  for (const KernelCaps& caps : Kernels()) {
    if (NamesKernel(id.c_str(), caps.id)) return caps;
  }
  FAIL("no OpenCL capabilities " << id);
  return Kernels()[0];
}

/// That the kernel lists for an op of its kind, whatever the op.
inline std::vector<std::string> VariantsOf(const std::string& id) {
  const KernelCaps& caps = FindCaps(id);
  REQUIRE((caps.variants != nullptr));
  const char* names[32];
  const int count = caps.variants(OpCall{}, names, 32);
  REQUIRE(count > 1);
  return {names, names + count};
}

inline const KernelEntry& FindPortable(OpKind kind) {
  for (const KernelEntry& kernel : cpu::PortableKernels()) {
    if (kernel.row->kind == kind) return kernel;
  }
  FAIL("no portable kernel");
  return cpu::PortableKernels()[0];
}

/// The device that all tests of a program use. Never closed: when a program ends, drivers may be
/// gone before its own objects.
inline void* TheDevice() {
  static void* const device = [] {
    void* opened = nullptr;
    const Status status = OpenclBackend().device->open(2, &opened);
    INFO(Text(status));
    REQUIRE(status.ok());
    return opened;
  }();
  return device;
}

/// Oclgrind takes a hundred times as long, and looks at each access instead of at results.
inline bool IsUnderOclgrind() { return std::getenv("OCLGRIND_UNINITIALIZED") != nullptr; }

/// Every layout; under oclgrind one where vectors can be used and one where they cannot.
inline std::vector<Layout> TestedLayouts() {
  if (IsUnderOclgrind()) return {Layout::kChannelsLast, Layout::kChannelsLastSpaced};
  return {kAllLayouts, kAllLayouts + sizeof(kAllLayouts) / sizeof(kAllLayouts[0])};
}

/// Largest |actual - expected| beyond 1e-5 + 1e-4 * |expected| of any element, in parts of that
/// allowance: above 1 is wrong. NaN and infinities must agree.
inline double LargestExcess(const std::vector<float>& actual, const std::vector<float>& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.size() != expected.size()) return kInfinity;
  double scale = 0.0;
  for (const float value : expected) {
    if (std::isfinite(value)) scale = std::max(scale, std::abs(static_cast<double>(value)));
  }
  const double allowance = 1e-5 + 1e-4 * scale;
  double excess = 0.0;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) != std::isnan(expected[i])) return kInfinity;
    if (std::isnan(actual[i])) continue;
    if (std::isinf(actual[i]) || std::isinf(expected[i])) {
      if (actual[i] != expected[i]) return kInfinity;
      continue;
    }
    const double error =
        std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    excess = std::max(excess, error / allowance);
  }
  return excess;
}

/// One op on the device: its operands lie in an arena, one after the other.
class DeviceOp {
 public:
  /// `name`: as a plan says it, perhaps with a variant.
  explicit DeviceOp(const std::string& name)
      : name_(name), kernel_(FindKernel(name)), caps_(FindCaps(name)) {}

  void AddInput(const Tensor& tensor, bool constant = false) {
    input_ids_.push_back(static_cast<int32_t>(operands_.size()));
    operands_.push_back({tensor, constant, -1});
  }
  void AddAbsentInput() { input_ids_.push_back(-1); }
  /// `taken_over`: the input whose memory the output takes over, or -1.
  void AddOutput(const Tensor& tensor, int taken_over = -1) {
    output_ids_.push_back(static_cast<int32_t>(operands_.size()));
    operands_.push_back({tensor, false, taken_over});
  }
  [[nodiscard]] Tensor output() const {
    return operands_[static_cast<size_t>(output_ids_[0])].tensor;
  }

  template <typename Attributes>
  Status Check(const Attributes& attributes) {
    const KernelSetup setup = Setup(&attributes);
    TENON_RETURN_IF_ERROR(CheckOpCall(*kernel_.row, setup.op));
    return kernel_.check(setup);
  }

  /// Bytes that the kernel says it holds for the op, at most.
  template <typename Attributes>
  size_t StatedBytes(const Attributes& attributes) {
    return caps_.packed_bytes(Setup(&attributes).op);
  }

  /// Check, load, open, run `times` times, close, unload. The output's tensor then has the result,
  /// and in its gaps what the device left there.
  template <typename Attributes>
  Status Run(const Attributes& attributes, int times = 1, void* device = TheDevice()) {
    TENON_RETURN_IF_ERROR(Check(attributes));
    Place();
    KernelSetup setup = Setup(&attributes);
    setup.device = device;
    const DeviceApi& api = *OpenclBackend().device;
    void* queue = nullptr;
    const ArenaMemory arena = {arena_.data(), arena_.size()};
    TENON_RETURN_IF_ERROR(api.open_queue(device, {&arena, 1}, &queue));
    setup.queue = queue;
    void* shared = nullptr;
    void* state = nullptr;
    Status status = kernel_.load != nullptr ? kernel_.load(setup, &shared) : OkStatus();
    if (status.ok() && kernel_.open != nullptr) status = kernel_.open(setup, shared, &state);
    if (status.ok()) status = CheckHeld(setup, shared, state);
    for (int i = 0; i < times && status.ok(); ++i) status = RunOnce(api, queue, state, &attributes);
    if (kernel_.close != nullptr && state != nullptr) kernel_.close(state);
    if (kernel_.unload != nullptr && shared != nullptr) kernel_.unload(shared);
    api.close_queue(queue);
    return status;
  }

 private:
  struct Operand {
    Tensor tensor;
    bool constant;
    int taken_over;
  };

  /// Room for all operands; filled with a pattern, so that what lies between them shows too.
  void Place() {
    constexpr size_t kGap = 64;
    offsets_.assign(operands_.size(), 0);
    size_t bytes = kGap;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (operands_[i].taken_over >= 0) {
        offsets_[i] =
            offsets_[static_cast<size_t>(input_ids_[static_cast<size_t>(operands_[i].taken_over)])];
        continue;
      }
      offsets_[i] = bytes;
      bytes += (SpanBytes(operands_[i].tensor.View()) + kGap + 15) / 16 * 16;
    }
    const int threads = 2;
    workspace_ = 0;
    workspace_bytes_ = 0;
    if (caps_.workspace_bytes != nullptr) {
      workspace_bytes_ = caps_.workspace_bytes(Call(nullptr, false), threads);
      workspace_ = (bytes + 63) / 64 * 64;
      bytes = workspace_ + workspace_bytes_ + kGap;
    }
    arena_.assign(bytes, 0xFF);
  }

  OpCall Call(const void* attributes, bool with_data) {
    if (attributes == nullptr) attributes = attributes_;
    attributes_ = attributes;
    views_.clear();
    for (size_t i = 0; i < operands_.size(); ++i) {
      TensorView view = operands_[i].tensor.View(operands_[i].constant);
      if (with_data && !operands_[i].constant) view.data = arena_.data() + offsets_[i];
      views_.push_back(view);
    }
    OpCall call;
    call.tensors = views_.data();
    call.input_ids = {input_ids_.data(), input_ids_.size()};
    call.output_ids = {output_ids_.data(), output_ids_.size()};
    call.attributes = attributes;
    return call;
  }

  KernelSetup Setup(const void* attributes) {
    KernelSetup setup;
    setup.op = Call(attributes, false);
    setup.threads = 2;
    setup.variant = VariantIn(name_.c_str());
    if (caps_.workspace_bytes != nullptr) {
      setup.workspace_bytes = caps_.workspace_bytes(setup.op, setup.threads);
    }
    return setup;
  }

  Status CheckHeld(const KernelSetup& setup, const void* shared, const void* state) const {
    if (kernel_.held_bytes == nullptr) return OkStatus();
    const size_t held = kernel_.held_bytes(shared, nullptr) + kernel_.held_bytes(nullptr, state);
    const size_t most = caps_.packed_bytes != nullptr ? caps_.packed_bytes(setup.op) : 0;
    TENON_ENSURE(held <= most, kBackendFailure, "a kernel holds {0} bytes, {1} at most are stated",
                 static_cast<int64_t>(held), static_cast<int64_t>(most));
    return OkStatus();
  }

  Status RunOnce(const DeviceApi& api, void* queue, void* state, const void* attributes) {
    KernelCall call;
    call.op = Call(attributes, true);
    call.workspace = workspace_bytes_ != 0 ? arena_.data() + workspace_ : nullptr;
    call.workspace_bytes = workspace_bytes_;
    call.state = state;
    call.queue = queue;
    for (const int32_t id : input_ids_) {
      if (id < 0 || operands_[static_cast<size_t>(id)].constant) continue;
      const TensorView own = operands_[static_cast<size_t>(id)].tensor.View();
      // An empty operand has no bytes of its own.
      if (SpanBytes(own) > 0) {
        std::memcpy(views_[static_cast<size_t>(id)].data, own.data, SpanBytes(own));
      }
      const TensorView& view = views_[static_cast<size_t>(id)];
      if (!UploadsWhole()) TENON_RETURN_IF_ERROR(api.upload(queue, {&view, view.data}));
    }
    if (UploadsWhole()) TENON_RETURN_IF_ERROR(UploadArena(api, queue));
    TENON_RETURN_IF_ERROR(kernel_.run(call));
    const auto out = static_cast<size_t>(output_ids_[0]);
    void* event = nullptr;
    TENON_RETURN_IF_ERROR(api.signal(queue, {&views_[out], views_[out].data}, &event));
    TENON_RETURN_IF_ERROR(api.submit(queue));
    TENON_RETURN_IF_ERROR(api.wait(queue, event, kNoDeadline));
    const TensorView own = operands_[out].tensor.View();
    if (SpanBytes(own) > 0) std::memcpy(own.data, views_[out].data, SpanBytes(own));
    return OkStatus();
  }

  /// Oclgrind (21.10) forgets what is initialised where a write does not begin with its buffer, so
  /// that all of an arena must be written at once. Its gaps hold NaN, which then shows in results.
  static bool UploadsWhole() { return IsUnderOclgrind(); }

  Status UploadArena(const DeviceApi& api, void* queue) {
    const auto bytes = static_cast<int32_t>(arena_.size());
    const int32_t stride = 1;
    TensorView view;
    view.data = arena_.data();
    view.dims = &bytes;
    view.strides = &stride;
    view.dtype = DType::kU8;
    view.rank = 1;
    return api.upload(queue, {&view, arena_.data()});
  }

  std::string name_;
  const KernelEntry& kernel_;
  const KernelCaps& caps_;
  const void* attributes_ = nullptr;
  std::vector<Operand> operands_;
  std::vector<int32_t> input_ids_;
  std::vector<int32_t> output_ids_;
  std::vector<size_t> offsets_;
  size_t workspace_ = 0;
  size_t workspace_bytes_ = 0;
  std::vector<uint8_t> arena_;
  std::vector<TensorView> views_;
};

/// The same operands for a kernel of each backend, with an output each.
class PairedOp {
 public:
  explicit PairedOp(const std::string& id)
      : device_(id), portable_(FindPortable(FindKernel(id).row->kind)) {}

  void AddInput(const Tensor& tensor, bool constant = false) {
    device_.AddInput(tensor, constant);
    portable_.AddInput(tensor, constant);
  }
  void AddAbsentInput() {
    device_.AddAbsentInput();
    portable_.AddAbsentInput();
  }
  void AddOutput(const std::vector<int32_t>& dims, Layout layout, DType dtype = DType::kF32) {
    AddOutput(dims, StridesFor(dims, layout), dtype);
  }
  void AddOutput(const std::vector<int32_t>& dims, const std::vector<int32_t>& strides,
                 DType dtype = DType::kF32) {
    device_.AddOutput(Tensor(dtype, dims, strides));
    expected_.push_back(portable_.AddOutput(Tensor(dtype, dims, strides)));
  }
  /// The output in the memory of input `index`, which is f32.
  void AddOutputInPlace(int index, const Tensor& input) {
    device_.AddOutput(Tensor(DType::kF32, input.dims(), input.strides()), index);
    expected_.push_back(portable_.AddOutput(Tensor(DType::kF32, input.dims(), input.strides())));
  }

  template <typename Attributes>
  Status Check(const Attributes& attributes) {
    return device_.Check(attributes);
  }

  /// Runs both. Above 1: they differ by more than the tolerance (see LargestExcess).
  template <typename Attributes>
  double Excess(const Attributes& attributes, int times = 1, void* device = TheDevice()) {
    RunBoth(attributes, times, device);
    return LargestExcess(device_.output().Values<float>(), expected_[0].Values<float>());
  }
  /// Runs both; true if every element has the same bits. For what only moves data.
  template <typename Element, typename Attributes>
  bool Equal(const Attributes& attributes, void* device = TheDevice()) {
    RunBoth(attributes, 1, device);
    return device_.output().Values<Element>() == expected_[0].Values<Element>();
  }
  [[nodiscard]] DeviceOp& device() { return device_; }

 private:
  template <typename Attributes>
  void RunBoth(const Attributes& attributes, int times, void* device) {
    const Status status = device_.Run(attributes, times, device);
    INFO(Text(status));
    REQUIRE(status.ok());
    const Status expected = portable_.Run(attributes);
    INFO(Text(expected));
    REQUIRE(expected.ok());
    CHECK(device_.output().GapsIntact());
  }

  DeviceOp device_;
  cpu::testing::OpFixture portable_;
  std::vector<Tensor> expected_;
};

}  // namespace tenon::opencl::testing
