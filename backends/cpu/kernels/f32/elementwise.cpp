// Takes tiles that stay in the first-level cache through all steps: what lies in memory is read and
// written once. Where operands broadcast so that a tile would be small, blocks of more dimensions
// take its place, of which operands are copied.
#include <cstring>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/f32/element_blocks.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/elementwise/steps.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Is the number of elements that cost about as much as waking a thread.
constexpr int64_t kSmallElements = 32'768;
/// A tile of x, one of an operand, the stage between steps and one of y: as large as the cache.
constexpr int kTileFloats = kElementwiseTile;

/// Rows of one operand in a tile.
struct TileRows {
  const float* at;
  int64_t step;  ///< floats from row to row
  int64_t stride;
};

/// Rows of an operand that were copied for one tile and serve others, whose rows are the same.
struct HeldRows {
  int input = 0;  ///< whose rows they are; 0: of none
  int rows = 0;
  float values[kTileFloats + kBlockPiece];
};

/// `kOperands`: y, x, and the operands; loops over few are set up faster.
template <int kOperands>
class Elementwise {
 public:
  explicit Elementwise(const KernelCall& call)
      : op_(call.op),
        attributes_(call.op.AttributesAs<ElementwiseAttributes>()),
        routines_(*static_cast<const Routines*>(call.state)),
        nest_(portable::StepLoops<kOperands>(call.op)),
        has_blocks_(HasSmallTiles()) {
    if (has_blocks_) {
      blocks_ = ElementBlocks<kOperands>(nest_, kTileFloats);
      return;
    }
    LengthenRows();
    columns_ = tile_columns_ = nest_.RowLength();
    rows_ = tile_rows_ = nest_.rank < 2 ? 1 : nest_.dims[nest_.rank - 2];
    // One tile needs no divisions, which would take as long as its work where tensors are small.
    if (int64_t{rows_} * columns_ <= kTileFloats) return;
    tile_columns_ = columns_ < kTileFloats ? columns_ : kTileFloats;
    const int most_rows = kTileFloats / tile_columns_;
    tile_rows_ = rows_ < most_rows ? rows_ : most_rows;
    column_tiles_ = (columns_ + tile_columns_ - 1) / tile_columns_;
    row_tiles_ = (rows_ + tile_rows_ - 1) / tile_rows_;
  }

  void Run(const ParallelRunner* parallel) const {
    const int64_t elements = op_.Output().Elements();
    if (has_blocks_) {
      const bool is_small = elements < kSmallElements;
      ParallelFor(is_small ? nullptr : parallel, blocks_.Count(), [&](int begin, int end) {
        for (int block = begin; block < end; ++block) RunBlock(block);
      });
      return;
    }
    int tiles = row_tiles_ * column_tiles_;
    for (int k = 0; k + 2 < nest_.rank; ++k) tiles *= nest_.dims[k];
    ParallelFor(elements < kSmallElements ? nullptr : parallel, tiles, [&](int begin, int end) {
      HeldRows held;
      for (int tile = begin; tile < end; ++tile) RunTile(tile, held);
    });
  }

 private:
  /// Returns true if the innermost two loops are so short that starting a tile of them costs more
  /// than its work.
  [[nodiscard]] bool HasSmallTiles() const {
    constexpr int kSmallTile = 128;
    const int last = nest_.rank - 1;
    return last > 1 && int64_t{nest_.dims[last]} * nest_.dims[last - 1] < kSmallTile;
  }

  /// Rows of x and y that follow each other in memory stay as they are, however short, and others
  /// that are not shorter than half a register.
  [[gnu::noinline]] void LengthenRows() {
    constexpr int32_t kHalfRegister = 8;
    const int row = nest_.rank - 1;
    for (int i = 0; i < 2; ++i) {
      const bool is_dense =
          row > 0 && nest_.strides[i][row] == 1 &&
          (nest_.strides[i][row - 1] == nest_.dims[row] || nest_.dims[row] >= kHalfRegister);
      if (is_dense) continue;
      nest_.LengthenRows();
      break;
    }
  }

