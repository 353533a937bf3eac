// Attends by register tiles: the scores of a few queries stay in the first-level cache, between the
// product that makes them and the one that reads them.
//
// Keys and values are packed first to groups of columns as the tiles read them: those of one batch
// just before its queries are taken, or those of all where there are fewer batches than threads.
// Queries are taken in blocks of a size that the number of threads has no part in.
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/portable/indexing.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {
namespace {

using In = AttentionInput;

/// Multiply-accumulates that take about as long as starting a second thread.
constexpr int64_t kSmallWork = 150'000;
/// Tiles of queries that share what one reading of a group of columns brings.
constexpr int kMostTiles = 4;
constexpr int kMostScores = kMostPixels * kMostKeys;

/// Describes one matrix of an operand.
struct Matrix {
  const float* data;
  int64_t row_step;
  int64_t column_step;
};

Matrix MatrixOf(const OpCall& op, int input, int batch) {
  const TensorView& operand = op.Input(input);
  return {operand.As<const float>() + portable::BatchOffset(batch, op.Output(), operand),
          BroadcastStride(operand, 2, 0), BroadcastStride(operand, 2, 1)};
}

/// Packs rows [depth] of `columns` columns, times `scale`: group after group of a tile's width, the
/// last rounded up with zeros.
void PackColumns(const Routines& routines, const Matrix& matrix, int depth, int columns,
                 float scale, float* packed) {
  PackCall call = {};
  call.row_step = matrix.row_step;
  call.column_step = matrix.column_step;
  call.depth = depth;
  call.taps = 1;
  call.scale = scale;
  call.to = packed;
  const int most = routines.tile_width;
  for (int first = 0; first < columns; first += most) {
    call.from = matrix.data + first * matrix.column_step;
    call.count = columns - first < most ? columns - first : most;
    call.width = RoundUp(call.count, kWidthStep);
    call.to_step = call.width;
    routines.pack(call);
    call.to += int64_t{depth} * call.width;
  }
}

/// Multiplies rows [rows][depth], whose elements are neighbours, by packed columns.
struct Product {
  const Routines& routines;
  const float* x;
  int64_t x_step;
  int rows;
  int depth;
  const float* weights;
  int64_t weight_step;  ///< between rows; 0: packed, group after group
  int columns;

  [[nodiscard]] int GroupColumns(int first) const {
    const int left = columns - first;
    return left < routines.tile_width ? left : routines.tile_width;
  }

  /// Computes all groups. `pads`: y has room for the columns that are only padding.
  void Run(float* y, int64_t y_step, bool pads) const {
    for (int first = 0; first < columns; first += routines.tile_width) {
      RunGroup(first, y + first, y_step, pads);
    }
  }

  void RunGroup(int first, float* y, int64_t y_step, bool pads) const {
    static constexpr float kZeros[kMostWidth] = {};
    const int most = routines.tile_pixels;
    const float* pixels[kMostPixels];
    TileCall call = {};
    call.rows = pixels;
    call.weights = weights + (weight_step == 0 ? int64_t{first} * depth : first);
    call.bias = kZeros;
    call.taps = 1;
    call.depth = depth;
    call.width = RoundUp(GroupColumns(first), kWidthStep);
    call.channels = pads ? call.width : GroupColumns(first);
    call.weight_step = weight_step == 0 ? call.width : weight_step;
    call.y_step = y_step;
    call.low = -__builtin_inff();
    call.high = __builtin_inff();
    for (int row = 0; row < rows; row += call.pixels * call.repeats) {
      const int left = rows - row;
      call.pixels = left < most ? left : most;
      call.repeats = left / call.pixels;
      call.x_next = call.pixels * x_step;
      call.y_next = call.pixels * y_step;
      call.y = y + row * y_step;
      for (int p = 0; p < call.pixels; ++p) pixels[p] = x + (row + p) * x_step;
      routines.tile(call);
    }
  }
};

struct Attention {
  const OpCall& op;
  const Routines& routines;
  float* packed;  ///< in every slot the keys of one batch, then its values
  int batches = 0;
  int queries = 0;
  int depth = 0;
  int keys = 0;
  int columns = 0;
  int padded_keys = 0;
  int block = 0;  ///< queries that are taken at once
  int64_t key_floats = 0;
  int64_t value_floats = 0;

  [[nodiscard]] int Blocks() const { return (queries + block - 1) / block; }
  [[nodiscard]] float* Keys(int slot) const { return packed + slot * (key_floats + value_floats); }
  [[nodiscard]] float* Values(int slot) const { return Keys(slot) + key_floats; }

  /// Values that few tiles read, and whose rows end with whole vectors, are read where they are.
  [[nodiscard]] bool ReadsValuesInPlace(const Matrix& v) const {
    return Blocks() == 1 && v.column_step == 1 && columns % kWidthStep == 0;
  }

  void Pack(int batch, int slot) const {
    const auto& attributes = op.AttributesAs<AttentionAttributes>();
    Matrix k = MatrixOf(op, In::kK, batch);
    if (attributes.transpose_k == 0) k = {k.data, k.column_step, k.row_step};
    PackColumns(routines, k, depth, keys, attributes.scale, Keys(slot));
    const Matrix v = MatrixOf(op, In::kV, batch);
    if (ReadsValuesInPlace(v)) return;
    PackColumns(routines, v, keys, columns, 1.0F, Values(slot));
  }

  void Run(int batch, int first, int slot) const {
    float scores[kMostScores];
    const int rows = queries - first < block ? queries - first : block;
    Score(batch, first, rows, slot, scores);
    SoftmaxCall softmax = {};
    softmax.x = softmax.y = scores;
    softmax.x_step = softmax.y_step = padded_keys;
    softmax.rows = rows;
    softmax.count = keys;
    routines.softmax(softmax);
    Weigh(batch, first, rows, slot, scores);
  }

 private:
  void Score(int batch, int first, int rows, int slot, float* scores) const {
    const Matrix q = MatrixOf(op, In::kQ, batch);
    Product product = {
        routines, q.data + first * q.row_step, q.row_step, rows, depth, Keys(slot), 0, keys};
    if (depth == 1 || q.column_step == 1) {
      product.Run(scores, padded_keys, /*pads=*/true);
    } else {
      ScoreScattered(q.column_step, product, scores);
    }
    if (op.HasInput(In::kMask)) AddMask(batch, first, rows, scores);
  }

  /// Queries whose elements are no neighbours go through a buffer.
  void ScoreScattered(int64_t column_step, Product product, float* scores) const {
    float gathered[kMostPixels * kMostQueryElements];
    const Product all = product;
    product.x = gathered;
    product.x_step = depth;
    for (int row = 0; row < all.rows; row += product.rows) {
      product.rows = all.rows - row < kMostPixels ? all.rows - row : kMostPixels;
      for (int i = 0; i < product.rows; ++i) {
        const float* from = all.x + (row + i) * all.x_step;
        for (int k = 0; k < depth; ++k) gathered[i * depth + k] = from[k * column_step];
      }
      product.Run(scores + row * padded_keys, padded_keys, /*pads=*/true);
    }
  }

  void AddMask(int batch, int first, int rows, float* scores) const {
    const Matrix mask = MatrixOf(op, In::kMask, batch);
    for (int i = 0; i < rows; ++i) {
      const float* from = mask.data + (first + i) * mask.row_step;
      float* to = scores + i * padded_keys;
      for (int key = 0; key < keys; ++key) to[key] += from[key * mask.column_step];
    }
  }

  void Weigh(int batch, int first, int rows, int slot, const float* scores) const {
    const TensorView& y = op.Output();
    const int64_t row_step = y.strides[y.rank - 2];
    const int64_t column_step = y.strides[y.rank - 1];
    float* to = y.As<float>() + portable::BatchOffset(batch, y, y) + first * row_step;
    Product product = {routines, scores, padded_keys, rows, keys, Values(slot), 0, columns};
    const Matrix v = MatrixOf(op, In::kV, batch);
    if (ReadsValuesInPlace(v)) {
      product.weights = v.data;
      product.weight_step = v.row_step;
    }
    if (columns == 1 || column_step == 1) {
      product.Run(to, row_step, /*pads=*/false);
    } else {
      WeighScattered(product, to, row_step, column_step);
    }
  }

  /// Results that are no neighbours go through a buffer.
  void WeighScattered(Product product, float* y, int64_t row_step, int64_t column_step) const {
    float tile[kMostPixels * kMostWidth];
    const int all_rows = product.rows;
    for (int row = 0; row < all_rows; row += product.rows) {
      product.rows = all_rows - row < kMostPixels ? all_rows - row : kMostPixels;
      for (int first = 0; first < columns; first += routines.tile_width) {
        product.RunGroup(first, tile, kMostWidth, /*pads=*/true);
        for (int i = 0; i < product.rows; ++i) {
          float* to = y + (row + i) * row_step + first * column_step;
          for (int c = 0; c < product.GroupColumns(first); ++c) {
            to[c * column_step] = tile[i * kMostWidth + c];
          }
        }
      }
      product.x += product.rows * product.x_step;
    }
  }
};

/// Returns how many queries are taken at once: whole tiles, whose scores fit the buffer.
int BlockOf(const Routines& routines, int padded_keys) {
  int tiles = kMostScores / (routines.tile_pixels * padded_keys);
  if (tiles > kMostTiles) tiles = kMostTiles;
  return tiles * routines.tile_pixels;
}

Attention AttentionOf(const OpCall& op, const Routines& routines, void* workspace) {
  const TensorView& q = op.Input(In::kQ);
  const TensorView& v = op.Input(In::kV);
  Attention attention = {op, routines, static_cast<float*>(workspace)};
  attention.queries = q.dims[q.rank - 2];
  attention.depth = q.dims[q.rank - 1];
  attention.batches =
      static_cast<int>(q.Elements() / (int64_t{attention.queries} * attention.depth));
  attention.keys = v.dims[v.rank - 2];
  attention.columns = v.dims[v.rank - 1];
  attention.padded_keys = RoundUp(attention.keys, kWidthStep);
  attention.block = BlockOf(routines, attention.padded_keys);
  attention.key_floats = PackedKeyFloats(op);
  attention.value_floats = PackedValueFloats(op);
  return attention;
}

}  // namespace

Status AttentionCheck(const KernelSetup& setup) {
  TENON_RETURN_IF_ERROR(CheckResult(AttentionSupports(setup.op)));
  const size_t needed = AttentionWorkspaceBytes(setup.op, 1);
  TENON_ENSURE(setup.workspace_bytes >= needed, kUnsupported, "workspace of {0} bytes, {1} needed",
               static_cast<int64_t>(setup.workspace_bytes), static_cast<int64_t>(needed));
  return OkStatus();
}

Status AttentionRun(const KernelCall& call) {
  const Attention attention =
      AttentionOf(call.op, *static_cast<const Routines*>(call.state), call.workspace);
  const int64_t work = int64_t{attention.batches} * attention.queries * attention.keys *
                       (attention.depth + attention.columns);
  const ParallelRunner* parallel = work < kSmallWork ? nullptr : call.parallel;
  const int blocks = attention.Blocks();
  if (SharesEvenly(parallel, attention.batches)) {
    ParallelFor(parallel, attention.batches, [&](int begin, int end) {
      for (int batch = begin; batch < end; ++batch) {
        // What has just been packed is still in the nearest caches.
        attention.Pack(batch, begin);
        for (int i = 0; i < blocks; ++i) attention.Run(batch, i * attention.block, begin);
      }
    });
    return OkStatus();
  }
  ParallelFor(parallel, attention.batches, [&](int begin, int end) {
    for (int batch = begin; batch < end; ++batch) attention.Pack(batch, batch);
  });
  ParallelFor(parallel, attention.batches * blocks, [&](int begin, int end) {
    for (int item = begin; item < end; ++item) {
      const int batch = item / blocks;
      attention.Run(batch, item % blocks * attention.block, batch);
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::f32
