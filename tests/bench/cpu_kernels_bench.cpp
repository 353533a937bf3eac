// Speed of the CPU's kernels by shape class: cpu_kernels_bench --benchmark_filter=conv
//
// Names read kernel/shape/threads, and "/cold" where the weights are others in each run, in
// rotation over three times the second-level cache, as in a network; the counter is 10^9
// floating-point operations a second (a multiply-accumulate is two) or, where there is no
// arithmetic to speak of, 10^9 elements.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/bench/opened_kernel.hpp"

namespace tenon::cpu {
namespace {

using testing::Layout;
using testing::Random;

ParallelRunner RunnerOf(int threads) {
  const Backend& backend = CpuBackend();
  return backend.make_runner != nullptr ? backend.make_runner(threads) : ParallelRunner{};
}

void Report(benchmark::State& state, const Status& status, double work) {
  if (!status.ok()) state.SkipWithError(status.message());
  state.counters["G/s"] =
      benchmark::Counter(work * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void RunKernel(benchmark::State& state, const KernelEntry& kernel, const Subject& subject,
               int threads) {
  const ParallelRunner runner = RunnerOf(threads);
  OpenedKernel opened(kernel, subject, threads);
  Status status = opened.status();
  if (status.ok()) status = opened.Run(runner);
  while (status.ok() && state.KeepRunning()) status = opened.Run(runner);
  Report(state, status, subject.work);
}

/// Is how many bytes of constants a cold benchmark goes through before it meets the same again:
/// more than twice the second-level cache.
size_t ColdBytes() {
  constexpr size_t kLeast = size_t{4} << 20;
  const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return std::max(kLeast, cache > 0 ? 3 * static_cast<size_t>(cache) : 0);
}

/// As in a network, whose other ops push an op's weights out of the caches between two runs.
void RunColdKernel(benchmark::State& state, const KernelEntry& kernel, const Subject& subject) {
  const ParallelRunner runner = RunnerOf(1);
  const size_t copies = ColdBytes() / subject.ConstantBytes() + 1;
  std::vector<Subject> subjects;
  for (size_t i = 0; i < copies; ++i) subjects.push_back(subject.WithOwnConstants());
  std::vector<std::unique_ptr<OpenedKernel>> opened;
  Status status;
  for (size_t i = 0; i < copies && status.ok(); ++i) {
    opened.push_back(std::make_unique<OpenedKernel>(kernel, subjects[i], 1));
    status = opened.back()->status();
    if (status.ok()) status = opened.back()->Run(runner);
  }
  size_t next = 0;
  while (status.ok() && state.KeepRunning()) {
    status = opened[next]->Run(runner);
    next = next + 1 < copies ? next + 1 : 0;
  }
  Report(state, status, subject.work);
}

void Register(const std::string& kernel_id, const Subject& subject, int threads) {
  const KernelEntry* kernel = KernelNamed(kernel_id);
  if (kernel == nullptr) return;  // not in this build
  const std::string name = kernel_id + "/" + subject.name + "/" + std::to_string(threads);
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    RunKernel(state, *kernel, subject, threads);
  })->UseRealTime();
  constexpr size_t kLeastColdBytes = 16 << 10;  // smaller weights are a small part of the time
  if (threads != 1 || subject.ConstantBytes() < kLeastColdBytes) return;
  benchmark::RegisterBenchmark((name + "/cold").c_str(), [=](benchmark::State& state) {
    RunColdKernel(state, *kernel, subject);
  })->UseRealTime();
}

void RegisterAll(const std::vector<std::string>& kernels, const Subject& subject) {
  for (const std::string& kernel : kernels) {
    for (const int threads : {1, 2}) Register(kernel, subject, threads);
  }
}

struct ConvShape {
  const char* name;
  int32_t inputs, outputs, size, kernel, stride, group;
};

Subject ConvSubject(const ConvShape& shape, Layout layout, bool residual) {
  testing::Generator random(1);
  const int32_t pad = shape.kernel / 2;
  const int32_t out = (shape.size + 2 * pad - shape.kernel) / shape.stride + 1;
  ConvAttributes attributes;
  attributes.group = shape.group;
  for (int32_t& stride : attributes.strides) stride = shape.stride;
  for (int32_t& value : attributes.pads) value = pad;
  attributes.activation.function = UnaryFunction::kRelu;
  Subject subject;
  subject.name = shape.name;
  const int32_t per_group = shape.inputs / shape.group;
  subject.inputs.push_back(Random({1, shape.inputs, shape.size, shape.size}, layout, random));
  subject.inputs.push_back(
      Random({shape.outputs, per_group, shape.kernel, shape.kernel}, Layout::kRowMajor, random));
  subject.inputs.push_back(Random({shape.outputs}, Layout::kRowMajor, random));
  const Tensor y(DType::kF32, {1, shape.outputs, out, out}, layout);
  if (residual) subject.inputs.push_back(y);
  subject.outputs.push_back(y);
  subject.attributes = Words(attributes);
  subject.work = 2.0 * out * out * shape.outputs * per_group * shape.kernel * shape.kernel;
  return subject;
}

/// The same where both images are the first half of the channels of larger ones.
Subject HalfOfParents(const ConvShape& shape) {
  Subject subject = ConvSubject(shape, Layout::kChannelsLast, false);
  subject.name += "_parts";
  for (Tensor* tensor : {&subject.inputs[0], &subject.outputs[0]}) {
    std::vector<int32_t> parent = tensor->dims();
    parent[1] *= 2;
    Tensor part(DType::kF32, tensor->dims(), testing::StridesFor(parent, Layout::kChannelsLast));
    part.Set(tensor->Values<float>());
    *tensor = part;
  }
  return subject;
}

void RegisterConvs() {
  // Those that refuse a shape say so.
  const std::vector<std::string> kernels = {
      "cpu.conv.vector_depthwise", "cpu.conv.vector_winograd", "cpu.conv.vector_narrow",
      "cpu.conv.vector_pixels",    "cpu.conv.vector_first",    "cpu.conv.vector",
      "cpu.conv.vector_panels",    "cpu.conv.onednn",          "cpu.conv.portable"};
  for (const ConvShape& shape : {
           ConvShape{"first_3x3s2_3-32@224", 3, 32, 224, 3, 2, 1},
           ConvShape{"first_7x7s2_3-64@224", 3, 64, 224, 7, 2, 1},
           ConvShape{"patches_16x16s16_3-192@224", 3, 192, 224, 16, 16, 1},
           ConvShape{"15x15_3-32@64", 3, 32, 64, 15, 1, 1},
           ConvShape{"13x13_64-64@32", 64, 64, 32, 13, 1, 1},
           ConvShape{"31x31_16-32@32", 16, 32, 32, 31, 1, 1},
           ConvShape{"3x3_64-64@56", 64, 64, 56, 3, 1, 1},
           ConvShape{"3x3_512-512@7", 512, 512, 7, 3, 1, 1},
           ConvShape{"3x3_64-64@224", 64, 64, 224, 3, 1, 1},
           ConvShape{"3x3_16-16@32", 16, 16, 32, 3, 1, 1},
           ConvShape{"3x3_64-64@8", 64, 64, 8, 3, 1, 1},
           ConvShape{"3x3_160-320@14", 160, 320, 14, 3, 1, 1},
           ConvShape{"3x3s2_64-128@56", 64, 128, 56, 3, 2, 1},
           ConvShape{"first_5x5_1-8@28", 1, 8, 28, 5, 1, 1},
           ConvShape{"last_3x3_64-1@112", 64, 1, 112, 3, 1, 1},
           ConvShape{"last_3x3_16-4@112", 16, 4, 112, 3, 1, 1},
           ConvShape{"3x3_8-8@112", 8, 8, 112, 3, 1, 1},
           ConvShape{"13x13_8-8@64", 8, 8, 64, 13, 1, 1},
           ConvShape{"5x5_8-8@56", 8, 8, 56, 5, 1, 1},
           ConvShape{"5x5_32-8@28", 32, 8, 28, 5, 1, 1},
           ConvShape{"7x7_3-8@112", 3, 8, 112, 7, 1, 1},
           ConvShape{"5x5_groups8_64-64@28", 64, 64, 28, 5, 1, 8},
           ConvShape{"depthwise_144@56", 144, 144, 56, 3, 1, 144},
           ConvShape{"depthwise_384@14", 384, 384, 14, 3, 1, 384},
           ConvShape{"groups32_128-128@28", 128, 128, 28, 3, 1, 32},
           ConvShape{"groups8_24-24@28", 24, 24, 28, 3, 1, 8},
       }) {
    RegisterAll(kernels, ConvSubject(shape, Layout::kChannelsLast, false));
  }
  for (const ConvShape& shape : {
           ConvShape{"computed_3x3_64-64@56", 64, 64, 56, 3, 1, 1},
           ConvShape{"computed_3x3_512-512@7", 512, 512, 7, 3, 1, 1},
           ConvShape{"computed_1x1_64-384@14", 64, 384, 14, 1, 1, 1},
           ConvShape{"computed_3x3_32-32@64", 32, 32, 64, 3, 1, 1},
       }) {
    Subject subject = ConvSubject(shape, Layout::kChannelsLast, false);
    subject.constants_from = subject.inputs.size();
    RegisterAll({"cpu.conv.vector_computed", "cpu.conv.onednn", "cpu.conv.portable"}, subject);
  }
  for (const ConvShape& shape : {
           ConvShape{"1x1_24-144@56", 24, 144, 56, 1, 1, 1},
           ConvShape{"1x1_144-24@56", 144, 24, 56, 1, 1, 1},
           ConvShape{"last_1x1_64-3@56", 64, 3, 56, 1, 1, 1},
           ConvShape{"1x1_64-384@14", 64, 384, 14, 1, 1, 1},
           ConvShape{"1x1_320-1280@7", 320, 1280, 7, 1, 1, 1},
       }) {
    RegisterAll({"cpu.conv.vector_narrow", "cpu.conv.vector", "cpu.conv.vector_panels",
                 "cpu.conv.onednn", "cpu.conv.onednn_matmul", "cpu.conv.portable"},
                ConvSubject(shape, Layout::kChannelsLast, false));
    RegisterAll({"cpu.conv.onednn_matmul"}, HalfOfParents(shape));
    Subject residual = ConvSubject(shape, Layout::kChannelsLast, true);
    residual.name += "_residual";
    RegisterAll({"cpu.conv.vector", "cpu.conv.onednn"}, residual);
  }
}

void RegisterMatMuls() {
  struct MatMulShape {
    const char* name;
    std::vector<int32_t> a, b, y;
    size_t constants_from;
    bool transposed = true;
  };
  constexpr size_t kComputed = 2;
  for (const MatMulShape& shape : {
           MatMulShape{"fully_connected_2048-1000", {1, 2048}, {1000, 2048}, {1, 1000}, 1},
           MatMulShape{"tokens128_768-3072", {128, 768}, {3072, 768}, {128, 3072}, 1},
           MatMulShape{
               "heads12_128x64x128", {12, 128, 64}, {12, 128, 64}, {12, 128, 128}, kComputed},
           MatMulShape{"heads12_128x128x64",
                       {12, 128, 128},
                       {12, 128, 64},
                       {12, 128, 64},
                       kComputed,
                       false},
           MatMulShape{
               "windows192_49x32x49", {192, 49, 32}, {192, 49, 32}, {192, 49, 49}, kComputed},
           MatMulShape{"windows192_49x49x32",
                       {192, 49, 49},
                       {192, 49, 32},
                       {192, 49, 32},
                       kComputed,
                       false},
           MatMulShape{"heads4_32x196x32", {4, 32, 196}, {4, 32, 196}, {4, 32, 32}, kComputed},
           MatMulShape{"query3_1x64x197", {3, 1, 64}, {3, 197, 64}, {3, 1, 197}, kComputed},
           MatMulShape{"query3_1x197x64", {3, 1, 197}, {3, 197, 64}, {3, 1, 64}, kComputed, false},
           MatMulShape{
               "rows12_12x197x64", {12, 12, 197}, {12, 197, 64}, {12, 12, 64}, kComputed, false},
           MatMulShape{
               "rows12_32x197x64", {12, 32, 197}, {12, 197, 64}, {12, 32, 64}, kComputed, false},
           MatMulShape{
               "rows12_64x197x64", {12, 64, 197}, {12, 197, 64}, {12, 64, 64}, kComputed, false},
           MatMulShape{"rows_32x512x512", {32, 512}, {512, 512}, {32, 512}, kComputed, false},
           MatMulShape{"rows_256x512x512", {256, 512}, {512, 512}, {256, 512}, kComputed},
       }) {
    testing::Generator random(1);
    MatMulAttributes attributes;
    attributes.transpose_b = shape.transposed ? 1 : 0;
    Subject subject;
    subject.name = shape.name;
    subject.inputs.push_back(Random(shape.a, Layout::kRowMajor, random));
    subject.inputs.push_back(Random(shape.b, Layout::kRowMajor, random));
    subject.outputs.emplace_back(DType::kF32, shape.y, Layout::kRowMajor);
    subject.attributes = Words(attributes);
    subject.constants_from = shape.constants_from;
    subject.work = 2.0 * static_cast<double>(subject.outputs[0].count()) * shape.a.back();
    RegisterAll({"cpu.matmul.vector", "cpu.matmul.vector_panels", "cpu.matmul.vector_computed",
                 "cpu.matmul.onednn", "cpu.matmul.portable"},
                subject);
  }
}

void RegisterPools() {
  for (const bool global : {false, true}) {
    testing::Generator random(1);
    PoolAttributes attributes;
    for (int i = 0; i < 2; ++i) {
      attributes.kernel[i] = global ? 7 : 3;
      attributes.strides[i] = global ? 1 : 2;
      if (!global) attributes.pads[i] = attributes.pads[2 + i] = 1;
    }
    const std::vector<int32_t> x =
        global ? std::vector<int32_t>{1, 1280, 7, 7} : std::vector<int32_t>{1, 64, 112, 112};
    const std::vector<int32_t> y =
        global ? std::vector<int32_t>{1, 1280, 1, 1} : std::vector<int32_t>{1, 64, 56, 56};
    Subject subject;
    subject.name = global ? "global_1280@7" : "3x3s2_64@112";
    subject.inputs.push_back(Random(x, Layout::kChannelsLast, random));
    subject.outputs.emplace_back(DType::kF32, y, Layout::kChannelsLast);
    subject.attributes = Words(attributes);
    subject.work = static_cast<double>(subject.outputs[0].count()) * attributes.kernel[0] *
                   attributes.kernel[1];
    RegisterAll({"cpu.max_pool.vector", "cpu.max_pool.onednn", "cpu.max_pool.portable",
                 "cpu.average_pool.vector", "cpu.average_pool.onednn", "cpu.average_pool.portable"},
                subject);
  }
}

void RegisterRowKernels() {
  testing::Generator random(1);
  const auto make = [&](const char* name, const std::vector<int32_t>& dims, Layout layout,
                        std::vector<int32_t> attributes) {
    Subject subject;
    subject.name = name;
    subject.inputs.push_back(Random(dims, layout, random));
    subject.outputs.emplace_back(DType::kF32, dims, layout);
    subject.attributes = std::move(attributes);
    subject.work = static_cast<double>(subject.outputs[0].count());
    return subject;
  };
  const std::vector<std::string> rows = {"cpu.softmax.vector", "cpu.softmax.onednn",
                                         "cpu.softmax.portable"};
  RegisterAll(rows, make("1x1000", {1, 1000}, Layout::kRowMajor, Words(SoftmaxAttributes{1, 0})));
  RegisterAll(rows,
              make("1536x128", {1536, 128}, Layout::kRowMajor, Words(SoftmaxAttributes{1, 0})));
  RegisterAll(rows, make("8732x2", {8732, 2}, Layout::kRowMajor, Words(SoftmaxAttributes{1, 0})));
  RegisterAll(
      {"cpu.softmax.vector_channels", "cpu.softmax.onednn_channels", "cpu.softmax.portable"},
      make("channels21@65", {1, 21, 65, 65}, Layout::kChannelsLast,
           Words(SoftmaxAttributes{1, 0})));
  LrnAttributes lrn;
  lrn.size = 5;
  RegisterAll({"cpu.lrn.vector", "cpu.lrn.onednn", "cpu.lrn.portable"},
              make("96@55", {1, 96, 55, 55}, Layout::kChannelsLast, Words(lrn)));
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  tenon::cpu::RegisterConvs();
  tenon::cpu::RegisterMatMuls();
  tenon::cpu::RegisterPools();
  tenon::cpu::RegisterRowKernels();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
