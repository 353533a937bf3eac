// The same elements under other dimensions: reshape, transpose, expand.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kReshapeFields = {
    IntField("rank", offsetof(ReshapeAttributes, rank)),
    IntField("dims", offsetof(ReshapeAttributes, dims), kMaxRank),
};

constexpr std::array kTransposeFields = {
    IntField("rank", offsetof(TransposeAttributes, rank)),
    IntField("permutation", offsetof(TransposeAttributes, permutation), kMaxRank),
};

constexpr std::array kExpandFields = {
    IntField("rank", offsetof(ExpandAttributes, rank)),
    IntField("dims", offsetof(ExpandAttributes, dims), kMaxRank),
};

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

// What moves to another place is cut last: its parts lie scattered on one side or the other.
constexpr SplitDimension kTransposedAxes[] = {SplitDimension::kBatch, SplitDimension::kHeight,
                                              SplitDimension::kChannel, SplitDimension::kWidth,
                                              SplitDimension::kOther};

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

}  // namespace

constexpr OpHostRow kReshapeHostRow = {
    .text = TextOf<ReshapeAttributes>(kReshapeFields),
    .traits = {.moves_elements = true, .keeps_scale = true, .new_axes = true},
    .view = ViewKind::kSameElements,
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, ReshapeSplit, ReshapePart},
};

constexpr OpHostRow kTransposeHostRow = {
    .text = TextOf<TransposeAttributes>(kTransposeFields),
    .traits = {.moves_elements = true, .keeps_scale = true},
    .view = ViewKind::kSameElements,
    .work = MoveWork,
    .split = {kTransposedAxes, TransposeAxis, TransposeSplit},
};

constexpr OpHostRow kExpandHostRow = {
    .text = TextOf<ExpandAttributes>(kExpandFields),
    .traits = {.moves_elements = true, .keeps_scale = true, .new_axes = true},
    .view = ViewKind::kOutputInsideInput,
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, BroadcastSplit, ExpandPart},
};

}  // namespace tenon
