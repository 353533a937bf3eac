// Makes the sweep's elementwise and reducing ops.
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "converter/measure/profile_sweep.hpp"

namespace tenon::converter {
namespace {

const std::vector<std::vector<int32_t>> kShapes = {{1, 64},        {98, 192},    {1, 24, 14, 14},
                                                   {4, 50, 64},    {1, 98, 768}, {1, 64, 56, 56},
                                                   {1, 96, 96, 96}};

/// Names a network. Each shape is a network of its own, so that small operands stay in the nearest
/// cache from run to run, as they do in models, where the op before has just written them.
std::string NameOf(const char* kind, const char* function, const std::vector<int32_t>& dims) {
  return fmt::format("{} {} {}", kind, function, fmt::join(dims, "x"));
}

void AddUnary(std::vector<SweepNetwork>& networks) {
  for (int function = 1; function < kUnaryFunctionCount; ++function) {
    if (static_cast<UnaryFunction>(function) == UnaryFunction::kNot) continue;
    for (const auto& dims : kShapes) {
      SweepBuilder builder(NameOf("unary", kUnaryFunctionNames[function], dims),
                           static_cast<uint64_t>(function));
      const TensorId x = builder.Input(dims);
      UnaryAttributes unary;
      unary.function = static_cast<UnaryFunction>(function);
      unary.b = 1;
      builder.Add(OpKind::kUnary, {x}, Attributes(unary), x);
      networks.push_back(builder.Finish());
    }
  }
}

/// Returns a second operand's dims by kind: as large, one per row, one per column, one for all.
std::vector<int32_t> Broadcast(std::vector<int32_t> dims, int kind) {
  if (kind == 1) dims.back() = 1;
  if (kind == 2) std::fill(dims.begin(), dims.end() - 1, 1);
  if (kind == 3) std::fill(dims.begin(), dims.end(), 1);
  return dims;
}

void AddBinary(std::vector<SweepNetwork>& networks) {
  constexpr BinaryFunction kFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                           BinaryFunction::kMul, BinaryFunction::kDiv,
                                           BinaryFunction::kPow, BinaryFunction::kMax};
  for (const BinaryFunction function : kFunctions) {
    const int number = static_cast<int>(function);
    for (const auto& dims : kShapes) {
      SweepBuilder builder(NameOf("binary", kBinaryFunctionNames[number], dims),
                           static_cast<uint64_t>(number) + 100);
      for (int kind = 0; kind < 4; ++kind) {
        BinaryAttributes binary;
        binary.function = function;
        const TensorId x = builder.Input(dims);
        const TensorId y = kind == 2 ? builder.Constant(Broadcast(dims, kind))
                                     : builder.Input(Broadcast(dims, kind));
        const TensorId z = builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
        if (function == BinaryFunction::kMul && kind % 3 == 0) {
          for (const UnaryFunction activation :
               {UnaryFunction::kTanh, UnaryFunction::kSigmoid, UnaryFunction::kRelu}) {
            binary.activation.function = activation;
            builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
          }
          binary.activation.function = UnaryFunction::kIdentity;
        }
        // These are chained, so what was just written is read again.
        if (kind == 0) builder.Add(OpKind::kBinary, {z, y}, Attributes(binary), z);
      }
      networks.push_back(builder.Finish());
    }
  }
}

/// Short rows, where operands are a column and a row, as in state-space models.
void AddShortRows(std::vector<SweepNetwork>& networks) {
  for (const auto& dims :
       std::vector<std::vector<int32_t>>{{64, 8}, {16, 128, 8}, {64, 64, 4}, {256, 16, 12}}) {
    SweepBuilder builder(NameOf("binary", "short", dims), 120);
    const std::vector<int32_t> column = Broadcast(dims, 1);
    for (const int kind : {0, 1, 2}) {
      for (const bool is_column : {false, true}) {
        const TensorId x = builder.Input(is_column ? column : dims);
        const TensorId y = builder.Input(Broadcast(dims, kind));
        BinaryAttributes binary;
        binary.function = BinaryFunction::kMul;
        builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
        binary.activation.function = UnaryFunction::kTanh;
        builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
      }
    }
    networks.push_back(builder.Finish());
  }
}

/// Operands that repeat along dimensions inside others which they have: statistics of channels and
/// of heads, offsets of windows.
void AddRepeatsInParts(std::vector<SweepNetwork>& networks) {
  using Dims = std::vector<int32_t>;
  const std::vector<std::pair<Dims, Dims>> operands = {
      {{2, 3072, 32}, {2, 1, 32}},       {{2, 196, 64}, {2, 1, 64}},
      {{4, 49, 256}, {4, 1, 256}},       {{2, 768, 24}, {2, 1, 24}},
      {{4, 16, 100, 8}, {4, 1, 100, 8}}, {{192, 1, 1, 2}, {1, 7, 7, 2}},
      {{8, 50, 4}, {8, 1, 4}},           {{2, 64, 16, 6}, {2, 1, 16, 6}},
      {{64, 1, 12}, {1, 64, 12}},        {{32, 10, 16}, {32, 10, 1}},
      {{8, 96, 2, 3}, {8, 1, 2, 3}},     {{12, 5, 5}, {1, 5, 1}},
  };
  for (const auto& [left, right] : operands) {
    SweepBuilder builder(NameOf("parts", fmt::format("{}", fmt::join(left, "x")).c_str(), right),
                         121);
    const TensorId x = builder.Input(left);
    const TensorId y = builder.Input(right);
    for (const BinaryFunction function : {BinaryFunction::kAdd, BinaryFunction::kDiv}) {
      BinaryAttributes binary;
      binary.function = function;
      builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
      binary.activation.function = UnaryFunction::kSigmoid;
      builder.Add(OpKind::kBinary, {x, y}, Attributes(binary), x);
    }
    networks.push_back(builder.Finish());
  }
}

/// Returns steps as they come in networks: a scale and a shift, and what a function makes of them.
ElementwiseAttributes StepsOf(int steps, UnaryFunction activation) {
  ElementwiseAttributes attributes;
  attributes.steps = steps;
  for (int step = 0; step < steps; ++step) {
    attributes.operands[step] = 1 + step % 2;
    attributes.functions[step] = step % 2 == 0 ? BinaryFunction::kMul : BinaryFunction::kAdd;
  }
  attributes.activations[steps - 1] = activation;
  return attributes;
}

void AddElementwise(std::vector<SweepNetwork>& networks) {
  for (const int steps : {1, 2, 3, 6}) {
    for (const auto& dims : kShapes) {
      SweepBuilder builder(NameOf("elementwise", std::to_string(steps).c_str(), dims),
                           static_cast<uint64_t>(steps) + 200);
      for (int kind = 0; kind < 4; ++kind) {
        const TensorId x = builder.Input(dims);
        const TensorId y = builder.Input(Broadcast(dims, kind));
        const TensorId z = builder.Constant(Broadcast(dims, 2));
        for (const UnaryFunction activation :
             {UnaryFunction::kIdentity, UnaryFunction::kRelu, UnaryFunction::kSigmoid}) {
          builder.Add(OpKind::kElementwise, {x, y, z}, Attributes(StepsOf(steps, activation)), x);
        }
        ElementwiseAttributes function = StepsOf(steps, UnaryFunction::kIdentity);
        function.operands[0] = 0;
        function.activations[0] = UnaryFunction::kTanh;
        function.functions[1] = BinaryFunction::kDiv;
        builder.Add(OpKind::kElementwise, {x, y, z}, Attributes(function), x);
      }
      networks.push_back(builder.Finish());
    }
  }
}

void AddReductions(std::vector<SweepNetwork>& networks) {
  constexpr ReduceFunction kFunctions[] = {ReduceFunction::kSum, ReduceFunction::kMean,
                                           ReduceFunction::kMax, ReduceFunction::kL2};
  for (const ReduceFunction function : kFunctions) {
    const int number = static_cast<int>(function);
    std::vector<std::vector<int32_t>> shapes = kShapes;
    // The images at the beginning of detectors come from beyond the caches.
    shapes.push_back({1, 24, 120, 160});
    shapes.push_back({1, 96, 120, 160});
    // Few or many elements in a row.
    shapes.push_back({1, 512});
    shapes.push_back({300, 100, 2});
    for (const auto& dims : shapes) {
      SweepBuilder builder(NameOf("reduce", kReduceFunctionNames[number], dims),
                           static_cast<uint64_t>(number) + 200);
      const auto rank = static_cast<int>(dims.size());
      for (const int mask : {1 << (rank - 1), 1 << (rank - 2), rank == 4 ? 12 : 1}) {
        const TensorId x = builder.Input(dims);
        ReduceAttributes reduce;
        reduce.function = function;
        reduce.axes_mask = mask;
        builder.Add(OpKind::kReduce, {x}, Attributes(reduce), x);
      }
      if (rank == 4) {
        // This runs over an image that a convolution made: its channels are neighbours in memory.
        const TensorId x = builder.Input(dims);
        const TensorId y = builder.Conv(x, dims[1], 1, 1, 1, false);
        ReduceAttributes reduce;
        reduce.function = function;
        reduce.axes_mask = 12;
        builder.Add(OpKind::kReduce, {y}, Attributes(reduce), y);
      }
      networks.push_back(builder.Finish());
    }
  }
}

void AddSoftmax(std::vector<SweepNetwork>& networks) {
  SweepBuilder builder("softmax", 300);
  for (const auto& dims : std::vector<std::vector<int32_t>>{{1, 10},
                                                            {1, 1000},
                                                            {98, 98},
                                                            {4, 50, 50},
                                                            {1, 4420, 2},
                                                            {484, 80},
                                                            {1, 8400, 4},
                                                            {197, 197}}) {
    for (const int log : {0, 1}) {
      const TensorId x = builder.Input(dims);
      SoftmaxAttributes softmax;
      softmax.axis = static_cast<int32_t>(dims.size()) - 1;
      softmax.log = log;
      builder.Add(OpKind::kSoftmax, {x}, Attributes(softmax), x);
    }
  }
  for (const auto& dims : std::vector<std::vector<int32_t>>{
           {1, 10, 1, 1}, {1, 1000, 1, 1}, {1, 80, 22, 22}, {1, 21, 64, 64}, {1, 2, 30, 40}}) {
    const TensorId x = builder.Conv(builder.Input(dims), dims[1], 1, 1, dims[1], false);
    SoftmaxAttributes softmax;
    softmax.axis = 1;
    builder.Add(OpKind::kSoftmax, {x}, Attributes(softmax), x);
  }
  networks.push_back(builder.Finish());
}

void AddLayerNorm(std::vector<SweepNetwork>& networks) {
  SweepBuilder builder("layer_norm", 320);
  for (const auto& dims : std::vector<std::vector<int32_t>>{{1, 64},
                                                            {99, 64},
                                                            {128, 128},
                                                            {197, 192},
                                                            {1, 49, 768},
                                                            {16, 1024},
                                                            {400, 32},
                                                            {9216, 16},
                                                            {2304, 48},
                                                            {784, 96},
                                                            {3136, 96},
                                                            {3136, 384},
                                                            {4, 12288}}) {
    for (const int rms : {0, 1}) {
      const TensorId x = builder.Input(dims);
      const TensorId scale = builder.ConstantOf(DType::kF32, {dims.back()});
      const LayerNormAttributes attributes = {1e-5F, rms};
      builder.Add(OpKind::kLayerNorm, {x, scale}, Attributes(attributes), x);
    }
  }
  networks.push_back(builder.Finish());
}

}  // namespace

void AddRowNetworks(std::vector<SweepNetwork>& networks) {
  AddUnary(networks);
  AddBinary(networks);
  AddShortRows(networks);
  AddRepeatsInParts(networks);
  AddElementwise(networks);
  AddReductions(networks);
  AddSoftmax(networks);
  AddLayerNorm(networks);
}

}  // namespace tenon::converter
