#include <vector>

#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Which updates each row of x takes, in their order: those of row r are `order[starts[r]]` to
/// before `order[starts[r + 1]]`.
struct Updates {
  std::vector<int32_t> starts;
  std::vector<int32_t> order;
};

int64_t RowOfUpdate(const TensorView& indices, int32_t i) {
  const auto place = static_cast<ptrdiff_t>(i) * indices.strides[0];
  if (indices.dtype == DType::kI32) return indices.As<const int32_t>()[place];
  return indices.As<const int64_t>()[place];
}

Status CheckIndices(const TensorView& indices, int32_t rows) {
  for (int32_t i = 0; i < indices.dims[0]; ++i) {
    const int64_t index = RowOfUpdate(indices, i);
    TENON_ENSURE(index >= 0 && index < rows, kInvalidArgument,
                 "scatter: index {0} is outside of {1} rows", index, rows);
  }
  return OkStatus();
}

Status SortUpdates(const TensorView& indices, const TensorView& y, Updates* updates) {
  const int32_t count = indices.dims[0];
  const int32_t rows = y.dims[0];
  // So that the tables are no larger than what the plan brings and makes.
  TENON_ENSURE(count < 2 || indices.strides[0] > 0, kCorruptPlan,
               "scatter: {0} indices lie in the place of one", static_cast<int64_t>(count));
  if (y.Elements() == 0 && rows > 0) return CheckIndices(indices, rows);
  updates->starts.assign(static_cast<size_t>(rows) + 1, 0);
  updates->order.resize(static_cast<size_t>(count));
  TENON_RETURN_IF_ERROR(CheckIndices(indices, rows));
  for (int32_t i = 0; i < count; ++i) {
    ++updates->starts[static_cast<size_t>(RowOfUpdate(indices, i)) + 1];
  }
  for (size_t row = 1; row < updates->starts.size(); ++row) {
    updates->starts[row] += updates->starts[row - 1];
  }
  std::vector<int32_t> next(updates->starts);
  for (int32_t i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(RowOfUpdate(indices, i));
    updates->order[static_cast<size_t>(next[row]++)] = i;
  }
  return OkStatus();
}

ProgramChoice Choose(const OpCall& op) {
  const ScatterFunction function = op.AttributesAs<ScatterAttributes>().function;
  const std::string word = WordOption(op.Output());  // "-DWORD=uint"
  const std::string type =
      function == ScatterFunction::kReplace ? word.substr(word.find('=') + 1) : "float";
  return {"scatter.cl",
          "-DELEMENT=" + type + " -DFUNCTION=" + std::to_string(static_cast<int>(function)),
          "scatter"};
}

}  // namespace

Status ScatterLoad(const KernelSetup& setup, void** shared) {
  const TensorView& indices = setup.op.Input(ScatterInput::kIndices);
  Updates updates;
  TENON_RETURN_IF_ERROR(SortUpdates(indices, setup.op.Output(), &updates));
  LoadedOp* loaded = nullptr;
  constexpr uint32_t kIndices = 1U << ScatterInput::kIndices;
  TENON_RETURN_IF_ERROR(LoadOp(setup, Choose(setup.op), &loaded, kIndices));
  TENON_RETURN_IF_ERROR(
      AddTable(loaded, updates.starts.data(), updates.starts.size() * sizeof(int32_t), shared));
  return AddTable(loaded, updates.order.data(), updates.order.size() * sizeof(int32_t), shared);
}

Status ScatterRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(ScatterInput::kX);
  const TensorView& from = call.op.Input(ScatterInput::kUpdates);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<3> row;  // y, x, updates
  for (int k = 1; k < y.rank; ++k) row.Add(y.dims[k], y.strides[k], x.strides[k], from.strides[k]);
  row.Simplify();
  const RowLoops<3> loops(row);
  const Int4 rows = {{y.dims[0], y.strides[0], x.strides[0], from.strides[0]}};
  const auto& tables = static_cast<const OpenedOp*>(call.state)->loaded->tables;
  Launch launch(call);
  return ForEachLaunch(row, [&](const int64_t(&offsets)[3]) {
    launch.From(0)
        .Output(0, offsets[0])
        .Input(ScatterInput::kX, offsets[1])
        .Input(ScatterInput::kUpdates, offsets[2])
        .Buffer(tables[0])
        .Buffer(tables[1])
        .Value(loops.dims);
    for (const Int4& strides : loops.strides) launch.Value(strides);
    launch.Value(rows);
    return launch.Enqueue(loops.Positions() * static_cast<size_t>(y.dims[0]), kRowGroup);
  });
}

}  // namespace tenon::opencl
