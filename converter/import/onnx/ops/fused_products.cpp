// Matrix products of com.microsoft: with factors, transposes and activations that ONNX Runtime's
// optimiser puts into them, and with weights of a few bits.
#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// The first dimension behind the others but the last, as the flags transBatchA and transBatchB
/// ask.
Result<TensorId> BatchesFirst(Lowering& node, TensorId x, std::string_view flag) {
  const int32_t rank = node.ShapeOf(x).rank;
  if (!node.Flag(flag, false) || rank < 3) return x;
  std::vector<int32_t> order;
  for (int32_t axis = 1; axis + 1 < rank; ++axis) order.push_back(axis);
  order.push_back(0);
  order.push_back(rank - 1);
  return node.Transpose(x, order);
}

/// alpha A' B': a constant factor takes alpha, else the product does.
Result<TensorId> EmitFusedMatMul(Lowering& node, int output) {
  TENON_ASSIGN_OR_RETURN(TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId b, node.Input(1));
  TENON_ASSIGN_OR_RETURN(a, BatchesFirst(node, a, "transBatchA"));
  TENON_ASSIGN_OR_RETURN(b, BatchesFirst(node, b, "transBatchB"));
  MatMulAttributes attributes;
  // Of a vector there is nothing to transpose.
  attributes.transpose_a = node.Flag("transA", false) && node.ShapeOf(a).rank > 1 ? 1 : 0;
  attributes.transpose_b = node.Flag("transB", false) && node.ShapeOf(b).rank > 1 ? 1 : 0;
  const double alpha = node.Float("alpha", 1.0F);
  const auto is_constant = [&](TensorId id) { return node.graph().tensor(id).IsConstant(); };
  if (alpha == 1.0 || is_constant(a) || is_constant(b)) {
    TensorId& scaled = is_constant(a) ? a : b;
    TENON_ASSIGN_OR_RETURN(scaled, Scaled(node, scaled, alpha));
    return EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(attributes), output);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const TensorId factor, node.Scalar("alpha", node.DTypeOf(y), alpha));
  return node.Binary(BinaryFunction::kMul, y, factor, output);
}

Status LowerFusedMatMul(Lowering& node) { return EmitFusedMatMul(node, 0).status(); }

Status LowerFusedMatMulActivation(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const UnaryAttributes activation, ReadActivation(node));
  node.Ignore({"activation_axis"});
  TENON_ASSIGN_OR_RETURN(const TensorId y, EmitFusedMatMul(node, kIntermediate));
  return node.Unary(y, activation, 0).status();
}

Status LowerFusedGemm(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const UnaryAttributes activation, ReadActivation(node));
  TENON_ASSIGN_OR_RETURN(const TensorId y, EmitGemm(node));
  return node.Unary(y, activation, 0).status();
}

Status LowerGemmFastGelu(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId b, node.Input(1));
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(MatMulAttributes())));
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(2));
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
  }
  return node.Unary(y, {UnaryFunction::kGeluTanh, 0.0F, 0.0F}, 0).status();
}

// --- MatMulNBits ---------------------------------------------------------------------------------

/// How MatMulNBits stores its weights: rows of K numbers, in blocks that have a scale each and
/// begin at a byte, the first number in a byte's low bits.
struct Blocks {
  int64_t rows = 0;
  int64_t columns = 0;  ///< K
  int64_t size = 0;     ///< numbers of a block
  int64_t count = 0;    ///< blocks of a row
  int64_t bits = 0;
};

Result<Blocks> ReadBlocks(Lowering& node) {
  Blocks blocks;
  blocks.rows = node.Int("N", 0);
  blocks.columns = node.Int("K", 0);
  blocks.size = node.Int("block_size", 0);
  blocks.bits = node.Int("bits", 4);
  constexpr int64_t kMost = 1 << 30;
  const auto is_dim = [](int64_t value) { return value >= 1 && value <= kMost; };
  if (!is_dim(blocks.rows) || !is_dim(blocks.columns) || !is_dim(blocks.size)) {
    return InputError("its N, K and block_size are {}, {} and {}", blocks.rows, blocks.columns,
                      blocks.size);
  }
  if (blocks.bits != 2 && blocks.bits != 4 && blocks.bits != 8) {
    return InputError("weights of {} bits are not supported", blocks.bits);
  }
  if (blocks.size * blocks.bits % 8 != 0) return InputError("its blocks do not fill their bytes");
  blocks.count = (blocks.columns + blocks.size - 1) / blocks.size;
  return blocks;
}

/// Number `index` of those that are packed into bytes.
double Unpacked(const std::vector<double>& bytes, int64_t index, int64_t bits) {
  const int64_t bit = index * bits;
  const auto byte = static_cast<uint32_t>(bytes[static_cast<size_t>(bit / 8)]);
  return static_cast<double>(byte >> (bit % 8) & ((1U << bits) - 1));
}

