// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: what frameworks make of dilated convolutions.
#include <algorithm>
#include <numeric>

#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/shapes.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Ints = std::vector<int64_t>;

/// Block sizes of the dimensions behind the first, and two amounts for each.
struct Blocks {
  Ints sizes;
  Ints amounts;

  [[nodiscard]] size_t count() const { return sizes.size(); }
  [[nodiscard]] int64_t Product() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
};

Result<Blocks> ReadBlocks(Node& node, const Shape& x) {
  Blocks blocks;
  TENON_ASSIGN_OR_RETURN(blocks.sizes, node.Ints(1));
  TENON_ASSIGN_OR_RETURN(blocks.amounts, node.Ints(2));
  const size_t count = blocks.count();
  if (count < 1 || static_cast<int64_t>(count) >= x.rank || count > 2 ||
      blocks.amounts.size() != 2 * count) {
    return InputError("{} block sizes and {} amounts do not fit {} dimensions", count,
                      blocks.amounts.size(), x.rank);
  }
  constexpr int64_t kMost = 1 << 20;
  for (const int64_t size : blocks.sizes) {
    if (size < 1 || size > kMost) return InputError("block size {} is out of range", size);
  }
  for (const int64_t amount : blocks.amounts) {
    if (amount < 0 || amount > kMost) return InputError("amount {} is out of range", amount);
  }
  return blocks;
}

/// x with zeros around it; the zero point of integers.
Result<TensorId> Padded(Node& node, TensorId x, const Blocks& blocks) {
  if (std::all_of(blocks.amounts.begin(), blocks.amounts.end(), [](int64_t a) { return a == 0; })) {
    return x;
  }
  PadAttributes pad;
  pad.rank = node.ShapeOf(x).rank;
  for (size_t i = 0; i < blocks.count(); ++i) {
    pad.begins[i + 1] = static_cast<int32_t>(blocks.amounts[2 * i]);
    pad.ends[i + 1] = static_cast<int32_t>(blocks.amounts[2 * i + 1]);
  }
  TENON_ASSIGN_OR_RETURN(const Quantization quantization, node.OutputQuantization(0));
  if (!IsFloat(node.DTypeOf(x)) && quantization.IsPerTensor()) {
    pad.value = static_cast<float>(quantization.zero_point());
  }
  return node.Emit(OpKind::kPad, {x}, Attributes(pad));
}

/// y without what is cropped.
Result<TensorId> Cropped(Node& node, TensorId y, const Blocks& blocks) {
  const Shape shape = node.ShapeOf(y);
  SliceAttributes kept = WholeSlice(shape);
  for (size_t i = 0; i < blocks.count(); ++i) {
    const int64_t left = kept.sizes[i + 1] - blocks.amounts[2 * i] - blocks.amounts[2 * i + 1];
    if (left < 1) return InputError("nothing is left of dimension {}", i + 1);
    kept.begins[i + 1] = static_cast<int32_t>(blocks.amounts[2 * i]);
    kept.sizes[i + 1] = static_cast<int32_t>(left);
  }
  return node.Slice(y, kept);
}

}  // namespace

// [N, H, W, C] -> [bh bw N, H / bh, W / bw, C]: the place in the block becomes the first index.
Status LowerSpaceToBatch(Node& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node, node.ShapeOf(x)));
  TENON_ASSIGN_OR_RETURN(x, Padded(node, x, blocks));
  const Shape shape = node.ShapeOf(x);
  Ints split = {shape[0]};
  Ints joined = {shape[0] * blocks.Product()};
  std::vector<int32_t> places;
  std::vector<int32_t> order = {0};
  for (size_t i = 0; i < blocks.count(); ++i) {
    const int64_t dim = shape[static_cast<int32_t>(i) + 1];
    if (dim % blocks.sizes[i] != 0) {
      return InputError("blocks of {} do not divide dimension {} of {}", blocks.sizes[i], i + 1,
                        dim);
    }
    split.insert(split.end(), {dim / blocks.sizes[i], blocks.sizes[i]});
    joined.push_back(dim / blocks.sizes[i]);
    order.push_back(static_cast<int32_t>(2 * i + 1));
    places.push_back(static_cast<int32_t>(2 * i + 2));
  }
  order.insert(order.begin(), places.begin(), places.end());
  for (auto i = static_cast<int32_t>(blocks.count()) + 1; i < shape.rank; ++i) {
    order.push_back(static_cast<int32_t>(split.size()));
    split.push_back(shape[i]);
    joined.push_back(shape[i]);
  }
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, split));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, order));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, joined));
  return node.SetOutput(0, x);
}

// [bh bw N, H, W, C] -> [N, H bh, W bw, C], of which the edges are cropped.
Status LowerBatchToSpace(Node& node) {
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node, shape));
  if (shape[0] % blocks.Product() != 0) {
    return InputError("blocks of {} do not divide a batch of {}", blocks.Product(), shape[0]);
  }
  const auto count = static_cast<int32_t>(blocks.count());
  const int64_t batch = shape[0] / blocks.Product();
  Ints split = blocks.sizes;
  split.push_back(batch);
  Ints joined = {batch};
  std::vector<int32_t> order = {count};
  for (int32_t i = 0; i < shape.rank - 1; ++i) {
    order.push_back(count + 1 + i);
    if (i < count) order.push_back(i);
    split.push_back(shape[i + 1]);
    joined.push_back(shape[i + 1] * (i < count ? blocks.sizes[static_cast<size_t>(i)] : 1));
  }
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, split));
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, order));
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, joined));
  TENON_ASSIGN_OR_RETURN(x, Cropped(node, x, blocks));
  return node.SetOutput(0, x);
}

}  // namespace tenon::converter::tflite
