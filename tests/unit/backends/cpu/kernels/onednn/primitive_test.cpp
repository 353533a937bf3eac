#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

/// A convolution with constant weights, its operands by index: x, w, y.
struct ConvOperands {
  explicit ConvOperands(uint32_t seed) {
    Generator random(seed);
    tensors.push_back(Random({1, 32, 12, 12}, Layout::kChannelsLast, random));
    Generator same_weights(99);
    tensors.push_back(Random({48, 32, 3, 3}, Layout::kRowMajor, same_weights));
    tensors.emplace_back(DType::kF32, std::vector<int32_t>{1, 48, 12, 12}, Layout::kChannelsLast);
    for (int32_t& pad : attributes.pads) pad = 1;
    for (const Tensor& tensor : tensors) views.push_back(tensor.View());
    described = views;
    described[0].data = described[2].data = nullptr;
  }
  ConvOperands(const ConvOperands&) = delete;
  ConvOperands& operator=(const ConvOperands&) = delete;

  OpCall Call(const std::vector<TensorView>& operands) const {
    OpCall call;
    call.tensors = operands.data();
    call.input_ids = inputs;
    call.output_ids = outputs;
    call.attributes = &attributes;
    return call;
  }
  KernelSetup Setup(size_t workspace_bytes) const { return {Call(described), workspace_bytes, 1}; }

  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  std::vector<TensorView> described;  ///< constants have data, others none
  ConvAttributes attributes;
  int32_t inputs[2] = {0, 1};
  int32_t outputs[1] = {2};
};

const KernelEntry& ConvKernel() { return FindKernel("cpu.conv.onednn"); }

struct Loaded {
  explicit Loaded(const KernelSetup& setup) { REQUIRE(ConvKernel().load(setup, &shared).ok()); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { ConvKernel().unload(shared); }
  void* shared = nullptr;
};

struct Opened {
  Opened(const KernelSetup& setup, const Loaded& loaded) {
    REQUIRE(ConvKernel().open(setup, loaded.shared, &state).ok());
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { ConvKernel().close(state); }
  void* state = nullptr;
};

Status RunTimes(const ConvOperands& operands, const Opened& session, int times) {
  KernelCall call;
  call.op = operands.Call(operands.views);
  call.state = session.state;
  for (int i = 0; i < times; ++i) {
    TENON_RETURN_IF_ERROR(ConvKernel().run(call));
  }
  return OkStatus();
}

}  // namespace

TEST_CASE("oneDNN kernels: sessions of one loaded plan run at the same time") {
  const ConvOperands first(1);
  const ConvOperands second(2);
  const KernelSetup setup = first.Setup(0);
  const Loaded loaded(setup);
  const Opened alone_session(setup, loaded);
  REQUIRE(RunTimes(first, alone_session, 1).ok());
  REQUIRE(RunTimes(second, alone_session, 1).ok());
  const std::vector<float> first_alone = first.tensors[2].Values<float>();
  const std::vector<float> second_alone = second.tensors[2].Values<float>();

  const Opened first_session(setup, loaded);
  const Opened second_session(setup, loaded);
  Status statuses[2];
  std::thread thread([&] { statuses[0] = RunTimes(first, first_session, 50); });
  statuses[1] = RunTimes(second, second_session, 50);
  thread.join();

  CHECK(statuses[0].ok());
  CHECK(statuses[1].ok());
  CHECK(first.tensors[2].Values<float>() == first_alone);
  CHECK(second.tensors[2].Values<float>() == second_alone);
}

TEST_CASE("oneDNN kernels: held bytes count packed weights and scratch of their own") {
  const ConvOperands operands(3);
  const Loaded loaded(operands.Setup(0));
  constexpr size_t kWeightBytes = 48 * 32 * 3 * 3 * sizeof(float);
  CHECK(ConvKernel().held_bytes(loaded.shared, nullptr) >= kWeightBytes);

  constexpr size_t kAmple = 1 << 20;
  const Opened without_workspace(operands.Setup(0), loaded);
  const Opened with_workspace(operands.Setup(kAmple), loaded);
  const size_t own = ConvKernel().held_bytes(nullptr, without_workspace.state);
  const size_t planned = ConvKernel().held_bytes(nullptr, with_workspace.state);
  CHECK(own >= planned);
  CHECK(planned < size_t{4096});
}

TEST_CASE("oneDNN kernels: the capabilities' workspace suffices on AVX-512") {
  // Where the estimate is too small a session allocates, which is what this would show.
  const ConvOperands operands(4);
  const KernelSetup setup = operands.Setup(0);
  const size_t bytes = FindCaps("cpu.conv.onednn").workspace_bytes(setup.op, setup.threads);
  const Loaded loaded(setup);
  const Opened session(operands.Setup(bytes), loaded);
  CHECK(ConvKernel().held_bytes(nullptr, session.state) < size_t{4096});
}

}  // namespace tenon::cpu::testing
