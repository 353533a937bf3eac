// Speed of the kernels on i8 and u8 other than dense products: byte_kernels_bench [FILTER]
//
// Each line: the op and its shape, the kernel that the CPU's table gives it, nanoseconds of the
// fastest of many runs on one thread, and bytes read and written a nanosecond.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/op_fixture.hpp"

namespace tenon::cpu {
namespace {

using testing::Generator;
using testing::Layout;
using testing::Tensor;
using Dims = std::vector<int32_t>;

struct Subject {
  std::string name;
  OpKind kind;
  std::vector<Tensor> inputs;
  std::vector<bool> present;  ///< of the inputs
  size_t constants_from = 1;
  std::vector<Tensor> outputs;
  std::vector<int32_t> attributes;  // words
};

template <typename Attributes>
std::vector<int32_t> Words(const Attributes& attributes) {
  std::vector<int32_t> words(sizeof attributes / sizeof(int32_t));
  std::memcpy(words.data(), &attributes, sizeof attributes);
  return words;
}

Tensor Bytes(DType dtype, const Dims& dims, Layout layout) {
  static Generator random(1);
  Tensor tensor(dtype, dims, layout);
  std::vector<uint8_t> values(tensor.count());
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  tensor.Set(values);
  return tensor;
}

/// Views of the operands, and the call that refers to them.
class Call {
 public:
  Call(const Subject& subject, bool with_data) {
    for (size_t i = 0; i < subject.inputs.size(); ++i) {
      inputs_.push_back(subject.present[i] ? static_cast<int32_t>(views_.size()) : -1);
      views_.push_back(subject.inputs[i].View(with_data || i >= subject.constants_from));
    }
    for (const Tensor& output : subject.outputs) {
      outputs_.push_back(static_cast<int32_t>(views_.size()));
      views_.push_back(output.View(with_data));
    }
    op.tensors = views_.data();
    op.input_ids = {inputs_.data(), inputs_.size()};
    op.output_ids = {outputs_.data(), outputs_.size()};
    op.attributes = subject.attributes.data();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  OpCall op;

 private:
  std::vector<TensorView> views_;
  std::vector<int32_t> inputs_;
  std::vector<int32_t> outputs_;
};

double FastestNanoseconds(const KernelEntry& kernel, const KernelCall& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  const auto until = Clock::now() + std::chrono::milliseconds(200);
  for (int i = 0; i < 10 || Clock::now() < until; ++i) {
    const auto start = Clock::now();
    constexpr int kRuns = 5;
    for (int run = 0; run < kRuns; ++run) {
      if (!kernel.run(call).ok()) return -1.0;
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    best = std::min(best, took.count() / kRuns);
  }
  return best;
}

/// With the first kernel of the table that takes it.
void Measure(const Subject& subject) {
  const Call described(subject, false);
  const Call whole(subject, true);
  size_t bytes =
      subject.outputs[0].count() * static_cast<size_t>(DTypeBytes(subject.outputs[0].dtype()));
  for (size_t i = 0; i < subject.constants_from; ++i) {
    bytes += subject.inputs[i].count() * static_cast<size_t>(DTypeBytes(subject.inputs[i].dtype()));
  }
  for (const KernelEntry& kernel : CpuBackend().kernels) {
    KernelSetup setup = {described.op, 0, 1};
    if (kernel.row->kind != subject.kind || !kernel.check(setup).ok()) continue;
    void* shared = nullptr;
    void* state = nullptr;
    if (kernel.load != nullptr && !kernel.load(setup, &shared).ok()) return;
    if (kernel.open != nullptr && !kernel.open(setup, shared, &state).ok()) return;
    KernelCall call;
    call.op = whole.op;
    call.state = state;
    const double ns = FastestNanoseconds(kernel, call);
    std::printf("%-44s %-36s %10.0f ns %8.2f B/ns\n", subject.name.c_str(), kernel.id, ns,
                static_cast<double>(bytes) / ns);
    if (kernel.close != nullptr && state != nullptr) kernel.close(state);
    if (kernel.unload != nullptr && shared != nullptr) kernel.unload(shared);
    return;
  }
}

Subject Depthwise(int32_t channels, int32_t height, int32_t width, int32_t kernel, int32_t stride,
                  Rounding rounding) {
  const int32_t pad = kernel / 2;
  const int32_t out_height = (height + 2 * pad - kernel) / stride + 1;
  const int32_t out_width = (width + 2 * pad - kernel) / stride + 1;
  const auto count = static_cast<size_t>(channels);
  Subject subject;
  const bool even = rounding == Rounding::kHalfEven;
  subject.name = "depthwise " + std::to_string(kernel) + "x" + std::to_string(kernel) + "/" +
                 std::to_string(stride) + " " + std::to_string(channels) + "x" +
                 std::to_string(height) + "x" + std::to_string(width) +
                 (even ? " half_even" : " fixed_point");
  subject.kind = OpKind::kQuantizedConv;
  subject.inputs = {
      Bytes(DType::kI8, {1, channels, height, width}, Layout::kChannelsLast),
      Bytes(DType::kI8, {channels, 1, kernel, kernel}, Layout::kRowMajor),
      Tensor::From(DType::kI32, {channels}, std::vector<int32_t>(count, 100)),
      even ? Tensor::From(DType::kF32, {channels}, std::vector<float>(count, 0.002F))
           : Tensor::From(DType::kI32, {channels}, std::vector<int32_t>(count, 1 << 30)),
      Tensor::From(DType::kI8, {channels}, std::vector<int8_t>(count, -8)),
      Tensor::From(DType::kI8, {1}, std::vector<int8_t>(1, 3))};
  subject.present = {true, true, true, true, !even, true};
  subject.outputs = {
      Tensor(DType::kI8, {1, channels, out_height, out_width}, Layout::kChannelsLast)};
  QuantizedConvAttributes attributes;
  attributes.conv.group = channels;
  for (int32_t& value : attributes.conv.strides) value = stride;
  for (int32_t& value : attributes.conv.pads) value = pad;
  attributes.output.rounding = rounding;
  subject.attributes = Words(attributes);
  return subject;
}

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
    const struct {
      int32_t channels, height, width, kernel, stride;
    } kShapes[] = {{32, 112, 112, 3, 1}, {96, 112, 112, 3, 2}, {144, 56, 56, 3, 1},
                   {144, 56, 56, 3, 2},  {192, 28, 28, 3, 1},  {192, 28, 28, 3, 2},
                   {384, 14, 14, 3, 1},  {576, 14, 14, 3, 1},  {576, 14, 14, 3, 2},
                   {960, 7, 7, 3, 1},    {64, 25, 5, 3, 1},    {58, 28, 28, 3, 1},
                   {72, 28, 28, 5, 2},   {240, 14, 14, 5, 1}};
    for (const auto& shape : kShapes) {
      subjects.push_back(Depthwise(shape.channels, shape.height, shape.width, shape.kernel,
                                   shape.stride, rounding));
    }
  }
  return subjects;
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  for (const tenon::cpu::Subject& subject : tenon::cpu::Subjects()) {
    if (argc > 1 && subject.name.find(argv[1]) == std::string::npos) continue;
    tenon::cpu::Measure(subject);
  }
  return 0;
}
