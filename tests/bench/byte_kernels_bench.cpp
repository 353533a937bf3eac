// Speed of the kernels on i8 and u8 other than dense products: byte_kernels_bench [FILTER]
//
// Each line: the op and its shape, the kernel that the CPU's table gives it, nanoseconds of the
// fastest of many runs on one thread, and bytes read and written a nanosecond.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/bench/opened_kernel.hpp"

namespace tenon::cpu {
namespace {

using testing::Generator;
using testing::Layout;
using testing::Tensor;
using Dims = std::vector<int32_t>;

struct ByteSubject : Subject {
  OpKind kind;
};

Tensor Bytes(DType dtype, const Dims& dims, Layout layout) {
  static Generator random(1);
  Tensor tensor(dtype, dims, layout);
  std::vector<uint8_t> values(tensor.count());
  for (uint8_t& value : values) value = static_cast<uint8_t>(random());
  tensor.Set(values);
  return tensor;
}

double FastestNanoseconds(OpenedKernel& kernel) {
  using Clock = std::chrono::steady_clock;
  double best = 1e30;
  const auto until = Clock::now() + std::chrono::milliseconds(200);
  for (int i = 0; i < 10 || Clock::now() < until; ++i) {
    const auto start = Clock::now();
    constexpr int kRuns = 5;
    for (int run = 0; run < kRuns; ++run) {
      if (!kernel.Run(ParallelRunner{}).ok()) return -1.0;
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - start;
    best = std::min(best, took.count() / kRuns);
  }
  return best;
}

/// With the first kernel of the table that takes it.
void Measure(const ByteSubject& subject) {
  size_t bytes =
      subject.outputs[0].count() * static_cast<size_t>(DTypeBytes(subject.outputs[0].dtype()));
  for (size_t i = 0; i < subject.constants_from; ++i) {
    bytes += subject.inputs[i].count() * static_cast<size_t>(DTypeBytes(subject.inputs[i].dtype()));
  }
  for (const KernelEntry& kernel : CpuBackend().kernels) {
    if (kernel.row->kind != subject.kind) continue;
    OpenedKernel opened(kernel, subject, 1);
    if (!opened.status().ok()) continue;
    const double ns = FastestNanoseconds(opened);
    std::printf("%-44s %-36s %10.0f ns %8.2f B/ns\n", subject.name.c_str(), kernel.id, ns,
                static_cast<double>(bytes) / ns);
    return;
  }
}

ByteSubject Depthwise(int32_t channels, int32_t height, int32_t width, int32_t kernel,
                      int32_t stride, Rounding rounding) {
  const int32_t pad = kernel / 2;
  const int32_t out_height = (height + 2 * pad - kernel) / stride + 1;
  const int32_t out_width = (width + 2 * pad - kernel) / stride + 1;
  const auto count = static_cast<size_t>(channels);
  ByteSubject subject;
  const bool even = rounding == Rounding::kHalfEven;
  subject.name = fmt::format("depthwise {}x{}/{} {}x{}x{} {}", kernel, kernel, stride, channels,
                             height, width, even ? "half_even" : "fixed_point");
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

ByteSubject Elementwise(const std::string& name, OpKind kind, const Dims& dims) {
  ByteSubject subject;
  subject.name = name;
  for (const int32_t dim : dims) subject.name += fmt::format(" {}", dim);
  subject.kind = kind;
  return subject;
}

ByteSubject Sum(const Dims& dims, Rounding rounding) {
  const bool even = rounding == Rounding::kHalfEven;
  ByteSubject subject =
      Elementwise(even ? "add half_even" : "add fixed_point", OpKind::kQuantizedBinary, dims);
  for (int i = 0; i < 2; ++i) {
    subject.inputs.push_back(Bytes(DType::kI8, dims, Layout::kChannelsLast));
  }
  subject.present = {true, true};
  subject.constants_from = 2;
  subject.outputs = {Tensor(DType::kI8, dims, Layout::kChannelsLast)};
  QuantizedBinaryAttributes attributes;
  attributes.x_scale = {0.03F, 1'300'000'000, -1};
  attributes.y_scale = {0.02F, 1'900'000'000, -2};
  attributes.output_scale = {0.04F, 1'500'000'000, -19};
  attributes.left_shift = 20;
  attributes.output.rounding = rounding;
  subject.attributes = Words(attributes);
  return subject;
}

ByteSubject Lookup(const Dims& dims) {
  ByteSubject subject = Elementwise("lookup", OpKind::kLookup, dims);
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kChannelsLast),
                    Bytes(DType::kI8, {256}, Layout::kRowMajor)};
  subject.present = {true, true};
  subject.outputs = {Tensor(DType::kI8, dims, Layout::kChannelsLast)};
  return subject;
}

ByteSubject Quantize(const Dims& dims, float scale, Layout layout) {
  ByteSubject subject = Elementwise(layout == Layout::kRowMajor ? "quantize" : "quantize to pixels",
                                    OpKind::kQuantize, dims);
  static Generator random(2);
  subject.inputs = {testing::Random(dims, Layout::kRowMajor, random),
                    Tensor::From<float>(DType::kF32, {1}, {scale})};
  subject.present = {true, true};
  subject.outputs = {Tensor(DType::kI8, dims, layout)};
  subject.attributes = Words(QuantizeAttributes{});
  return subject;
}

ByteSubject Dequantize(const Dims& dims) {
  ByteSubject subject = Elementwise("dequantize", OpKind::kDequantize, dims);
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kRowMajor),
                    Tensor::From<float>(DType::kF32, {1}, {0.1F})};
  subject.present = {true, true};
  subject.outputs = {Tensor(DType::kF32, dims, Layout::kRowMajor)};
  subject.attributes = Words(DequantizeAttributes{});
  return subject;
}

ByteSubject MaxPool(int32_t channels, int32_t size, int32_t kernel, int32_t stride) {
  const Dims dims = {1, channels, size, size};
  ByteSubject subject = Elementwise("max_pool", OpKind::kMaxPool, dims);
  PoolAttributes attributes;
  for (int i = 0; i < 2; ++i) {
    attributes.kernel[i] = kernel;
    attributes.strides[i] = stride;
    attributes.pads[i] = attributes.pads[2 + i] = kernel / 2;
  }
  const int32_t out = (size + kernel / 2 * 2 - kernel) / stride + 1;
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kChannelsLast)};
  subject.present = {true};
  subject.outputs = {Tensor(DType::kI8, {1, channels, out, out}, Layout::kChannelsLast)};
  subject.attributes = Words(attributes);
  return subject;
}

ByteSubject Average(int32_t channels, int32_t height, int32_t width, Rounding rounding) {
  const Dims dims = {1, channels, height, width};
  ByteSubject subject = Elementwise(
      rounding == Rounding::kHalfAway ? "average_pool half_away" : "average_pool half_even",
      OpKind::kQuantizedAveragePool, dims);
  QuantizedAveragePoolAttributes attributes;
  attributes.pool.kernel[0] = height;
  attributes.pool.kernel[1] = width;
  attributes.output.rounding = rounding;
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kChannelsLast)};
  subject.present = {true};
  subject.outputs = {Tensor(DType::kI8, {1, channels, 1, 1}, Layout::kChannelsLast)};
  subject.attributes = Words(attributes);
  return subject;
}

