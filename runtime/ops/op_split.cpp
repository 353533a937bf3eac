#include "runtime/ops/op_split.hpp"

#include "runtime/ops/op_split_rows.hpp"

namespace tenon {
namespace {

using namespace split;  // NOLINT: the rows' own functions

constexpr SplitDimension kBatch = SplitDimension::kBatch;
constexpr SplitDimension kChannel = SplitDimension::kChannel;
constexpr SplitDimension kHeight = SplitDimension::kHeight;
constexpr SplitDimension kWidth = SplitDimension::kWidth;
constexpr SplitDimension kOther = SplitDimension::kOther;

// Batch parts need nothing of each other and lie in one piece; channel parts need no halo; rows
// lie in longer runs than columns.
constexpr SplitDimension kImage[] = {kBatch, kChannel, kHeight, kWidth};
// The same, then whatever further dimension a tensor of higher rank has.
constexpr SplitDimension kAny[] = {kBatch, kChannel, kHeight, kWidth, kOther};
// Rows of the left matrix come after its columns: weights are what does not fit, as a rule.
constexpr SplitDimension kProduct[] = {kBatch, kChannel, kOther, kHeight};
// What moves to another place is cut last: its parts lie scattered on one side or the other.
constexpr SplitDimension kTransposed[] = {kBatch, kHeight, kChannel, kWidth, kOther};

/// By OpKind; a test checks that each row stands at its kind's place.
constexpr OpSplitRow kRows[kOpKindCount] = {
    {OpKind::kConv, kImage, ImageAxis, ConvSplit, ConvPart},
    {OpKind::kMatMul, kProduct, MatMulAxis, MatMulSplit, nullptr},
    {OpKind::kMaxPool, kImage, ImageAxis, PoolSplit, PoolPart},
    {OpKind::kAveragePool, kImage, ImageAxis, PoolSplit, PoolPart},
    {OpKind::kUnary, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kBinary, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kSelect, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kReduce, kAny, ImageAxis, ReduceSplit, nullptr},
    {OpKind::kSoftmax, kAny, ImageAxis, SoftmaxSplit, nullptr},
    {OpKind::kLrn, kAny, ImageAxis, LrnSplit, nullptr},
    {OpKind::kConcat, kAny, ImageAxis, ConcatSplit, nullptr},
    {OpKind::kSlice, kAny, ImageAxis, SliceSplit, SlicePart},
    {OpKind::kPad, kAny, ImageAxis, PadSplit, PadPart},
    {OpKind::kReshape, kAny, ImageAxis, ReshapeSplit, ReshapePart},
    {OpKind::kTranspose, kTransposed, TransposeAxis, TransposeSplit, nullptr},
    {OpKind::kExpand, kAny, ImageAxis, BroadcastSplit, ExpandPart},
    {OpKind::kResize, kAny, ImageAxis, ResizeSplit, ResizePart},
    {OpKind::kGather, kAny, ImageAxis, GatherSplit, nullptr},
    {OpKind::kCast, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kCopy, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kQuantize, kAny, ImageAxis, QuantizeSplit, nullptr},
    {OpKind::kDequantize, kAny, ImageAxis, QuantizeSplit, nullptr},
    {OpKind::kLookup, kAny, ImageAxis, LookupSplit, nullptr},
    {OpKind::kQuantizedConv, kImage, ImageAxis, QuantizedConvSplit, ConvPart},
    {OpKind::kQuantizedMatMul, kProduct, MatMulAxis, QuantizedMatMulSplit, nullptr},
    {OpKind::kQuantizedBinary, kAny, ImageAxis, BroadcastSplit, nullptr},
    {OpKind::kQuantizedAveragePool, kImage, ImageAxis, QuantizedPoolSplit, PoolPart},
    {OpKind::kQuantizedReduce, kAny, ImageAxis, ReduceSplit, nullptr},
    {OpKind::kQuantizedSoftmax, kAny, ImageAxis, SoftmaxSplit, nullptr},
};

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

namespace split {

NeededRange Needed(const InputSplit& split, const IndexRange& out) {
  const int64_t first = FloorDivide(int64_t{out.begin} * split.stride, split.divisor);
  const int64_t last = FloorDivide((int64_t{out.end} - 1) * split.stride, split.divisor);
  return {first - split.before, last - split.before + split.extent};
}

}  // namespace split

IndexRange InputRange(const InputSplit& split, const IndexRange& out, int32_t input_size) {
  if (split.axis < 0) return {0, input_size};
  if (input_size == 0) return {0, 0};
  const split::NeededRange needed = split::Needed(split, out);
  const auto clip = [](int64_t value, int64_t low, int64_t high) {
    return static_cast<int32_t>(value < low ? low : (value > high ? high : value));
  };
  const int32_t begin = clip(needed.begin, 0, input_size - 1);
  return {begin, clip(needed.end, begin + 1, input_size)};
}

const OpSplitRow& GetOpSplitRow(OpKind kind) { return kRows[static_cast<size_t>(kind)]; }

const char* Name(SplitDimension dimension) {
  switch (dimension) {
    case SplitDimension::kBatch:
      return "batch";
    case SplitDimension::kChannel:
      return "channel";
    case SplitDimension::kHeight:
      return "height";
    case SplitDimension::kWidth:
      return "width";
    case SplitDimension::kOther:
      return "other";
  }
  return "";
}

}  // namespace tenon
