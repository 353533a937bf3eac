#include "converter/split/least_patched.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "converter/solve/minimum_cut.hpp"
#include "converter/split/part_of_op.hpp"

namespace tenon::converter {
namespace {

/// Bytes of one row of an image, or of all of another tensor.
int64_t RowBytes(const Tensor& tensor) {
  const bool has_rows = tensor.shape.rank == 4 && tensor.shape[kRowAxis] > 0;
  return has_rows ? tensor.ByteSize() / tensor.shape[kRowAxis] : tensor.ByteSize();
}

int32_t RowsOf(const Tensor& tensor) { return tensor.shape.rank == 4 ? tensor.shape[kRowAxis] : 1; }

/// The rows of an input that a row of the output needs: all of them where the op is not cut so.
IndexRange RowsNeeded(const std::optional<OpCut>& cut, size_t input, int32_t row, int32_t rows) {
  if (!cut || cut->inputs[input].axis != kRowAxis) return {0, rows};
  // A part has `granularity` rows at least, but a row of it may be all that is kept.
  return InputRange(cut->inputs[input], {row, row + 1}, rows);
}

/// A row of a tensor.
struct Row {
  int64_t bytes = 0;
  int32_t known_after = 0;  ///< rows of the input that must have come before it can be computed
  bool depends = false;     ///< on rows of the input, on the first one of which:
  int32_t first = 0;
  bool is_output = false;
  std::vector<size_t> needs;  ///< rows that it is computed of
};

/// The rows of all tensors that depend on an input that comes by rows.
class RowGraph {
 public:
  RowGraph(const Graph& graph, const OutsideInput& input) : graph_(graph) {
    const TensorId image = graph.op(input.copy).outputs[0];
    AddRows(image);
    input_rows_ = RowsOf(graph.tensor(image));
    for (int32_t i = 0; i < input_rows_; ++i) {
      rows_[static_cast<size_t>(i)].known_after = i + 1;
      rows_[static_cast<size_t>(i)].depends = true;
      rows_[static_cast<size_t>(i)].first = i;
    }
    for (const OpId id : graph.OpOrder()) {
      if (id != input.copy) AddOp(graph.op(id));
    }
    for (const Graph::Port& port : graph.outputs()) {
      const auto found = first_row_.find(port.tensor);
      if (found == first_row_.end()) continue;
      const auto count = static_cast<size_t>(RowsOf(graph.tensor(port.tensor)));
      for (size_t i = 0; i < count; ++i) rows_[found->second + i].is_output = true;
    }
  }

  [[nodiscard]] int32_t input_rows() const { return input_rows_; }
  [[nodiscard]] int64_t input_row_bytes() const { return rows_.front().bytes; }

  /// The least bytes that are kept between the first `come` rows and the others.
  [[nodiscard]] int64_t LeastKept(int32_t come) const {
    // Of each row two nodes, with its bytes between them; and a source and a sink.
    const size_t source = 2 * rows_.size();
    const size_t sink = source + 1;
    MinimumCut cut(sink + 1);
    const auto is_known = [&](const Row& row) { return row.known_after <= come; };
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (!row.depends || row.first >= come) continue;
      if (is_known(row)) {
        cut.AddEdge(2 * i, 2 * i + 1, row.bytes);
        if (i < static_cast<size_t>(input_rows_)) cut.AddEdge(source, 2 * i, kEndless);
        if (row.is_output) cut.AddEdge(2 * i + 1, sink, kEndless);
      }
      for (const size_t need : row.needs) {
        const Row& needed = rows_[need];
        if (!needed.depends || needed.first >= come || !is_known(needed)) continue;
        cut.AddEdge(2 * need + 1, is_known(row) ? 2 * i : sink, kEndless);
      }
    }
    return cut.Capacity(source, sink);
  }

 private:
  static constexpr int64_t kEndless = MinimumCut::kEndless;

  void AddRows(TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    first_row_[id] = rows_.size();
    rows_.resize(rows_.size() + static_cast<size_t>(RowsOf(tensor)));
    for (size_t i = first_row_[id]; i < rows_.size(); ++i) rows_[i].bytes = RowBytes(tensor);
  }

  void AddOp(const Op& op) {
    const bool reads = std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId id) {
      return first_row_.find(id) != first_row_.end();
    });
    if (!reads) return;
    const bool sums = op.kind == OpKind::kAveragePool || op.kind == OpKind::kQuantizedAveragePool ||
                      op.kind == OpKind::kReduce || op.kind == OpKind::kQuantizedReduce;
    for (const TensorId output : op.outputs) {
      AddRows(output);
      const bool is_image = graph_.tensor(output).shape.rank == 4;
      const auto cut = is_image ? FindCut(graph_, op, kRowAxis) : std::nullopt;
      const int32_t count = RowsOf(graph_.tensor(output));
      for (int32_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < op.inputs.size(); ++k) AddNeeds(op.inputs[k], cut, k, i, output);
        Finish(rows_[first_row_[output] + static_cast<size_t>(i)], sums);
      }
    }
  }

  void AddNeeds(TensorId input, const std::optional<OpCut>& cut, size_t k, int32_t i,
                TensorId output) {
    const auto found = first_row_.find(input);
    if (found == first_row_.end() || input == output) return;
    const int32_t rows = RowsOf(graph_.tensor(input));
    const bool is_image = graph_.tensor(input).shape.rank == 4;
    const IndexRange needed = is_image ? RowsNeeded(cut, k, i, rows) : IndexRange{0, rows};
    Row& row = rows_[first_row_[output] + static_cast<size_t>(i)];
    for (int32_t r = needed.begin; r < needed.end; ++r) {
      row.needs.push_back(found->second + static_cast<size_t>(r));
    }
  }

  /// Of a sum, a part may be kept from its first summand on.
  void Finish(Row& row, bool is_sum) const {
    bool is_first = true;
    for (const size_t need : row.needs) {
      const Row& needed = rows_[need];
      if (!needed.depends) continue;
      row.first = is_first ? needed.first : std::min(row.first, needed.first);
      if (is_first) {
        row.known_after = needed.known_after;
      } else {
        row.known_after = is_sum ? std::min(row.known_after, needed.known_after)
                                 : std::max(row.known_after, needed.known_after);
      }
      is_first = false;
    }
    row.depends = !is_first;
  }

  const Graph& graph_;
  std::vector<Row> rows_;  ///< those of the input first; an op's after those it needs
  std::unordered_map<TensorId, size_t> first_row_;
  int32_t input_rows_ = 0;
};

