// Makes the sweep's ops on elements that lie apart: planes that are stacked along the last axis or
// taken apart along it, as spectra and pairs of coordinates are, and parts of channels.
#include <fmt/ranges.h>

#include <algorithm>

#include "converter/measure/profile_sweep.hpp"

namespace tenon::converter {
namespace {

/// Adds ops to one network; what they read and write are views of the stack.
class Stack {
 public:
  Stack(const std::vector<int32_t>& dims, int planes, int width)
      : dims_(dims),
        planes_(planes),
        width_(width),
        builder_(fmt::format("stack {} of {}x{}", planes, fmt::join(dims, "x"), width), 600) {}

  SweepNetwork Make() {
    std::vector<int32_t> stacked = dims_;
    stacked.push_back(planes_ * width_);
    const TensorId whole = builder_.Input(stacked);
    const TensorId first = Plane(whole, 0);
    const TensorId second = Plane(whole, planes_ - 1);
    // Elements with gaps between them are read.
    Function(first, UnaryFunction::kNeg);
    Function(second, UnaryFunction::kRelu);
    Sum(first, second);
    Chain(first, second);
    Padded(first);
    // Elements with gaps between them are written.
    std::vector<int32_t> flat = dims_;
    flat.push_back(width_);
    const TensorId x = builder_.Input(flat);
    const TensorId y = builder_.Input(flat);
    const TensorId joined = Joined({Function(x, UnaryFunction::kNeg), Sum(x, y)});
    Reduced(joined);
    Reduced(Joined({Chain(x, y), Function(y, UnaryFunction::kRelu)}));
    Reduced(Joined({Padded(x), Padded(y)}));
    return builder_.Finish();
  }

 private:
  TensorId Plane(TensorId whole, int index) {
    SliceAttributes slice;
    slice.rank = static_cast<int32_t>(dims_.size()) + 1;
    for (int k = 0; k < slice.rank; ++k) {
      const bool is_last = k + 1 == slice.rank;
      slice.begins[k] = is_last ? index * width_ : 0;
      slice.steps[k] = 1;
      slice.sizes[k] = is_last ? width_ : dims_[static_cast<size_t>(k)];
    }
    return builder_.Add(OpKind::kSlice, {whole}, Attributes(slice), whole);
  }

  TensorId Function(TensorId x, UnaryFunction function) {
    UnaryAttributes unary;
    unary.function = function;
    return builder_.Add(OpKind::kUnary, {x}, Attributes(unary), x);
  }

  TensorId Sum(TensorId x, TensorId y) {
    return builder_.Add(OpKind::kBinary, {x, y}, Attributes(BinaryAttributes()), x);
  }

  /// A scale and a shift.
  TensorId Chain(TensorId x, TensorId y) {
    ElementwiseAttributes steps;
    steps.steps = 2;
    steps.operands[0] = steps.operands[1] = 1;
    steps.functions[0] = BinaryFunction::kMul;
    steps.functions[1] = BinaryFunction::kAdd;
    return builder_.Add(OpKind::kElementwise, {x, y}, Attributes(steps), x);
  }

  /// Its rows shifted by some of their elements.
  TensorId Padded(TensorId x) {
    PadAttributes pad;
    pad.rank = static_cast<int32_t>(dims_.size()) + 1;
    pad.begins[pad.rank - 2] = 4;
    return builder_.Add(OpKind::kPad, {x}, Attributes(pad), x);
  }

  TensorId Joined(const std::vector<TensorId>& parts) {
    ConcatAttributes concat;
    concat.axis = static_cast<int32_t>(dims_.size());
    return builder_.Add(OpKind::kConcat, parts, Attributes(concat), parts.front());
  }

  void Reduced(TensorId x) {
    ReduceAttributes reduce;
    reduce.function = ReduceFunction::kSum;
    reduce.axes_mask = 1 << dims_.size();
    builder_.Add(OpKind::kReduce, {x}, Attributes(reduce), x);
  }

  const std::vector<int32_t>& dims_;
  int planes_;
  int width_;  ///< elements of a plane that follow each other
  SweepBuilder builder_;
};

/// Halves of channels are worked on and shuffled into one another, planes become pixels and back.
SweepNetwork Shuffled(DType dtype, int channels, int size) {
  SweepBuilder builder(fmt::format("shuffle {} {}x{}", DTypeName(dtype), channels, size), 601);
  const std::vector<int32_t> dims = {1, size, size, channels};
  const auto turned = [&](TensorId x) {
    TransposeAttributes transpose;
    transpose.rank = 5;
    for (int k = 0; k < 5; ++k) transpose.permutation[k] = k < 3 ? k : 7 - k;
    return builder.Add(OpKind::kTranspose, {x}, Attributes(transpose), x);
  };
  const auto reshaped = [&](TensorId x, const std::vector<int32_t>& to) {
    ReshapeAttributes reshape;
    reshape.rank = static_cast<int32_t>(to.size());
    std::copy(to.begin(), to.end(), reshape.dims);
    return builder.Add(OpKind::kReshape, {x}, Attributes(reshape), x);
  };
  for (const int planes : {2, 3, 4, 8}) {
    const TensorId x = builder.Input(dims, dtype);
    const TensorId split = reshaped(x, {1, size, size, planes, channels / planes});
    reshaped(turned(split), dims);
    const TensorId apart = reshaped(x, {1, size, size, channels / planes, planes});
    reshaped(turned(apart), dims);
  }
  return builder.Finish();
}

}  // namespace

void AddStackNetworks(std::vector<SweepNetwork>& networks) {
  for (const auto& dims :
       std::vector<std::vector<int32_t>>{{12, 20}, {64, 100}, {309, 172}, {8, 96, 96}}) {
    for (const int planes : {2, 5}) networks.push_back(Stack(dims, planes, 1).Make());
  }
  for (const auto& dims : std::vector<std::vector<int32_t>>{{49}, {24, 24}, {64, 64}}) {
    for (const int width : {3, 16, 63, 96}) networks.push_back(Stack(dims, 2, width).Make());
  }
  for (const DType dtype : {DType::kF32, DType::kU8}) {
    for (const int size : {7, 14, 28}) networks.push_back(Shuffled(dtype, 48 * (56 / size), size));
  }
}

}  // namespace tenon::converter