/// One zero point for each block: packed, each row from a byte on; or floats; or the middle.
Result<std::vector<double>> ZeroPoints(Lowering& node, const Blocks& blocks) {
  constexpr int kZeroPoints = 3;
  const auto all = static_cast<size_t>(blocks.rows * blocks.count);
  if (!node.HasInput(kZeroPoints)) {
    return std::vector<double>(all, static_cast<double>(1 << (blocks.bits - 1)));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(kZeroPoints));
  TENON_ASSIGN_OR_RETURN(std::vector<double> values, node.ConstantDoubles(given));
  const int64_t row = (blocks.count * blocks.bits + 7) / 8 * 8 / blocks.bits;
  const bool packed = node.DTypeOf(given) == DType::kU8;
  const size_t wanted = packed ? static_cast<size_t>(blocks.rows * row * blocks.bits / 8) : all;
  if (values.size() != wanted) {
    return InputError("it has {} zero points, {} are wanted", values.size(), wanted);
  }
  if (!packed) return values;
  std::vector<double> unpacked;
  unpacked.reserve(all);
  for (int64_t n = 0; n < blocks.rows; ++n) {
    for (int64_t block = 0; block < blocks.count; ++block) {
      unpacked.push_back(Unpacked(values, n * row + block, blocks.bits));
    }
  }
  return unpacked;
}

/// The block of a row that the scale of each of its numbers comes from: its own, or that of g_idx.
Result<std::vector<int64_t>> ScaleBlocks(Lowering& node, const Blocks& blocks) {
  constexpr int kGroups = 4;
  std::vector<int64_t> groups(static_cast<size_t>(blocks.columns));
  if (!node.HasInput(kGroups)) {
    for (size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<int64_t>(k) / blocks.size;
    return groups;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(kGroups));
  TENON_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.ConstantInts(given));
  if (values.size() < groups.size()) {
    return InputError("its g_idx holds {} numbers, {} are wanted", values.size(), groups.size());
  }
  values.resize(groups.size());  // it may go on to the end of the last block
  for (const int64_t value : values) {
    if (value >= 0 && value < blocks.count) continue;
    return InputError("its g_idx holds {}, but a row has {} blocks", value, blocks.count);
  }
  return values;
}

/// The weights [N, K] as floats.
Result<TensorId> BlockWeights(Lowering& node, const Blocks& blocks, DType dtype) {
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(blocks.rows * blocks.count * blocks.size));
  TENON_ASSIGN_OR_RETURN(const TensorId packed, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(2));
  if (node.DTypeOf(packed) != DType::kU8) return InputError("its weights must be u8");
  TENON_ASSIGN_OR_RETURN(const std::vector<double> bytes, node.ConstantDoubles(packed));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> scales, node.ConstantDoubles(given));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> zeros, ZeroPoints(node, blocks));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> groups, ScaleBlocks(node, blocks));
  const int64_t all = blocks.rows * blocks.count;
  if (static_cast<int64_t>(bytes.size()) != all * blocks.size * blocks.bits / 8 ||
      static_cast<int64_t>(scales.size()) != all) {
    return InputError("its {} bytes of weights and {} scales are not those of N = {} and K = {}",
                      bytes.size(), scales.size(), blocks.rows, blocks.columns);
  }
  std::vector<double> weights(static_cast<size_t>(blocks.rows * blocks.columns));
  for (int64_t n = 0; n < blocks.rows; ++n) {
    for (int64_t k = 0; k < blocks.columns; ++k) {
      // The last block of a row is whole, whatever K is.
      const double number = Unpacked(bytes, n * blocks.count * blocks.size + k, blocks.bits);
      const auto block = static_cast<size_t>(n * blocks.count + groups[static_cast<size_t>(k)]);
      weights[static_cast<size_t>(n * blocks.columns + k)] =
          (number - zeros[block]) * scales[block];
    }
  }
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({blocks.rows, blocks.columns}));
  return node.Constant("weights", dtype, shape, weights);
}

// The weights are floats from here on: what is saved is the file's size, not the plan's.
Status LowerMatMulNBits(Lowering& node) {
  constexpr int kBias = 5;
  node.Ignore({"accuracy_level"});
  if (node.Int("weight_prepacked", 0) != 0) return InputError("weight_prepacked is not supported");
  TENON_ASSIGN_OR_RETURN(const TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node));
  TENON_ASSIGN_OR_RETURN(const TensorId b, BlockWeights(node, blocks, node.DTypeOf(a)));
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  const bool biased = node.HasInput(kBias);
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(attributes),
                                    biased ? kIntermediate : 0));
  if (!biased) return {};
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
  return node.Binary(BinaryFunction::kAdd, y, bias, 0).status();
}

constexpr LoweringRow kFusedProductsRows[] = {
    {"FusedGemm", LowerFusedGemm, "com.microsoft", kProductLimits},
    {"FusedMatMul", LowerFusedMatMul, "com.microsoft", kProductLimits},
    {"FusedMatMulActivation", LowerFusedMatMulActivation, "com.microsoft", kProductLimits},
    {"GemmFastGelu", LowerGemmFastGelu, "com.microsoft", kProductLimits},
    {"MatMulNBits", LowerMatMulNBits, "com.microsoft",
     "weights of 2, 4 or 8 bits, constant, floats in the plan"},
    {"TransposeMatMul", LowerFusedMatMul, "com.microsoft", kProductLimits},
};

}  // namespace

constexpr Span<const LoweringRow> kFusedProductLowerings = kFusedProductsRows;

}  // namespace tenon::converter