ByteSubject ImageSum(int32_t channels, int32_t size, Rounding rounding) {
  const Dims dims = {1, channels, size, size};
  ByteSubject subject = Elementwise("sum", OpKind::kQuantizedReduce, dims);
  QuantizedReduceAttributes attributes;
  attributes.reduce.axes_mask = 12;
  attributes.scale = {0.02F, 1'300'000'000, -5};
  attributes.output.rounding = rounding;
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kChannelsLast)};
  subject.present = {true};
  subject.outputs = {Tensor(DType::kI8, {1, channels, 1, 1}, Layout::kChannelsLast)};
  subject.attributes = Words(attributes);
  return subject;
}

/// Channels of two images side by side, as of ShuffleNet.
ByteSubject Concat(int32_t channels, int32_t size) {
  const Dims dims = {1, channels, size, size};
  ByteSubject subject = Elementwise("concat", OpKind::kConcat, dims);
  for (int i = 0; i < 2; ++i) {
    subject.inputs.push_back(Bytes(DType::kI8, dims, Layout::kChannelsLast));
  }
  subject.present = {true, true};
  subject.constants_from = 2;
  subject.outputs = {Tensor(DType::kI8, {1, 2 * channels, size, size}, Layout::kChannelsLast)};
  ConcatAttributes attributes;
  attributes.axis = 1;
  subject.attributes = Words(attributes);
  return subject;
}