  void RunBlock(int index) const {
    const ElementBlock<kOperands> block = blocks_.At(index);
    HeldRows held;  // of blocks, which are one row, none is
    alignas(64) float stage[kTileFloats + kBlockPiece];
    alignas(64) float operand[kTileFloats + kBlockPiece];
    TileRows values = BlockOf(0, block, stage);
    if (values.stride == 0) {
      blocks_.Gather(1, block, values.at, stage);
      values = {stage, block.elements, 1};
    }
    float* const y = op_.Output().As<float>() + block.offsets[0];
    const bool is_direct = blocks_.FormOf(0) == BlockForm::kDense;
    for (int step = 0; step < attributes_.steps; ++step) {
      float* const to = is_direct && step + 1 == attributes_.steps ? y : stage;
      const int input = attributes_.InputOf(step);
      const TileRows other = input == 0 ? TileRows{} : BlockOf(input, block, operand);
      RunStep(step, other, values, {to, block.elements, 1}, to, 1, block.elements, held);
      values = {to, block.elements, 1};
    }
    if (!is_direct) blocks_.Scatter(block, stage, y);
  }

  /// Returns an input's block as one row, having copied it to `stage` if it is none, or its one
  /// element.
  TileRows BlockOf(int input, const ElementBlock<kOperands>& block, float* stage) const {
    const int operand = 1 + input;
    const float* const from = op_.Input(input).As<const float>() + block.offsets[operand];
    switch (blocks_.FormOf(operand)) {
      case BlockForm::kRepeated:
        return {from, 0, 0};
      case BlockForm::kDense:
        return {from, block.elements, 1};
      default:
        blocks_.Gather(operand, block, from, stage);
        return {stage, block.elements, 1};
    }
  }

  [[nodiscard]] int64_t Step(int operand) const {
    return nest_.rank < 2 ? 0 : nest_.strides[operand][nest_.rank - 2];
  }

  /// Where a tile of an operand begins, in floats.
  [[nodiscard]] int64_t OffsetOf(int tile, int operand) const {
    if (tile == 0) return 0;
    const int64_t column = int64_t{tile % column_tiles_} * tile_columns_;
    tile /= column_tiles_;
    const int64_t row = int64_t{tile % row_tiles_} * tile_rows_;
    tile /= row_tiles_;
    int64_t offset = column * nest_.RowStride(operand) + row * Step(operand);
    for (int k = nest_.rank - 3; k >= 0; --k) {
      offset += int64_t{tile % nest_.dims[k]} * nest_.strides[operand][k];
      tile /= nest_.dims[k];
    }
    return offset;
  }

  [[nodiscard]] TileRows RowsOf(int tile, int input) const {
    const int operand = 1 + input;
    return {op_.Input(input).As<const float>() + OffsetOf(tile, operand), Step(operand),
            nest_.RowStride(operand)};
  }

  /// Returns true for an operand whose rows are the same in every tile.
  [[nodiscard]] bool IsSameInTiles(int input) const {
    const int operand = 1 + input;
    if (column_tiles_ != 1) return false;
    if (row_tiles_ != 1 && Step(operand) != 0) return false;
    for (int k = 0; k + 2 < nest_.rank; ++k) {
      if (nest_.strides[operand][k] != 0) return false;
    }
    return true;
  }

  void RunTile(int tile, HeldRows& held) const {
    const int first_column = tile == 0 ? 0 : tile % column_tiles_ * tile_columns_;
    const int first_row = tile == 0 ? 0 : tile / column_tiles_ % row_tiles_ * tile_rows_;
    const int columns =
        columns_ - first_column < tile_columns_ ? columns_ - first_column : tile_columns_;
    const int rows = rows_ - first_row < tile_rows_ ? rows_ - first_row : tile_rows_;
    alignas(64) float stage[kTileFloats + kBlockPiece];
    TileRows values = RowsOf(tile, 0);
    const bool is_apart = rows > 1 && columns < kFewStridedColumns && values.step != columns;
    if (columns > 1 && (values.stride != 1 || is_apart)) {
      values = Gathered(values, rows, columns, stage);
    }
    float* const y = op_.Output().As<float>() + OffsetOf(tile, 0);
    const bool is_direct = columns == 1 || nest_.RowStride(0) == 1;
    for (int step = 0; step < attributes_.steps; ++step) {
      const bool is_last = is_direct && step + 1 == attributes_.steps;
      float* to = is_last ? y : stage;
      const int64_t to_step = is_last ? Step(0) : columns;
      const int input = attributes_.InputOf(step);
      const TileRows other = input == 0 ? TileRows{} : RowsOf(tile, input);
      RunStep(step, other, values, {to, to_step, 1}, to, rows, columns, held);
      values = {to, to_step, 1};
    }
    if (!is_direct) Scatter(stage, y, rows, columns);
  }

