// Quantized convolutions and matrix products of known nets, layer by layer: time, 10^9
// multiply-accumulates a second, and percent of the processor's VNNI peak.
//
//   quantized_gemm_bench [--threads N] [--instructions NAME] [--fixed-point] [FILTER]
//
// Beside it, where oneDNN is there, its int8 convolution of the same shape, for one thread:
// OMP_NUM_THREADS=1 keeps it to that.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/bench/peak_vnni.hpp"
#include "tests/unit/backends/cpu/kernels/kernel_named.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"
#ifdef TENON_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>
#endif

namespace tenon::cpu {
namespace {

using testing::Layout;
using testing::Tensor;

/// A square convolution with padding as before; `kernel` 0: a matrix product of `size` rows.
struct Layer {
  const char* name;
  int32_t inputs, outputs, size, kernel, stride;
  int times;  ///< how often the net has it
};

constexpr Layer kMobileNetV2[] = {
    {"first 3x3s2 3-32@224", 3, 32, 224, 3, 2, 1},  {"1x1 32-16@112", 32, 16, 112, 1, 1, 1},
    {"1x1 16-96@112", 16, 96, 112, 1, 1, 1},        {"1x1 96-24@56", 96, 24, 56, 1, 1, 1},
    {"1x1 24-144@56", 24, 144, 56, 1, 1, 2},        {"1x1 144-24@56", 144, 24, 56, 1, 1, 1},
    {"1x1 144-32@28", 144, 32, 28, 1, 1, 1},        {"1x1 32-192@28", 32, 192, 28, 1, 1, 3},
    {"1x1 192-32@28", 192, 32, 28, 1, 1, 2},        {"1x1 192-64@14", 192, 64, 14, 1, 1, 1},
    {"1x1 64-384@14", 64, 384, 14, 1, 1, 4},        {"1x1 384-64@14", 384, 64, 14, 1, 1, 3},
    {"1x1 384-96@14", 384, 96, 14, 1, 1, 1},        {"1x1 96-576@14", 96, 576, 14, 1, 1, 3},
    {"1x1 576-96@14", 576, 96, 14, 1, 1, 2},        {"1x1 576-160@7", 576, 160, 7, 1, 1, 1},
    {"1x1 160-960@7", 160, 960, 7, 1, 1, 3},        {"1x1 960-160@7", 960, 160, 7, 1, 1, 2},
    {"1x1 960-320@7", 960, 320, 7, 1, 1, 1},        {"1x1 320-1280@7", 320, 1280, 7, 1, 1, 1},
    {"product 1x1280x1001", 1280, 1001, 1, 0, 1, 1}};

constexpr Layer kResNet8[] = {
    {"first 3x3 3-16@32", 3, 16, 32, 3, 1, 1}, {"3x3 16-16@32", 16, 16, 32, 3, 1, 2},
    {"3x3s2 16-32@32", 16, 32, 32, 3, 2, 1},   {"3x3 32-32@16", 32, 32, 16, 3, 1, 1},
    {"1x1s2 16-32@32", 16, 32, 32, 1, 2, 1},   {"3x3s2 32-64@16", 32, 64, 16, 3, 2, 1},
    {"3x3 64-64@8", 64, 64, 8, 3, 1, 1},       {"1x1s2 32-64@16", 32, 64, 16, 1, 2, 1}};

constexpr Layer kOthers[] = {{"ds-cnn 1x1 64-64@11", 64, 64, 11, 1, 1, 4},
                             {"shufflenet 1x1 58-58@28", 58, 58, 28, 1, 1, 8},
                             {"shufflenet 1x1 116-116@14", 116, 116, 14, 1, 1, 16},
                             {"shufflenet 1x1 232-232@7", 232, 232, 7, 1, 1, 8},
                             {"shufflenet 1x1 464-1024@7", 464, 1024, 7, 1, 1, 1},
                             {"autoencoder 1x640x128", 640, 128, 1, 0, 1, 1},
                             {"autoencoder 1x128x128", 128, 128, 1, 0, 1, 8},
                             {"autoencoder 1x128x640", 128, 640, 1, 0, 1, 1},
                             {"resnet-50 3x3 64-64@56", 64, 64, 56, 3, 1, 3},
                             {"resnet-50 3x3 128-128@28", 128, 128, 28, 3, 1, 3},
                             {"resnet-50 3x3 512-512@7", 512, 512, 7, 3, 1, 2},
                             {"resnet-50 7x7s2 3-64@224", 3, 64, 224, 7, 2, 1},
                             {"tokens 128x768x3072", 768, 3072, 128, 0, 1, 1}};

struct Options {
  int threads = 1;
  bool fixed_point = false;
  std::string filter;
};

int32_t OutputSize(const Layer& layer) {
  return layer.kernel == 0
             ? layer.size
             : (layer.size + 2 * (layer.kernel / 2) - layer.kernel) / layer.stride + 1;
}

double Work(const Layer& layer) {
  const double out = OutputSize(layer);
  const double taps = layer.kernel == 0 ? 1.0 : 1.0 * layer.kernel * layer.kernel;
  return (layer.kernel == 0 ? out : out * out) * layer.outputs * layer.inputs * taps;
}

/// Seconds of the fastest of many calls.
double Fastest(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  double spent = 0.0;
  for (int i = 0; i < 20 || (spent < 0.15 && i < 20000); ++i) {
    const auto begin = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

Tensor RandomBytes(const std::vector<int32_t>& dims, Layout layout, testing::Generator& random) {
  Tensor tensor(DType::kI8, dims, layout);
  std::vector<int8_t> values(tensor.count());
  for (int8_t& value : values) value = static_cast<int8_t>(testing::Pick(random, -127, 127));
  tensor.Set(values);
  return tensor;
}

/// Inputs 0 to 6 and the output of a layer.
std::vector<Tensor> Operands(const Layer& layer, const Options& options) {
  testing::Generator random(1);
  const bool product = layer.kernel == 0;
  const int32_t out = OutputSize(layer);
  using Dims = std::vector<int32_t>;
  const Dims x =
      product ? Dims{layer.size, layer.inputs} : Dims{1, layer.inputs, layer.size, layer.size};
  const Dims w = product ? Dims{layer.outputs, layer.inputs}
                         : Dims{layer.outputs, layer.inputs, layer.kernel, layer.kernel};
  const Dims y = product ? Dims{layer.size, layer.outputs} : Dims{1, layer.outputs, out, out};
  const double pixels = product ? 1.0 * out : 1.0 * out * out;
  const double terms = Work(layer) / pixels / layer.outputs;
  const float factor = 0.01F / static_cast<float>(std::sqrt(terms));
  int shift = 0;
  const double mantissa = std::frexp(static_cast<double>(factor), &shift);
  const auto channels = static_cast<size_t>(layer.outputs);
  std::vector<Tensor> operands;
  operands.push_back(RandomBytes(x, Layout::kChannelsLast, random));
  operands.push_back(RandomBytes(w, Layout::kRowMajor, random));
  operands.push_back(
      Tensor::From(DType::kI32, {layer.outputs}, std::vector<int32_t>(channels, 1000)));
  if (options.fixed_point) {
    const auto multiplier = static_cast<int32_t>(mantissa * 2147483648.0);
    operands.push_back(
        Tensor::From(DType::kI32, {layer.outputs}, std::vector<int32_t>(channels, multiplier)));
  } else {
    operands.push_back(
        Tensor::From(DType::kF32, {layer.outputs}, std::vector<float>(channels, factor)));
  }
  operands.push_back(Tensor::From(DType::kI8, {layer.outputs},
                                  std::vector<int8_t>(channels, static_cast<int8_t>(shift))));
  operands.push_back(Tensor::From(DType::kI8, {1}, std::vector<int8_t>{3}));
  operands.push_back(Tensor(DType::kI8, y, Layout::kChannelsLast));
  return operands;
}

/// Seconds of one run of a layer.
double Measure(const Layer& layer, const Options& options) {
  const std::vector<Tensor> operands = Operands(layer, options);
  const bool product = layer.kernel == 0;
  QuantizedConvAttributes conv;
  for (int32_t& stride : conv.conv.strides) stride = layer.stride;
  for (int32_t& pad : conv.conv.pads) pad = layer.kernel / 2;
  QuantizedMatMulAttributes matmul;
  matmul.matmul.transpose_b = 1;
  conv.output.rounding = options.fixed_point ? Rounding::kFixedPoint : Rounding::kHalfEven;
  matmul.output = conv.output;
  const int32_t inputs[] = {0, 1, 2, 3, options.fixed_point ? 4 : -1, 5};
  const int32_t outputs[] = {6};
  const auto call_with = [&](std::vector<TensorView>& views, bool with_data) {
    for (size_t i = 0; i < operands.size(); ++i) {
      views.push_back(operands[i].View(with_data || (i != 0 && i != 6)));
    }
    OpCall op;
    op.tensors = views.data();
    op.input_ids = inputs;
    op.output_ids = outputs;
    op.attributes = product ? static_cast<const void*>(&matmul) : &conv;
    return op;
  };
  const KernelEntry& kernel =
      *testing::KernelNamed(product ? "cpu.quantized_matmul.vector" : "cpu.quantized_conv.vector");
  std::vector<TensorView> description;
  std::vector<TensorView> views;
  const KernelSetup setup = {call_with(description, false), 0, options.threads};
  void* shared = nullptr;
  Status status = CheckOpCall(*kernel.row, setup.op);
  if (status.ok()) status = kernel.check(setup);
  if (status.ok()) status = kernel.load(setup, &shared);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", layer.name, status.message());
    std::exit(1);
  }
  ParallelRunner runner = CpuBackend().make_runner(options.threads);
  KernelCall call;
  call.op = call_with(views, true);
  call.state = shared;
  call.parallel = &runner;
  const double seconds = Fastest([&] { static_cast<void>(kernel.run(call)); });
  CpuBackend().free_runner(runner);
  kernel.unload(shared);
  return seconds;
}

#ifdef TENON_HAS_ONEDNN
/// Seconds of oneDNN's convolution u8 * s8 -> u8 of the same shape; 0 for products.
double MeasureOnednn(const Layer& layer) {
  using namespace dnnl;
  if (layer.kernel == 0) return 0.0;
  const engine cpu(engine::kind::cpu, 0);
  stream queue(cpu);
  const memory::dim out = OutputSize(layer);
  const memory::dim pad = layer.kernel / 2;
  const memory::desc x({1, layer.inputs, layer.size, layer.size}, memory::data_type::u8,
                       memory::format_tag::nhwc);
  const memory::desc w({layer.outputs, layer.inputs, layer.kernel, layer.kernel},
                       memory::data_type::s8, memory::format_tag::any);
  const memory::desc b({layer.outputs}, memory::data_type::s32, memory::format_tag::x);
  const memory::desc y({1, layer.outputs, out, out}, memory::data_type::u8,
                       memory::format_tag::nhwc);
  primitive_attr attributes;
  attributes.set_output_scales(1 << 1,
                               std::vector<float>(static_cast<size_t>(layer.outputs), 0.001F));
  const convolution_forward::desc description(prop_kind::forward_inference,
                                              algorithm::convolution_direct, x, w, b, y,
                                              {layer.stride, layer.stride}, {pad, pad}, {pad, pad});
  const convolution_forward::primitive_desc chosen(description, attributes, cpu);
  memory x_memory(chosen.src_desc(), cpu);
  memory w_memory(chosen.weights_desc(), cpu);
  memory b_memory(chosen.bias_desc(), cpu);
  memory y_memory(chosen.dst_desc(), cpu);
  for (memory* each : {&x_memory, &w_memory, &b_memory, &y_memory}) {
    std::memset(each->get_data_handle(), 1, each->get_desc().get_size());
  }
  const convolution_forward primitive(chosen);
  const std::unordered_map<int, memory> arguments = {{DNNL_ARG_SRC, x_memory},
                                                     {DNNL_ARG_WEIGHTS, w_memory},
                                                     {DNNL_ARG_BIAS, b_memory},
                                                     {DNNL_ARG_DST, y_memory}};
  return Fastest([&] {
    primitive.execute(queue, arguments);
    queue.wait();
  });
}
#endif

void RunNet(const char* name, const Layer* layers, size_t count, const Options& options,
            double peak) {
  double seconds = 0.0;
  double work = 0.0;
  double theirs = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const Layer& layer = layers[i];
    if (std::string(layer.name).find(options.filter) == std::string::npos) continue;
    const double each = Measure(layer, options);
    double onednn = 0.0;
#ifdef TENON_HAS_ONEDNN
    if (options.threads == 1) onednn = MeasureOnednn(layer);
#endif
    std::printf("%-28s x%-2d %9.2f us %7.1f GMAC/s %5.1f %%  oneDNN %9.2f us\n", layer.name,
                layer.times, each * 1e6, Work(layer) / each * 1e-9,
                100.0 * Work(layer) / each / peak, onednn * 1e6);
    seconds += each * layer.times;
    work += Work(layer) * layer.times;
    theirs += onednn * layer.times;
  }
  if (work == 0.0) return;
  std::printf("%-28s     %9.2f us %7.1f GMAC/s %5.1f %%  oneDNN %9.2f us\n\n", name, seconds * 1e6,
              work / seconds * 1e-9, 100.0 * work / seconds / peak, theirs * 1e6);
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc) {
      options.threads = std::atoi(argv[++i]);
    } else if (argument == "--instructions" && i + 1 < argc) {
      const std::string wanted = argv[++i];
      for (const q8::Instructions instructions : q8::UsableInstructions()) {
        if (wanted != q8::InstructionsName(instructions)) continue;
        q8::OverrideInstructions(&instructions);
      }
    } else if (argument == "--fixed-point") {
      options.fixed_point = true;
    } else {
      options.filter = argument;
    }
  }
  const double peak = PeakVnni() * options.threads;
  std::printf("VNNI peak of %d thread(s): %.1f GMAC/s; running %s\n", options.threads, peak * 1e-9,
              q8::InstructionsName(q8::ChosenInstructions()));
  RunNet("MobileNetV2, no depthwise", kMobileNetV2, std::size(kMobileNetV2), options, peak);
  RunNet("ResNet-8", kResNet8, std::size(kResNet8), options, peak);
  RunNet("others", kOthers, std::size(kOthers), options, peak);
  return 0;
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) { return tenon::cpu::Main(argc, argv); }