void Raise(LeastPatched& least, int64_t bytes, const std::string& reason) {
  if (bytes > least.bytes) least = {bytes, reason};
}

int64_t BytesOf(const Graph& graph, const std::vector<Graph::Port>& ports,
                const OutsideInputs& outside) {
  std::vector<TensorId> tensors;  // several ports may be one tensor
  for (const Graph::Port& port : ports) {
    const bool is_free = IsOutside(outside, port.tensor) || graph.tensor(port.tensor).IsConstant();
    if (!is_free) tensors.push_back(port.tensor);
  }
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  int64_t bytes = 0;
  for (const TensorId id : tensors) bytes += graph.tensor(id).ByteSize();
  return bytes;
}

/// The tensor whose bytes these may be: what views behind it were made of.
TensorId SourceOf(const Graph& graph, TensorId id) {
  for (OpId producer = graph.tensor(id).producer; producer != kNone;
       producer = graph.tensor(id).producer) {
    const ViewKind view = GetOpHostRow(graph.op(producer).kind).view;
    if (view != ViewKind::kSameElements && view != ViewKind::kOutputInsideInput) return id;
    id = graph.op(producer).inputs[0];
  }
  return id;
}

/// The most indices along an axis of the input that one of a convolution's own needs; all of them
/// where it is not cut so.
int32_t MostNeeded(const Graph& graph, const Op& op, int32_t axis) {
  const int32_t extent = graph.tensor(op.inputs[0]).shape[axis];
  const auto cut = FindCut(graph, op, axis);
  if (!cut || cut->inputs[0].axis != axis) return extent;
  int32_t most = 0;
  for (int32_t i = 0; i < cut->extent; ++i) {
    most = std::max(most, InputRange(cut->inputs[0], {i, i + 1}, extent).size());
  }
  return most;
}

/// Rows of the input that a row of a convolution needs, or of tiles its window.
void RaiseByConvolution(const Graph& graph, const Op& op, const OutsideInputs& outside,
                        CutInto into, LeastPatched& least) {
  if (!TraitsOf(op.kind).convolution || graph.tensor(op.outputs[0]).shape.rank != 4) return;
  const Tensor& x = graph.tensor(op.inputs[0]);
  const TensorId source = SourceOf(graph, op.inputs[0]);
  if (graph.tensor(source).IsConstant() || IsOutside(outside, source) || x.shape[0] != 1) return;
  const auto cut = FindCut(graph, op, kRowAxis);
  if (!cut || cut->extent == 0) return;
  const int64_t rows = MostNeeded(graph, op, kRowAxis) * RowBytes(x);
  if (into == CutInto::kPatches) {
    Raise(least, rows, fmt::format("rows that '{}' reads for one of its own", op.name));
    return;
  }
  constexpr int32_t kColumnAxis = 3;
  Raise(least, rows / x.shape[kColumnAxis] * MostNeeded(graph, op, kColumnAxis),
        fmt::format("what '{}' reads for one pixel", op.name));
}

/// Where rows come in are too many to look at, some moments are: each proves something.
void RaiseByRows(const Graph& graph, const OutsideInput& input, LeastPatched& least) {
  constexpr int32_t kMoments = 48;
  const RowGraph rows(graph, input);
  const int32_t turns = (rows.input_rows() + input.rows - 1) / input.rows;
  const int32_t step = std::max(1, turns / kMoments) * input.rows;
  for (int32_t come = 0; come <= rows.input_rows(); come += step) {
    const int32_t next = std::min(input.rows, rows.input_rows() - come);
    const int64_t kept = come == 0 ? 0 : rows.LeastKept(come);
    Raise(least, kept + next * rows.input_row_bytes(),
          fmt::format("what is kept of {} rows of the input, and the next {}", come, next));
  }
}

}  // namespace

LeastPatched FindLeastPatched(const Graph& graph, const OutsideInputs& outside, CutInto into) {
  LeastPatched least;
  Raise(least, BytesOf(graph, graph.inputs(), outside), "the inputs");
  Raise(least, BytesOf(graph, graph.outputs(), {}), "the outputs");
  for (const OpId id : graph.OpOrder()) {
    RaiseByConvolution(graph, graph.op(id), outside, into, least);
  }
  for (const OutsideInput& input : outside) {
    if (input.rows > 0) RaiseByRows(graph, input, least);
  }
  return least;
}

}  // namespace tenon::converter