  /// Computes one step of a tile; `other` are the rows of its operand, if it has one, and `result`
  /// describes those at `to`.
  void RunStep(int step, const TileRows& other, const TileRows& values, const TileRows& result,
               float* to, int rows, int columns, HeldRows& held) const {
    const Activation activation = attributes_.ActivationOf(step);
    if (attributes_.InputOf(step) == 0 && values.step == columns && result.step == columns) {
      columns *= rows;
      rows = 1;
    }
    JoinCall call = {};
    call.z = to;
    call.z_step = result.step;
    call.rows = rows;
    call.count = columns;
    call.low = -__builtin_inff();
    call.high = __builtin_inff();
    const bool is_clamp = TakeClamp(activation, call);
    const int input = attributes_.InputOf(step);
    if (input != 0) {
      Join(step, values, other, call, held);
      if (is_clamp) return;
      if (HasVectorForm(activation.function)) {
        VectorFunction(activation, result, result, to, rows, columns);
      } else {
        ActivateRows(activation, result, result, to, rows, columns);
      }
    } else if (is_clamp) {
      call.x = values.at;
      call.x_step = values.step;
      routines_.join(call);
    } else if (HasVectorForm(activation.function)) {
      VectorFunction(activation, values, result, to, rows, columns);
    } else {
      ActivateRows(activation, values, result, to, rows, columns);
    }
  }

  /// Makes bounds of the activation, if it is a clamp or none.
  static bool TakeClamp(const Activation& activation, JoinCall& call) {
    switch (activation.function) {
      case UnaryFunction::kIdentity:
        return true;
      case UnaryFunction::kRelu:
        call.low = 0.0F;
        return true;
      case UnaryFunction::kClip:
        call.low = activation.a;
        call.high = activation.b;
        return true;
      default:
        return false;
    }
  }

  /// Returns the exponent of a step whose powers are products and roots, or 0: the row of such a
  /// function reads no operand.
  [[nodiscard]] float ExponentOf(int step) const {
    if (attributes_.functions[step] != BinaryFunction::kPow || attributes_.operands[step] < 0) {
      return 0.0F;
    }
    const TensorView& operand = op_.Input(attributes_.InputOf(step));
    if (operand.Elements() != 1) return 0.0F;
    const float exponent = *operand.As<const float>();
    return portable::FindPowerRow(exponent) != nullptr ? exponent : 0.0F;
  }

  void Join(int step, const TileRows& values, TileRows other, JoinCall& call,
            HeldRows& held) const {
    BinaryFunction function = attributes_.functions[step];
    if (const float exponent = ExponentOf(step); exponent != 0.0F) {
      other = values;
      if (exponent == 2.0F) function = BinaryFunction::kMul;
    }
    const bool is_second = attributes_.operands[step] > 0;
    const bool is_vector = function != BinaryFunction::kPow && function != BinaryFunction::kMod &&
                           function != BinaryFunction::kFmod;
    float gathered[kTileFloats + kBlockPiece];
    const bool is_dense = values.step == call.count && call.z_step == call.count;
    const bool is_short = call.rows > 1 && call.count < kShortColumns && is_dense;
    bool repeats = is_vector && other.stride == 0 && call.count > 1;
    const bool is_row = is_short && other.step == 0 && other.stride == 1;
    const bool is_strided =
        call.count > 1 && other.stride != 1 && (!repeats || (is_short && other.step != 0));
    const bool is_apart =
        is_short && !repeats && call.count < kFewStridedColumns && other.step != call.count;
    if (is_row || is_strided || is_apart) {
      other = Copied(step, other, call, gathered, held);
      repeats = false;
    }
    // One value for each row is no row, however far apart these values lie.
    if (is_dense && other.step == (repeats ? 0 : call.count)) {
      call.count *= call.rows;
      call.rows = 1;
    }
    const TileRows& x = is_second ? values : other;
    const TileRows& y = is_second ? other : values;
    if (!is_vector) return JoinByRows(step, x, y, call);
    call.function = function;
    call.x = x.at;
    call.x_step = x.step;
    call.x_repeats = repeats && !is_second;
    call.y = y.at;
    call.y_step = y.step;
    call.y_repeats = repeats && is_second;
    routines_.join(call);
  }

