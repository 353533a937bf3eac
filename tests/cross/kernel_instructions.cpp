// Runs one convolution some number of times and prints its multiply-accumulates, for
// instructions_test.py, which counts the instructions of two such runs.
// Usage: kernel_instructions DTYPE SHAPE KERNEL INSTRUCTIONS TIMES
//   f32|i8, 1x1|3x3|depthwise, vector|portable, the name of an instruction set, a number
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace {

using namespace tenon;
using namespace tenon::cpu;
using namespace tenon::cpu::testing;

struct Shape {
  const char* name;
  int32_t inputs;
  int32_t outputs;
  int32_t group;
  int32_t kernel;
  int32_t size;  ///< of the image, in both directions
};
constexpr Shape kShapes[] = {
    {"1x1", 64, 64, 1, 1, 16}, {"3x3", 32, 32, 1, 3, 16}, {"depthwise", 64, 64, 64, 3, 16}};

ConvAttributes Attributes(const Shape& shape) {
  ConvAttributes conv;
  conv.group = shape.group;
  for (int32_t& pad : conv.pads) pad = shape.kernel / 2;
  return conv;
}

const KernelEntry* Find(const std::string& id) {
  for (const KernelEntry& kernel : CpuBackend().kernels) {
    if (id == kernel.id) return &kernel;
  }
  std::fprintf(stderr, "no kernel %s\n", id.c_str());
  return nullptr;
}

bool Choose(const char* name) {
  static const q8::Instructions* chosen = nullptr;
  for (const q8::Instructions& each : q8::UsableInstructions()) {
    if (std::strcmp(q8::InstructionsName(each), name) == 0) chosen = &each;
  }
  const f32::Routines* routines = nullptr;
  for (const f32::Routines* each : f32::UsableRoutines()) {
    if (std::strcmp(each->name, name) == 0) routines = each;
  }
  if (chosen != nullptr) q8::OverrideInstructions(chosen);
  f32::OverrideRoutines(routines);
  return chosen != nullptr || routines != nullptr;
}

Tensor Bytes(const std::vector<int32_t>& dims, Layout layout, Generator& random) {
  Tensor tensor(DType::kI8, dims, layout);
  std::vector<int8_t> values(tensor.count());
  for (int8_t& value : values) value = static_cast<int8_t>(Pick(random, -128, 127));
  tensor.Set(values);
  return tensor;
}

Status Run(const Shape& shape, bool floats, const KernelEntry& kernel, int times) {
  Generator random(1);
  OpFixture op(kernel);
  op.set_workspace_bytes(1 << 20);
  const std::vector<int32_t> x = {1, shape.inputs, shape.size, shape.size};
  const std::vector<int32_t> w = {shape.outputs, shape.inputs / shape.group, shape.kernel,
                                  shape.kernel};
  const std::vector<int32_t> y = {1, shape.outputs, shape.size, shape.size};
  const auto outputs = static_cast<size_t>(shape.outputs);
  if (floats) {
    op.AddInput(Random(x, Layout::kChannelsLast, random));
    op.AddInput(Random(w, Layout::kRowMajor, random), kConstant);
    op.AddInput(Random({shape.outputs}, Layout::kRowMajor, random), kConstant);
    op.AddOutput(Tensor(DType::kF32, y, Layout::kChannelsLast));
    return op.Run(Attributes(shape), 1, times);
  }
  op.AddInput(Bytes(x, Layout::kChannelsLast, random));
  op.AddInput(Bytes(w, Layout::kRowMajor, random), kConstant);
  op.AddInput(Tensor::From(DType::kI32, {shape.outputs}, std::vector<int32_t>(outputs, 100)),
              kConstant);
  op.AddInput(Tensor::From(DType::kI32, {shape.outputs}, std::vector<int32_t>(outputs, 0x60000000)),
              kConstant);
  op.AddInput(Tensor::From(DType::kI8, {shape.outputs}, std::vector<int8_t>(outputs, -11)),
              kConstant);
  op.AddInput(Tensor::From(DType::kI8, {1}, std::vector<int8_t>{3}), kConstant);
  op.AddOutput(Tensor(DType::kI8, y, Layout::kChannelsLast));
  QuantizedConvAttributes attributes;
  attributes.conv = Attributes(shape);
  attributes.output.to = static_cast<int32_t>(DType::kI8);
  attributes.output.rounding = Rounding::kFixedPoint;
  attributes.output.min = -128;
  attributes.output.max = 127;
  return op.Run(attributes, 1, times);
}

int Main(const std::string& dtype, const std::string& shape_name, const std::string& kernel,
         const char* instructions, int times) {
  const Shape* shape = nullptr;
  for (const Shape& each : kShapes) {
    if (shape_name == each.name) shape = &each;
  }
  const bool floats = dtype == "f32";
  std::string id = floats ? "cpu.conv." : "cpu.quantized_conv.";
  const bool depthwise = shape_name == "depthwise";
  if (kernel == "portable") {
    id += kernel;
  } else if (depthwise) {
    id += floats ? "vector_depthwise" : "bytes_depthwise";
  } else {
    id += "vector";
  }
  const KernelEntry* entry = Find(id);
  if (shape == nullptr || entry == nullptr || !Choose(instructions)) {
    std::fprintf(stderr, "no such shape, kernel or instruction set on this processor\n");
    return 2;
  }
  const Status status = Run(*shape, floats, *entry, times);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message());
    return 1;
  }
  std::printf("macs %lld\n", static_cast<long long>(shape->outputs) * shape->inputs / shape->group *
                                 shape->kernel * shape->kernel * shape->size * shape->size);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: kernel_instructions DTYPE SHAPE KERNEL INSTRUCTIONS TIMES\n");
    return 2;
  }
  return Main(argv[1], argv[2], argv[3], argv[4], std::atoi(argv[5]));
}
