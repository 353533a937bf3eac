// Splitting of ops that move elements: slice, pad, reshape, transpose, expand, resize, gather.
#include "runtime/ops/op_split_rows.hpp"

namespace tenon::split {
namespace {

int64_t GreatestCommonDivisor(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t Product(const int32_t* dims, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= dims[i];
  return product;
}

/// Constant padding reads nothing outside the input; what edge and reflect copy, a part far from
/// the edge would not have.
InputSplit PadInput(const PadAttributes& attributes, int32_t axis) {
  return {axis, 1, 1, attributes.begins[axis], 1};
}

/// Up to here, nearest-neighbour coordinates come out exactly in float.
constexpr int32_t kExactExtent = 1 << 12;

/// The whole number of outputs that each input is repeated, or 0 where output o does not always
/// come from input floor(o / n), as nearest-neighbour resizing computes it in float.
///
/// Asymmetric: floor(o / n). Half pixel: the nearest to (o + 1/2) / n - 1/2 is floor(o / n), since
/// that is never within 1 / 2n of a tie.
int32_t Repetition(const ResizeAttributes& attributes, int32_t in, int32_t out, int32_t axis) {
  constexpr int32_t kMostRepetitions = 1 << 6;
  if (attributes.mode != ResizeMode::kNearest || in == 0 || out % in != 0 || out > kExactExtent)
    return 0;
  const int32_t n = out / in;
  if (n < 2 || n > kMostRepetitions) return 0;
  if (attributes.scales[axis] != static_cast<float>(n)) return 0;
  const bool rounds = attributes.nearest == NearestMode::kRoundPreferFloor ||
                      attributes.nearest == NearestMode::kRoundPreferCeil;
  switch (attributes.coordinates) {
    case CoordinateMode::kHalfPixel:
    case CoordinateMode::kPytorchHalfPixel:
      return rounds ? n : 0;
    case CoordinateMode::kAsymmetric:
      // Rounding agrees only where the single remainder 1/2 is a tie that falls to the floor.
      if (n == 2 && attributes.nearest == NearestMode::kRoundPreferFloor) return n;
      return attributes.nearest == NearestMode::kFloor ? n : 0;
    case CoordinateMode::kAlignCorners:
      break;  // depends on the extent, which a part does not have
  }
  return 0;
}

}  // namespace

bool SliceSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<SliceAttributes>();
  // Ranges run upwards only.
  if (attributes.steps[axis] < 0 && attributes.sizes[axis] > 1) return false;
  *granularity = 1;
  inputs[0] = {axis, attributes.steps[axis], 1, -attributes.begins[axis], 1};
  if (attributes.sizes[axis] <= 1) inputs[0].stride = 1;
  return true;
}

void SlicePart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<SliceAttributes*>(attributes);
  part.begins[axis] = 0;
  part.sizes[axis] = out.size();
}

bool PadSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<PadAttributes>();
  const bool adds = attributes.begins[axis] > 0 || attributes.ends[axis] > 0;
  if (adds && attributes.mode != PadMode::kConstant) return false;
  *granularity = 1;
  inputs[0] = PadInput(attributes, axis);
  return true;
}

void PadPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<PadAttributes*>(attributes);
  // A negative end may remove elements that `needed` would still count, and a begin likewise.
  const int32_t size = call.Input(0).dims[axis];
  const int32_t first = part.begins[axis] < 0 ? -part.begins[axis] : 0;
  const int32_t last = size + (part.ends[axis] < 0 ? part.ends[axis] : 0);
  const InputSplit split = PadInput(call.AttributesAs<PadAttributes>(), axis);
  const NeededRange needed = Needed(split, out);
  const IndexRange range = InputRange(split, out, size);
  if (needed.end <= first) {  // padding only: the element that a part always has goes
    part.begins[axis] = out.size();
    part.ends[axis] = -range.size();
  } else if (needed.begin >= last) {
    part.begins[axis] = -range.size();
    part.ends[axis] = out.size();
  } else {
    part.begins[axis] = static_cast<int32_t>(range.begin - needed.begin);
    part.ends[axis] = static_cast<int32_t>(needed.end - range.end);
  }
}

/// The elements of output indices [b, e) follow each other behind every index of the axes before;
/// they are a range of an input axis that stands behind as many indices.
bool ReshapeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  if (!IsAxisOf(y, axis) || y.Elements() == 0 || y.dims[axis] == 1) return false;
  const int64_t before = Product(y.dims, 0, axis);
  int32_t x_axis = 0;
  while (x_axis < x.rank && (x.dims[x_axis] == 1 || Product(x.dims, 0, x_axis) < before)) {
    ++x_axis;
  }
  if (x_axis == x.rank || Product(x.dims, 0, x_axis) != before) return false;
  const int64_t y_run = Product(y.dims, axis + 1, y.rank);
  const int64_t x_run = Product(x.dims, x_axis + 1, x.rank);
  const int64_t common = GreatestCommonDivisor(y_run, x_run);
  const auto outputs = static_cast<int32_t>(x_run / common);
  if (outputs == 0) return false;  // never, but the analyser does not know that x has elements
  *granularity = outputs;
  inputs[0] = InGroups(x_axis, static_cast<int32_t>(y_run / common), outputs);
  return true;
}

void ReshapePart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  static_cast<ReshapeAttributes*>(attributes)->dims[axis] = out.size();
}

int32_t TransposeAxis(const OpCall& call, SplitDimension dimension) {
  const auto& attributes = call.AttributesAs<TransposeAttributes>();
  if (dimension != SplitDimension::kOther) {
    const int32_t axis = ImageAxis(call, dimension);
    return axis >= 0 && attributes.permutation[axis] == axis ? axis : -1;
  }
  // The longest of those that move; parts along it are still parts.
  int32_t longest = -1;
  for (int32_t i = 0; i < attributes.rank; ++i) {
    if (attributes.permutation[i] == i) continue;
    if (longest < 0 || call.Output().dims[i] > call.Output().dims[longest]) longest = i;
  }
  return longest;
}

bool TransposeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[0] = Along(call.AttributesAs<TransposeAttributes>().permutation[axis]);
  return true;
}

void ExpandPart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  static_cast<ExpandAttributes*>(attributes)->dims[axis] = out.size();
}

bool ResizeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<ResizeAttributes>();
  const int32_t in = call.Input(0).dims[axis];
  const int32_t out = call.Output().dims[axis];
  *granularity = 1;
  inputs[0] = Along(axis);
  if (in == out && attributes.scales[axis] == 1.0F) {
    // Interpolation reads neighbours even where it gives them no weight.
    return (axis < 2 || attributes.mode == ResizeMode::kNearest) && in <= kExactExtent;
  }
  const int32_t repetition = Repetition(attributes, in, out, axis);
  if (repetition == 0) return false;
  *granularity = repetition;
  inputs[0] = InGroups(axis, 1, repetition);
  return true;
}

void ResizePart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  static_cast<ResizeAttributes*>(attributes)->sizes[axis] = out.size();
}

bool GatherSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const int32_t gathered = call.AttributesAs<GatherAttributes>().axis;
  const int32_t index_rank = call.Input(1).rank;
  inputs[0] = inputs[1] = Whole();
  if (axis < gathered) {
    inputs[0] = Along(axis);
  } else if (axis < gathered + index_rank) {
    inputs[1] = Along(axis - gathered);
  } else {
    inputs[0] = Along(axis - index_rank + 1);
  }
  return true;
}

}  // namespace tenon::split