  /// Computes functions that have no vector form, and clamps.
  void JoinByRows(int step, const TileRows& x, const TileRows& y, const JoinCall& call) const {
    const BinaryFunction function = attributes_.functions[step];
    const portable::BinaryRowFunction row_function =
        attributes_.operands[step] > 0
            ? portable::ChooseBinaryRow(function, op_.Input(attributes_.InputOf(step)))
            : portable::FindBinaryRow(function, DType::kF32);
    for (int row = 0; row < call.rows; ++row) {
      row_function(x.at + row * x.step, y.at + row * y.step, call.z + row * call.z_step,
                   call.count);
    }
    JoinCall clamp = call;
    clamp.x = call.z;
    clamp.x_step = call.z_step;
    routines_.join(clamp);
  }

  /// The formulas of the vector unary op.
  void VectorFunction(const Activation& activation, const TileRows& values, const TileRows& result,
                      float* to, int rows, int columns) const {
    routines_.activate({activation.function, activation.a, activation.b, values.at, values.step, to,
                        result.step, rows, columns});
  }

  /// The formulas of the portable unary op.
  static void ActivateRows(const Activation& activation, const TileRows& values,
                           const TileRows& result, float* to, int rows, int columns) {
    for (int row = 0; row < rows; ++row) {
      portable::UnaryRow(activation.function, activation.a, activation.b,
                         values.at + row * values.step, to + row * result.step, columns);
    }
  }

  /// Copies the rows of a step's operand to `gathered`, or finds them held.
  TileRows Copied(int step, const TileRows& other, const JoinCall& call, float* gathered,
                  HeldRows& held) const {
    const int input = attributes_.InputOf(step);
    if (held.input == input && held.rows >= call.rows) return {held.values, call.count, 1};
    float* to = gathered;
    if (call.rows > 1 && (held.input == 0 || held.input == input) && IsSameInTiles(input)) {
      held.input = input;
      held.rows = call.rows;
      to = held.values;
    }
    const bool is_row = other.step == 0 && other.stride == 1;
    return is_row ? Repeated(other.at, call.rows, call.count, to)
                  : Gathered(other, call.rows, call.count, to);
  }

  /// Copies one row to as many rows.
  static TileRows Repeated(const float* row, int rows, int columns, float* to) {
    const int all = rows * columns;
    std::memcpy(to, row, sizeof(float) * static_cast<size_t>(columns));
    for (int done = columns; done < all;) {
      const int more = done < all - done ? done : all - done;
      std::memcpy(to + done, to, sizeof(float) * static_cast<size_t>(more));
      done += more;
    }
    return {to, columns, 1};
  }

  /// Copies rows of elements that do not follow each other; `to` has kBlockPiece floats more.
  static TileRows Gathered(const TileRows& from, int rows, int columns, float* to) {
    for (int row = 0; row < rows; ++row) {
      const float* const at = from.at + row * from.step;
      float* const row_to = to + row * columns;
      if (from.stride == 0) {
        FillRow(*at, columns, row_to);
      } else if (from.stride == 1) {
        CopyNeighbours(at, columns, row_to);
      } else {
        for (int i = 0; i < columns; ++i) row_to[i] = at[i * from.stride];
      }
    }
    return {to, columns, 1};
  }

  void Scatter(const float* from, float* y, int rows, int columns) const {
    const int64_t stride = nest_.RowStride(0);
    for (int row = 0; row < rows; ++row) {
      for (int i = 0; i < columns; ++i) y[row * Step(0) + i * stride] = from[row * columns + i];
    }
  }

  const OpCall& op_;
  const ElementwiseAttributes& attributes_;
  const Routines& routines_;
  LoopNest<kOperands> nest_;
  bool has_blocks_;
  ElementBlocks<kOperands> blocks_;
  int columns_ = 1;  ///< of the innermost two loops
  int rows_ = 1;
  int tile_columns_ = 1;
  int tile_rows_ = 1;
  int column_tiles_ = 1;
  int row_tiles_ = 1;
};

}  // namespace

Status ElementwiseRun(const KernelCall& call) {
  constexpr int kFewOperands = 4;
  if (call.op.InputCount() < kFewOperands) {
    Elementwise<kFewOperands>(call).Run(call.parallel);
  } else {
    Elementwise<portable::kStepOperands>(call).Run(call.parallel);
  }
  return OkStatus();
}

}  // namespace tenon::cpu::f32
