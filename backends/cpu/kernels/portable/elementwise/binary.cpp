#include <cstring>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/stage.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

/// Elements between two activations of a contiguous row: still in the first cache.
constexpr int kActivationPiece = 1024;

/// An input's row. A repeated element (stride 0) fills its stage once per row.
class RowReader {
 public:
  RowReader(const Stager& stager, const char* row, int count) : stager_(stager), row_(row) {
    if (stager_.stride != 0) return;
    (void)stager_.Read(row_, 0, count < kStageElements ? count : kStageElements, stage_);
  }

  [[nodiscard]] const char* Read(int first, int count) {
    return stager_.stride == 0 ? stage_.bytes : stager_.Read(row_, first, count, stage_);
  }

 private:
  const Stager& stager_;
  const char* row_;
  Stage stage_;
};

struct RowPlan {
  BinaryRowFunction row;
  Activation activation;
  Stager z;
  Stager x;
  Stager y;
};

void RunContiguous(const RowPlan& plan, const Cursor<3>& cursor, int count) {
  const bool is_plain = plan.activation.function == UnaryFunction::kIdentity;
  const int most = is_plain ? count : kActivationPiece;
  for (int done = 0; done < count; done += most) {
    const int piece = count - done < most ? count - done : most;
    const ptrdiff_t offset = done * plan.x.stride;
    char* z = cursor.at[0] + done * plan.z.stride;
    plan.row(cursor.at[1] + offset, cursor.at[2] + offset, z, piece);
    if (!is_plain) ActivateRow(plan.activation, reinterpret_cast<float*>(z), piece);
  }
}

void RunStaged(const RowPlan& plan, const Cursor<3>& cursor, int count) {
  RowReader x(plan.x, cursor.at[1], count);
  RowReader y(plan.y, cursor.at[2], count);
  Stage result;
  for (int done = 0; done < count; done += kStageElements) {
    const int piece = count - done < kStageElements ? count - done : kStageElements;
    char* z = plan.z.Target(cursor.at[0], done, result);
    plan.row(x.Read(done, piece), y.Read(done, piece), z, piece);
    if (plan.activation.function != UnaryFunction::kIdentity) {
      ActivateRow(plan.activation, reinterpret_cast<float*>(z), piece);
    }
    plan.z.Write(cursor.at[0], done, piece, result);
  }
}

}  // namespace

Status BinaryRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<BinaryAttributes>();
  const TensorView& x = call.op.Input(BinaryInput::kX);
  const TensorView& y = call.op.Input(BinaryInput::kY);
  const TensorView& z = call.op.Output();
  if (z.Elements() == 0) return OkStatus();
  LoopNest<3> nest = ElementRows(z, x, y);
  nest.LengthenRows();
  const int bytes = DTypeBytes(x.dtype);
  const RowPlan plan = {ChooseBinaryRow(attributes.function, y),
                        attributes.activation,
                        {nest.RowStride(0), DTypeBytes(z.dtype)},
                        {nest.RowStride(1), bytes},
                        {nest.RowStride(2), bytes}};
  const bool is_contiguous =
      plan.z.IsContiguous() && plan.x.IsContiguous() && plan.y.IsContiguous();
  const Cursor<3> start = {{z.As<char>(), x.As<char>(), y.As<char>()}};
  ForEachRow(nest, start, call.parallel, [&](const Cursor<3>& cursor, int count) {
    is_contiguous ? RunContiguous(plan, cursor, count) : RunStaged(plan, cursor, count);
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
