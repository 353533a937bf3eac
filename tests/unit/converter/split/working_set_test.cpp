#include "converter/split/working_set.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "converter/split/working_set_grid.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"

namespace tenon::converter {
namespace {

TensorId Input(Graph& graph, const Shape& shape) {
  const TensorId id = graph.AddTensor("x", DType::kF32, shape);
  graph.AddInput(id, graph.tensor(id).name);
  return id;
}

TensorId Constant(Graph& graph, const Shape& shape, uint64_t seed) {
  return graph.AddConstant("w", DType::kF32, shape,
                           RandomElements(DType::kF32, shape.Elements(), seed));
}

Graph Conv(const Shape& x, int32_t outputs, int32_t kernel) {
  Graph graph;
  const TensorId input = Input(graph, x);
  ConvAttributes attributes;
  std::fill_n(attributes.pads, 4, kernel / 2);
  const auto y =
      graph.AddOpTensor(OpKind::kConv, "conv",
                        {input, Constant(graph, Shape({outputs, x[1], kernel, kernel}), 1),
                         Constant(graph, Shape({outputs}), 2)},
                        Attributes(attributes));
  graph.AddOutput(*y, "y");
  return graph;
}

Graph Gemm(int32_t rows, int32_t depth, int32_t columns) {
  Graph graph;
  const TensorId input = Input(graph, Shape({rows, depth}));
  const auto y = graph.AddOpTensor(
      OpKind::kMatMul, "gemm",
      {input, Constant(graph, Shape({depth, columns}), 1), Constant(graph, Shape({columns}), 2)},
      Attributes(MatMulAttributes{}));
  graph.AddOutput(*y, "y");
  return graph;
}

/// "channel 4, height 2" of everything that was split, or the error.
std::string Split(Graph& graph, const WorkingSetLimit& limit) {
  SplitReport report;
  const Status status = SplitToWorkingSet(graph, limit, report);
  if (!status.ok()) return status.error().message;
  std::string text;
  for (const SplitRecord& record : report.splits) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", record.dimension, record.parts);
  }
  return text;
}

/// The largest working set, computed anew: every tensor that an op touches, once.
int64_t LargestSet(const Graph& graph, bool counts_constants) {
  int64_t largest = 0;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    const std::set<OpKind> views = {OpKind::kConcat, OpKind::kSlice, OpKind::kReshape,
                                    OpKind::kExpand, OpKind::kCopy};
    if (views.count(op.kind) != 0) continue;
    std::set<TensorId> touched(op.inputs.begin(), op.inputs.end());
    touched.erase(kNone);
    touched.insert(op.outputs.begin(), op.outputs.end());
    int64_t bytes = 0;
    for (const TensorId tensor : touched) {
      if (!counts_constants && graph.tensor(tensor).IsConstant()) continue;
      bytes += graph.tensor(tensor).ByteSize();
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

std::vector<double> NumbersOf(const Graph& graph) {
  const test::Evaluation evaluation = test::EvaluateGraph(graph, test::RandomInputs(graph, 3));
  REQUIRE(evaluation.error == "");
  Tensor output = graph.tensor(graph.outputs()[0].tensor);
  output.constant =
      std::make_shared<std::vector<std::byte>>(evaluation.values.at(graph.outputs()[0].tensor));
  return ReadElements(output);
}

void CheckNear(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  CHECK(largest < 1e-4);
}

TEST_CASE("Working set: activations always count, constants where they are staged") {
  const Graph graph = Conv(Shape({1, 4, 8, 8}), 6, 3);
  const Op& op = graph.op(graph.OpOrder()[0]);
  const WorkingSet in_place = WorkingSetOf(graph, op, false);
  CHECK(in_place.inputs == 4 * 64 * 4);
  CHECK(in_place.weights == 0);
  CHECK(in_place.outputs == 6 * 64 * 4);
  CHECK(WorkingSetOf(graph, op, true).weights == (6 * 4 * 9 + 6) * 4);
  CHECK(WorkingSetOf(graph, op, true).total() == 1024 + 888 + 1536);
}

TEST_CASE("Working set: what fits is left alone") {
  Graph graph = Conv(Shape({1, 4, 8, 8}), 6, 3);
  CHECK(Split(graph, UniformLimit(1024 + 888 + 1536, true)) == "");
  CHECK(graph.OpOrder().size() == 1);
}

TEST_CASE("Working set: batch comes first") {
  Graph graph = Conv(Shape({8, 4, 8, 8}), 6, 3);
  CHECK(Split(graph, UniformLimit(3 * (1024 + 1536), false)) == "batch 3");
  CHECK(LargestSet(graph, false) == 3 * (1024 + 1536));  // images 3, 3 and 2
}

TEST_CASE("Working set: a convolution whose weights alone exceed the limit: output channels") {
  const std::vector<double> whole = NumbersOf(Conv(Shape({1, 16, 4, 4}), 64, 3));
  Graph graph = Conv(Shape({1, 16, 4, 4}), 64, 3);  // weights of 36,864 bytes, x of 1,024
  CHECK(Split(graph, UniformLimit(10'000, true)) == "channel 5");
  CHECK(LargestSet(graph, true) <= 10'000);
  CHECK(NumbersOf(graph) == whole);
}

TEST_CASE("Working set: a product whose weights alone exceed the limit: output channels") {
  const std::vector<double> whole = NumbersOf(Gemm(1, 64, 100));
  Graph graph = Gemm(1, 64, 100);  // weights of 25,600 bytes
  CHECK(Split(graph, UniformLimit(6'000, true)) == "channel 5");
  CHECK(LargestSet(graph, true) <= 6'000);
  CHECK(NumbersOf(graph) == whole);
}

TEST_CASE("Working set: input channels, adding up, where the input is what does not fit") {
  const std::vector<double> whole = NumbersOf(Gemm(1, 4000, 8));
  Graph graph = Gemm(1, 4000, 8);  // x of 16,000 bytes, weights of 128,000
  CHECK(Split(graph, UniformLimit(9'000, true)) == "input_channel 17");
  CHECK(LargestSet(graph, true) <= 9'000);
  CHECK(Verify(graph).ok());
  CheckNear(NumbersOf(graph), whole);

  const std::vector<double> whole_conv = NumbersOf(Conv(Shape({1, 256, 3, 3}), 4, 1));
  Graph conv = Conv(Shape({1, 256, 3, 3}), 4, 1);
  CHECK(Split(conv, UniformLimit(4'000, true)) == "input_channel 4");
  CHECK(LargestSet(conv, true) <= 4'000);
  CheckNear(NumbersOf(conv), whole_conv);
}

TEST_CASE("Working set: products of several rows are added within the limit, too") {
  Graph graph = Gemm(6, 4000, 32);
  WorkingSetLimit limit = UniformLimit(9'000, true);
  CHECK(Split(graph, limit).find("input_channel") != std::string::npos);
  CHECK(LargestSet(graph, true) <= 9'000);
}

TEST_CASE("Working set: input channels stay whole where sums must not be cut") {
  Graph graph = Gemm(1, 4000, 8);
  WorkingSetLimit limit = UniformLimit(9'000, true);
  limit.accumulate = false;
  CHECK(Split(graph, limit) ==
        "op \"gemm\" needs 144064 bytes (inputs 16000, weights 128032, outputs 32) to run; the "
        "limit is 9000 bytes, and split as finely as the board allows it needs 32008");
}

TEST_CASE("Working set: rows where channels cannot do it, with their halo") {
  const std::vector<double> whole = NumbersOf(Conv(Shape({1, 8, 30, 20}), 8, 3));
  Graph graph = Conv(Shape({1, 8, 30, 20}), 8, 3);  // 19,200 bytes on either side
  CHECK(Split(graph, UniformLimit(14'000, false)) == "height 4");
  // 8 rows of the output, 10 of the input; 10 rows would make 3 parts, of 10 + 12.
  CHECK(LargestSet(graph, false) == (8 + 10) * 640);
  CHECK(NumbersOf(graph) == whole);
}

TEST_CASE("Working set: dimensions together where none alone is enough, the cheapest way") {
  const std::vector<double> whole = NumbersOf(Conv(Shape({1, 8, 30, 20}), 64, 3));
  Graph graph = Conv(Shape({1, 8, 30, 20}), 64, 3);
  const WorkingSetLimit limit = UniformLimit(10'000, true);
  const WorkingSetGrid grid(graph, graph.op(graph.OpOrder()[0]), limit);
  const auto found = grid.Find(10'000);
  REQUIRE(found.has_value());
  std::vector<std::string_view> names;
  for (const GridAxis& axis : grid.axes()) names.push_back(axis.dimension);
  CHECK(names == std::vector<std::string_view>{"channel", "input_channel", "height", "width"});
  int fitting = 0;
  for (const GridAxis::Option& channel : grid.axes()[0].options) {
    for (const GridAxis::Option& input_channel : grid.axes()[1].options) {
      for (const GridAxis::Option& height : grid.axes()[2].options) {
        for (const GridAxis::Option& width : grid.axes()[3].options) {
          const GridParts parts{channel.parts, input_channel.parts, height.parts, width.parts};
          const int64_t count = int64_t{parts[0]} * parts[1] * parts[2] * parts[3];
          if (count > 256 || grid.Bytes(parts) > 10'000) continue;
          ++fitting;
          const int64_t least =
              input_channel.parts == 1 ? grid.Price(*found) : grid.Price(*found) * 3 / 4;
          CHECK(grid.Price(parts) >= least);
          CHECK(std::count(parts.begin(), parts.end(), 1) < 3);  // none along one dimension
        }
      }
    }
  }
  CHECK(fitting > 50);
  SplitReport report;
  REQUIRE(SplitToWorkingSet(graph, limit, report).ok());
  CHECK(LargestSet(graph, true) == grid.Bytes(*found));
  CHECK(NumbersOf(graph) == whole);
}

TEST_CASE("Working set: the price counts what parts read again, sums and starts") {
  const Graph graph = Conv(Shape({1, 8, 30, 20}), 64, 3);
  const Op& op = graph.op(graph.OpOrder()[0]);
  const WorkingSetGrid grid(graph, op, UniformLimit(0, false));
  const int64_t x = 8 * 600 * 4;
  const int64_t w = 64 * 8 * 9 * 4;
  const int64_t bias = 64 * 4;
  const int64_t y = 64 * 600 * 4;
  const int64_t start = 32 << 10;
  CHECK(grid.Price({1, 1, 1, 1}) == x + w + bias + y + start);
  CHECK(grid.Price({4, 1, 1, 1}) == 4 * x + w + bias + y + 4 * start);
  CHECK(grid.Price({1, 2, 1, 1}) == x + w + bias + 3 * y + 2 * start);
  const int64_t halo = 2 * 2 * 8 * 20 * 4;  // two inner borders, two rows more at each
  CHECK(grid.Price({1, 1, 3, 1}) == x + halo + 3 * (w + bias) + y + 3 * start);
}

TEST_CASE("Working set: rows before channels where those would read the input many times over") {
  const std::vector<double> whole = NumbersOf(Conv(Shape({1, 32, 40, 40}), 512, 1));
  Graph graph = Conv(Shape({1, 32, 40, 40}), 512, 1);  // x of 204,800 bytes, y of 3,276,800
  CHECK(Split(graph, UniformLimit(240'000, false)) == "height 20");  // not channel 103
  CHECK(NumbersOf(graph) == whole);
}

TEST_CASE("Working set: an input row that no window reaches counts while the op is whole") {
  const auto strided = [] {
    Graph graph;
    ConvAttributes attributes;
    attributes.strides[0] = 2;
    const auto y = graph.AddOpTensor(
        OpKind::kConv, "conv",
        {Input(graph, Shape({1, 1, 32, 10})), Constant(graph, Shape({1, 1, 1, 1}), 1)},
        Attributes(attributes));
    graph.AddOutput(*y, "y");
    return graph;
  };
  Graph graph = strided();
  CHECK(Split(graph, UniformLimit((32 + 16) * 40, false)) == "");
  CHECK(Split(graph, UniformLimit((32 + 16) * 40 - 1, false)) == "height 2");
  CHECK(NumbersOf(graph) == NumbersOf(strided()));
}

TEST_CASE("Working set: the board's limits on parts hold") {
  WorkingSetLimit limit = UniformLimit(14'000, false);
  limit.splitting.most_parts = 3;
  Graph graph = Conv(Shape({1, 8, 30, 20}), 8, 3);
  CHECK(Split(graph, limit) ==
        "op \"conv\" needs 38400 bytes (inputs 19200, outputs 19200) to run; the limit is 14000 "
        "bytes, and split as finely as the board allows it needs 14080");
  limit.splitting.most_parts = 256;
  limit.splitting.smallest_part_rows = 10;
  CHECK(Split(graph, limit) == "width 4");
  Graph channels = Conv(Shape({1, 16, 4, 4}), 64, 3);
  CHECK(Split(channels, UniformLimit(15'200, true)) == "channel 3");
  channels = Conv(Shape({1, 16, 4, 4}), 64, 3);
  WorkingSetLimit sixteens = UniformLimit(15'200, true);
  sixteens.splitting.channel_multiple = 16;
  CHECK(Split(channels, sixteens) == "channel 4");
}

TEST_CASE("Working set: the smallest limit works, one byte less does not") {
  const auto whole = [] { return Conv(Shape({2, 6, 9, 7}), 10, 3); };
  for (const bool accumulate : {false, true}) {
    for (const bool stages : {false, true}) {
      for (const int32_t most_parts : {2, 7, 60, 256}) {
        WorkingSetLimit limit = UniformLimit(0, stages);
        limit.accumulate = accumulate;
        limit.splitting.most_parts = most_parts;
        const int64_t smallest = SmallestWorkingSet(whole(), limit);
        CAPTURE(smallest);
        limit.space_of = UniformLimit(smallest, stages).space_of;
        Graph graph = whole();
        SplitReport report;
        CHECK(SplitToWorkingSet(graph, limit, report).ok());
        CHECK(LargestSet(graph, stages) <= smallest);
        CHECK(report.parts <= most_parts);
        limit.space_of = UniformLimit(smallest - 1, stages).space_of;
        Graph refused = whole();
        const Status status = SplitToWorkingSet(refused, limit, report);
        REQUIRE_FALSE(status.ok());
        CHECK(status.error().kind == ErrorKind::kDoesNotFit);
        CHECK(status.error().details[0] ==
              fmt::format("the smallest limit that works for the model is {} bytes", smallest));
        CHECK(refused.OpOrder().size() == 1);
      }
    }
  }
}

TEST_CASE("Working set: every split is on record with its reason") {
  Graph graph = Conv(Shape({1, 8, 30, 20}), 8, 3);
  SplitReport report;
  REQUIRE(SplitToWorkingSet(graph, UniformLimit(14'000, false), report).ok());
  REQUIRE(report.splits.size() == 1);
  const SplitRecord& record = report.splits[0];
  CHECK(record.op == "conv");
  CHECK(record.dimension == "height");
  CHECK(record.parts == 4);
  CHECK(record.bytes_before == 38'400);
  CHECK(record.bytes_after == 11'520);
  CHECK(record.limit == 14'000);
  CHECK(record.reason ==
        "working set of 38400 bytes (inputs 19200, outputs 19200) over the limit of 14000; 4 parts "
        "along height: at most 11520 bytes");
  CHECK(report.ops_split == 1);
  CHECK(report.parts == 4);
}

/// The limit of a conv or a unary op on the board, mapped by its table and these pins.
WorkingSpace SpaceOnBoard(const Board& board, const char* op, const std::vector<Pin>& pins = {}) {
  KernelChoiceOptions kernels;
  kernels.board = &board;
  kernels.pins = pins;
  const Result<Graph> parsed = ParseGraph(R"(input %x: f32[1,8,6,6]
const %w: f32[8,8,1,1] = random(1)
%c = conv(%x, %w)
%u = unary(%c) {function=relu}
output %u
)");
  REQUIRE(parsed.ok());
  const Graph& graph = *parsed;
  for (const OpId id : graph.OpOrder()) {
    const bool asked = std::string(GetOpRow(graph.op(id).kind).name) == op;
    if (asked) return WorkingSetLimitOf(kernels).space_of(graph, graph.op(id));
  }
  return {};
}

TEST_CASE("Working set: an op is limited by the memory of the unit that it is mapped to") {
  const Result<Board> loaded = LoadBoard("x86-64-opencl");
  REQUIRE(loaded.ok());
  Board board = *loaded;
  MemorySpace buffer = board.memory_spaces[0];
  buffer.name = "buffer";
  buffer.bytes = 700;
  buffer.holds_arena = false;
  board.memory_spaces.push_back(buffer);
  board.units[1].runs_from = "buffer";
  CHECK(SpaceOnBoard(board, "conv").name == "buffer");
  CHECK(SpaceOnBoard(board, "conv").bytes == 700);
  const std::vector<Pin> pins = {{"c", "cpu"}};
  CHECK(SpaceOnBoard(board, "conv", pins).name == "ram");
  CHECK(SpaceOnBoard(board, "unary", pins).name == "buffer");
}

TEST_CASE("Working set: of a board, what its units run from") {
  Board board;
  MemorySpace sram;
  sram.name = "sram";
  sram.bytes = 1000;
  sram.reserve_bytes = 100;
  sram.holds_arena = true;
  MemorySpace ddr;
  ddr.name = "ddr";
  ddr.bytes = 100'000;
  ddr.holds_constants = true;
  ddr.stage_constants = true;
  MemorySpace buffer;
  buffer.name = "buffer";
  buffer.bytes = 300;
  board.memory_spaces = {sram, ddr, buffer};
  Unit dma;
  dma.name = "dma";
  dma.kind = "dma";
  Unit matrix;
  matrix.name = "matrix";
  matrix.kind = "npu";
  matrix.ops = {"conv", "matmul"};
  matrix.runs_from = "buffer";
  Unit vector;
  vector.name = "vector";
  vector.kind = "npu";
  board.units = {dma, matrix, vector};
  board.splitting.most_parts = 9;
  CHECK(SpaceOnBoard(board, "conv").bytes == 300);
  CHECK(SpaceOnBoard(board, "conv").stages_constants);
  CHECK(SpaceOnBoard(board, "unary").bytes == 900);
  CHECK(SpaceOnBoard(board, "unary").name == "sram");
  board.memory_spaces[1].stage_constants = false;
  CHECK_FALSE(SpaceOnBoard(board, "unary").stages_constants);
  KernelChoiceOptions kernels;
  kernels.board = &board;
  CHECK(WorkingSetLimitOf(kernels).splitting.most_parts == 9);
}

}  // namespace
}  // namespace tenon::converter