ByteSubject Copy(const Dims& dims, Layout from, Layout to) {
  ByteSubject subject =
      Elementwise(from == Layout::kRowMajor ? "copy to channels-last" : "copy to row-major",
                  OpKind::kCopy, dims);
  subject.inputs = {Bytes(DType::kI8, dims, from)};
  subject.present = {true};
  subject.outputs = {Tensor(DType::kI8, dims, to)};
  return subject;
}

/// Channels of two groups by turns: the rows of a channel shuffle, pixels outermost.
ByteSubject Shuffle(int32_t channels, int32_t size) {
  const Dims dims = {size * size, 2, channels / 2};
  ByteSubject subject = Elementwise("transpose 0 2 1", OpKind::kTranspose, dims);
  subject.inputs = {Bytes(DType::kI8, dims, Layout::kRowMajor)};
  subject.present = {true};
  subject.outputs = {Tensor(DType::kI8, {dims[0], dims[2], dims[1]}, Layout::kRowMajor)};
  TransposeAttributes attributes;
  attributes.rank = 3;
  attributes.permutation[1] = 2;
  attributes.permutation[2] = 1;
  subject.attributes = Words(attributes);
  return subject;
}

void AddSmallOps(std::vector<ByteSubject>& subjects) {
  for (const Rounding rounding : {Rounding::kHalfEven, Rounding::kFixedPoint}) {
    for (const Dims& dims :
         {Dims{1, 24, 56, 56}, Dims{1, 64, 14, 14}, Dims{1, 160, 7, 7}, Dims{1, 16, 32, 32}}) {
      subjects.push_back(Sum(dims, rounding));
    }
    subjects.push_back(ImageSum(1280, 7, rounding));
  }
  subjects.push_back(Lookup({1, 24, 56, 56}));
  subjects.push_back(Lookup({1, 640}));
  subjects.push_back(Quantize({1, 3, 224, 224}, 0.0078125F, Layout::kChannelsLast));
  subjects.push_back(Quantize({1, 3, 224, 224}, 0.0091F, Layout::kChannelsLast));
  subjects.push_back(Quantize({1, 640}, 0.0091F, Layout::kRowMajor));
  subjects.push_back(Dequantize({1, 1000}));
  subjects.push_back(Dequantize({1, 24, 56, 56}));
  subjects.push_back(MaxPool(24, 112, 3, 2));
  subjects.push_back(MaxPool(64, 112, 3, 2));
  subjects.push_back(Average(64, 25, 5, Rounding::kHalfEven));
  subjects.push_back(Average(64, 25, 5, Rounding::kHalfAway));
  subjects.push_back(Average(64, 8, 8, Rounding::kHalfEven));
  for (const int32_t size : {28, 14, 7}) subjects.push_back(Concat(58 * 28 / size, size));
  for (const int32_t size : {28, 14, 7}) subjects.push_back(Shuffle(116 * 28 / size, size));
  subjects.push_back(Copy({1, 3, 224, 224}, Layout::kRowMajor, Layout::kChannelsLast));
  subjects.push_back(Copy({1, 116, 28, 28}, Layout::kRowMajor, Layout::kChannelsLast));
  subjects.push_back(Copy({1, 116, 28, 28}, Layout::kChannelsLast, Layout::kRowMajor));
}

std::vector<ByteSubject> Subjects() {
  std::vector<ByteSubject> subjects;
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
  AddSmallOps(subjects);
  return subjects;
}

}  // namespace
}  // namespace tenon::cpu

int main(int argc, char** argv) {
  for (const tenon::cpu::ByteSubject& subject : tenon::cpu::Subjects()) {
    if (argc > 1 && subject.name.find(argv[1]) == std::string::npos) continue;
    tenon::cpu::Measure(subject);
  }
  return 0;
}
