// Terms of the cost model that boards may leave out.
#include "tests/unit/converter/cost/round_unit.hpp"

namespace tenon::converter {
namespace {

TEST_CASE(
    "AnalyticCostModel: a depthwise convolution's outputs and rows cost what the board says") {
  constexpr std::string_view kConvolutions = R"(graph g
input %x: f32[2,20,5,6]
const %d: f32[20,1,3,3] = random(1)
const %e: f32[20,1,3,4] = random(2)
%depthwise = conv(%x, %d) {group=20}
%one = conv(%depthwise, %e) {group=20}
output %one
)";
  Unit unit = RoundUnit("cpu");
  const auto compute = [&](std::string_view name) {
    return TimeOf(kConvolutions, name, unit).compute;
  };
  const Picoseconds taps = compute("depthwise");
  const Picoseconds of_one = compute("one");
  unit.depthwise_products_per_output = {{"f32", 7}};
  CHECK(compute("depthwise") == taps + Picoseconds{2} * 20 * 3 * 4 * 7 * 1000);
  unit.depthwise_products_per_row = {{"f32", 50}};
  // 20 channels are two blocks of 16.
  CHECK(compute("depthwise") ==
        taps + Picoseconds{2} * 20 * 3 * 4 * 7 * 1000 + Picoseconds{2} * 3 * 2 * 50 * 1000);
  CHECK(compute("one") == of_one);
}

TEST_CASE("AnalyticCostModel: a depthwise convolution of bytes of one column costs one row") {
  constexpr std::string_view kSequences = R"(graph g
input %x: i8[1,16,9,1]
input %z: i8[1,16,9,2]
const %d: i8[16,1,3,1] = random(1)
const %m: f32[1] = [1]
%column = quantized_conv(%x, %d, _, %m) {group=16, to=i8}
%columns = quantized_conv(%z, %d, _, %m) {group=16, to=i8}
output %column
output %columns
)";
  Unit unit = RoundUnit("cpu");
  unit.multiply_accumulates_per_second["i8"] = 1e9;
  const auto compute = [&](std::string_view name) {
    return TimeOf(kSequences, name, unit).compute;
  };
  const Picoseconds column = compute("column");
  const Picoseconds columns = compute("columns");
  unit.depthwise_products_per_row = {{"i8", 50}};
  CHECK(compute("column") == column + Picoseconds{50} * 1000);
  CHECK(compute("columns") == columns + Picoseconds{7} * 50 * 1000);
}

TEST_CASE("AnalyticCostModel: depthwise kernels leave out rows outside the image, and take pairs") {
  constexpr std::string_view kConvolutions = R"(graph g
input %x: f32[1,32,2,6]
input %u: f32[1,24,9,6]
const %d: f32[32,1,5,5] = random(1)
const %e: f32[24,1,3,3] = random(2)
%flat = conv(%x, %d) {group=32, pads=[2,2,2,2]}
%odd = conv(%u, %e) {group=24}
output %flat
output %odd
)";
  const Graph graph = Parsed(kConvolutions);
  const auto compute = [&](std::string_view name) {
    Op op = ProducerOf(graph, name);
    op.kernel = "cpu.conv.vector_depthwise";
    Unit unit = RoundUnit("cpu");
    unit.depthwise_multiply_accumulates_per_second = {{"f32", 1e9}};
    return AnalyticCostModel(1).TimeOf(graph, op, unit).compute;
  };
  // Two of five rows of the kernel for either row of the image.
  CHECK(compute("flat") == Picoseconds{32} * 2 * 6 * 2 * 5 * 1000);
  // 24 channels are three vectors, of which the last takes as long as two.
  CHECK(compute("odd") == Picoseconds{32} * 7 * 4 * 9 * 1000);
}

TEST_CASE(
    "AnalyticCostModel: sums go in vectors, extremes of rows and few columns do not; powers may be "
    "products") {
  constexpr std::string_view kOps = R"(graph g
input %x: f32[4,64,32]
input %image: f32[1,32,16,16]
input %narrow: f32[4,256,8]
const %two: f32[] = [2]
%rows = reduce(%x) {function=sum, axes_mask=4}
%most = reduce(%x) {function=max, axes_mask=4}
%columns = reduce(%x) {function=sum, axes_mask=2}
%few = reduce(%narrow) {function=sum, axes_mask=2}
%square = binary(%x, %two) {function=pow}
%pool = reduce(%image) {function=mean, axes_mask=12}
output %pool
output %rows
output %most
output %columns
output %few
output %square
)";
  const Graph graph = Parsed(kOps);
  const auto compute = [&](std::string_view name, const char* kernel) {
    Op op = ProducerOf(graph, name);
    op.kernel = kernel;
    Unit unit = RoundUnit("cpu");
    unit.elementary_ops_per_second = 1e9;
    return AnalyticCostModel(1).TimeOf(graph, op, unit).compute;
  };
  constexpr Picoseconds kElements = Picoseconds{4} * 64 * 32 * 1000;
  CHECK(compute("rows", "cpu.reduce.portable") == kElements);
  CHECK(compute("most", "cpu.reduce.portable") == 4 * kElements);
  CHECK(compute("few", "cpu.reduce.portable") == 8 * kElements);
  CHECK(compute("columns", "cpu.reduce.portable") == kElements);
  CHECK(compute("pool", "cpu.reduce.portable") == kElements);
  CHECK(compute("square", "cpu.binary.portable") == kElements);
}

TEST_CASE("AnalyticCostModel: comparisons and signs are one elementary operation of vectors") {
  const Graph graph = Parsed(R"(graph g
input %x: f32[4,64,32]
%leaky = unary(%x) {function=leaky_relu}
%exp = unary(%x) {function=exp}
output %leaky
output %exp
)");
  const auto compute = [&](std::string_view name) {
    Op op = ProducerOf(graph, name);
    op.kernel = "cpu.unary.portable";
    Unit unit = RoundUnit("cpu");
    unit.elementary_ops_per_second = 1e9;
    return AnalyticCostModel(1).TimeOf(graph, op, unit).compute;
  };
  constexpr Picoseconds kElements = Picoseconds{4} * 64 * 32 * 1000;
  CHECK(compute("leaky") == kElements);
  CHECK(compute("exp") == 4 * kElements);
}

TEST_CASE("AnalyticCostModel: x86-64 takes 64 channels of bytes at a time, and fewer as long") {
  const Graph graph = Parsed(R"(graph g
input %x: i8[1,64,5,6]
input %z: i8[1,48,5,6]
const %d: i8[64,1,3,3] = random(1)
const %e: i8[48,1,3,3] = random(2)
const %m: f32[1] = [1]
%wide = quantized_conv(%x, %d, _, %m) {group=64, pads=[1,1,1,1], to=i8}
%narrow = quantized_conv(%z, %e, _, %m) {group=48, pads=[1,1,1,1], to=i8}
output %wide
output %narrow
)");
  Board board;
  const auto compute = [&](std::string_view name) {
    Op op = ProducerOf(graph, name);
    op.kernel = "cpu.quantized_conv.bytes_depthwise";
    Unit unit = RoundUnit("cpu");
    unit.multiply_accumulates_per_second = {{"f32", 1e8}, {"i8", 1e9}};
    unit.depthwise_multiply_accumulates_per_second = {{"i8", 1e9}};
    unit.elementary_ops_per_second = 1e18;
    return AnalyticCostModel(board).TimeOf(graph, op, unit).compute;
  };
  board.architecture = "aarch64";
  CHECK(compute("wide") == Picoseconds{64} * 30 * 9 * 1000);
  board.architecture = "x86-64";
  // 30 pixels in 5 rows.
  CHECK(compute("wide") == Picoseconds{30 * (310 + 257) + 5 * 1700} * 1000);
  // 48 channels are blocks of 32 and of 16.
  CHECK(compute("narrow") == Picoseconds{30 * (2 * 310 + 257 * 48 / 64) + 10 * 1700} * 1000);
}

TEST_CASE("AnalyticCostModel: the kernel of few outputs counts its sums and its empty lanes") {
  const Graph graph = Parsed(R"(graph g
input %x: f32[1,24,5,6]
const %w: f32[2,24,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
%z = conv(%x, %w) {pads=[1,2,1,2], dilations=[1,2]}
output %y
output %z
)");
  const auto compute = [&](std::string_view name) {
    Op op = ProducerOf(graph, name);
    op.kernel = "cpu.conv.vector_narrow";
    Unit unit = RoundUnit("cpu");
    unit.multiply_accumulates_per_second = {{"f32", 1e9}};
    unit.elementary_ops_per_second = 1e18;
    return AnalyticCostModel(1).TimeOf(graph, op, unit).compute;
  };
  // Of 30 pixels, three rows of 72 floats, and nine times 24.
  CHECK(compute("y") == Picoseconds{30} * (2 * 45 + 28 * 15) * 1000);
  CHECK(compute("z") == Picoseconds{30} * (2 * 45 + 28 * 18) * 1000);
}

TEST_CASE(
    "AnalyticCostModel: of a pool's window that is far larger counts what lies in the image") {
  for (const std::string kind : {"max_pool", "average_pool"}) {
    const auto text = [&](int window, int pad) {
      return fmt::format(
          "input %x: f32[1,16,4,4]\n"
          "%y = {0}(%x) {{kernel=[{1},{1}], pads=[{2},{2},{2},{2}]}} @cpu/cpu.{0}.vector\n"
          "output %y\n",
          kind, window, pad);
    };
    const Picoseconds whole = TimeOf(text(4, 0), "y", RoundUnit("cpu")).compute;
    CAPTURE(kind);
    CHECK(whole > 0);
    CHECK(TimeOf(text(200'000'004, 100'000'000), "y", RoundUnit("cpu")).compute == whole);
  }
}

TEST_CASE("AnalyticCostModel: operands that a core's own cache holds come at its rate") {
  Unit unit = RoundUnit("cpu");
  unit.multiply_accumulates_per_second = {{"f32", 1e15}};
  unit.elementary_ops_per_second = 1e15;
  unit.shared_cache_bytes = 1 << 20;
  unit.shared_cache_bytes_per_second = 1e9;  // a byte takes 1 ns
  const int64_t constants = 4 * (48 + 8);
  const int64_t others = 4 * (24 + 32);
  unit.cache_bytes_per_second = 2e9;
  // Half of what is as large as the cache is found there, and none of half as much again.
  unit.cache_bytes_per_thread = others;
  CHECK(TimeOf(kProduct, "y", unit).compute == constants * 1000 + others * 750);
  unit.cache_bytes_per_thread = others * 2 / 3;
  CHECK(TimeOf(kProduct, "y", unit).compute == (constants + others) * 1000);
  // There is room for the network's constants, too, or for some of them.
  unit.cache_bytes_per_thread = constants + others;
  CHECK(TimeOf(kProduct, "y", unit).compute == (constants + others) * 500);
  unit.cache_bytes_per_thread = (constants + others) * 3 / 4;
  const double others_near = 1.5 - 2.0 / 3;  // as many as two thirds of the cache
  CHECK(static_cast<double>(TimeOf(kProduct, "y", unit).compute) ==
        doctest::Approx(constants * 750 + others * (1000 - 500 * others_near)));
}

TEST_CASE(
    "AnalyticCostModel: with places known, lines that elements lie apart in are moved whole") {
  // Two channels of eight, as parts of a concat's result: sixteen bytes of every sixty-four.
  const Graph graph = Parsed(R"(graph g
input %x: f32[1,2,64,64]
%y = unary(%x) {function=neg} @cpu/cpu.unary.vector
output %y
)");
  const Op& op = ProducerOf(graph, "y");
  Locations locations = DenseIn(graph);
  Board board;
  board.units.push_back(RoundUnit("cpu"));
  const auto bytes = [&] {
    return AnalyticCostModel(board, 1, &locations).TimeOf(graph, op, board.units[0]).bytes;
  };
  const auto place = [&](TensorId id, std::vector<int32_t> strides) {
    locations.tensors[static_cast<size_t>(id)].strides = std::move(strides);
  };
  constexpr int64_t kPixels = 64 * 64;
  const int64_t dense = bytes();
  CHECK(dense == 2 * kPixels * 2 * 4);
  place(op.outputs[0], {16 * kPixels, 1, 16 * 64, 16});
  CHECK(bytes() == dense + kPixels * (64 - 8));
  // Both are parts of one tensor: its lines are moved once.
  place(op.inputs[0], {16 * kPixels, 1, 16 * 64, 16});
  CHECK(bytes() == dense + kPixels * (64 - 8));
  // Runs of a line and more, and an element that is repeated, move nothing else.
  place(op.inputs[0], {0, 0, 0, 0});
  place(op.outputs[0], {4 * kPixels, 2 * kPixels, 128, 1});
  CHECK(bytes() == dense);
}

TEST_CASE("AnalyticCostModel: arithmetic waits for the last cache as the board says") {
  Unit unit = RoundUnit("cpu");
  unit.shared_cache_bytes = 1 << 20;
  unit.shared_cache_bytes_per_second = 1e9;  // a byte takes 1 ns
  const Picoseconds reading = Picoseconds{4} * (48 + 8 + 24 + 32) * 1000;
  const auto compute = [&](double waits) {
    unit.shared_cache_waits = waits;
    return TimeOf(kProduct, "y", unit).compute;
  };
  unit.multiply_accumulates_per_second = {{"f32", 1e6}};
  const Picoseconds arithmetic = compute(0);
  REQUIRE(arithmetic > reading);
  CHECK(compute(1) == arithmetic + reading);
  CHECK(compute(0.25) == arithmetic + reading / 4);
  // Where reading takes longer, it waits for the arithmetic.
  unit.multiply_accumulates_per_second = {{"f32", 1e15}};
  unit.elementary_ops_per_second = 1e15;
  CHECK(compute(0) == reading);
  CHECK(compute(1) == reading);
}

TEST_CASE("AnalyticCostModel: Winograd's weights are 36 for nine, and each block reads them") {
  Graph graph = Parsed(R"(graph g
input %x: f32[1,64,56,56]
const %w: f32[64,64,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
output %y
)");
  Op& op = graph.MutableOp(graph.tensor(graph.FindTensor("y")).producer);
  op.kernel = "cpu.conv.vector_winograd";
  Unit unit = RoundUnit("cpu");
  unit.multiply_accumulates_per_second = {{"f32", 1e15}};
  unit.elementary_ops_per_second = 1e15;
  unit.shared_cache_bytes = 1 << 30;
  unit.shared_cache_bytes_per_second = 1e9;  // a byte takes 1 ns
  const auto compute = [&] { return AnalyticCostModel(1).TimeOf(graph, op, unit).compute; };
  constexpr Picoseconds kWeights = Picoseconds{36} * 64 * 64 * 4 * 1000;
  constexpr Picoseconds kImages = Picoseconds{2} * 64 * 56 * 56 * 4 * 1000;
  constexpr Picoseconds kBlocks = 14;  // 196 tiles, 14 in each
  CHECK(compute() == kImages + kBlocks * kWeights);
  unit.cache_bytes_per_thread = 2 << 20;
  CHECK(compute() == kImages + kWeights);
}

constexpr std::string_view kStacked = R"(graph g
input %x: f32[1,2,8,16]
%y = unary(%x) {function=neg} @cpu/cpu.unary.portable
output %y
)";

TEST_CASE("AnalyticCostModel: with places known, elements that lie apart cost their fetching") {
  const Graph graph = Parsed(kStacked);
  const Op& op = ProducerOf(graph, "y");
  Locations locations = DenseIn(graph);
  Board board;
  board.units.push_back(RoundUnit("cpu"));
  const auto compute = [&] {
    return AnalyticCostModel(board, 1, &locations).TimeOf(graph, op, board.units[0]).compute;
  };
  const Picoseconds dense = compute();
  const Picoseconds unknown = AnalyticCostModel(board).TimeOf(graph, op, board.units[0]).compute;
  CHECK(dense < unknown + unknown / 4);
  // The two planes side by side: each element is fetched by itself.
  locations.tensors[static_cast<size_t>(op.inputs[0])].strides = {256, 1, 32, 2};
  CHECK(compute() > dense + 5 * 256 * 1000);
  // Firmware's kernels have rates of their own for what they move.
  board.units[0].portable_kernels_only = true;
  const Picoseconds apart = compute();
  locations = DenseIn(graph);
  CHECK(apart == compute());
}

TEST_CASE("AnalyticCostModel: with places known, a reduction goes as its elements lie") {
  // Channels last would add up vectors of 32 channels; row-major adds up pairs.
  const Graph graph = Parsed(R"(graph g
input %x: f32[1,32,8,2]
%y = reduce(%x) {function=sum, axes_mask=8} @cpu/cpu.reduce.portable
output %y
)");
  const Op& op = ProducerOf(graph, "y");
  const Locations locations = DenseIn(graph);
  Board board;
  board.units.push_back(RoundUnit("cpu"));
  const Picoseconds guessed = AnalyticCostModel(board).TimeOf(graph, op, board.units[0]).compute;
  const Picoseconds known =
      AnalyticCostModel(board, 1, &locations).TimeOf(graph, op, board.units[0]).compute;
  CHECK(known > 8 * guessed);
}

TEST_CASE("AnalyticCostModel: kernels of bytes start sooner or later than elementwise ones") {
  const auto fixed = [](const char* op) {
    const Graph graph =
        Parsed(fmt::format("graph g\ninput %x: i8[1,32]\nconst %t: i8[256] = random(1)\n"
                           "const %w: i8[32,8] = random(2)\nconst %m: f32[1] = random(3)\n"
                           "%y: i8[1,{}\noutput %y\n",
                           op));
    return AnalyticCostModel(1).TimeOf(graph, ProducerOf(graph, "y"), RoundUnit("cpu")).fixed;
  };
  const Picoseconds lookup = fixed("32] = lookup(%x, %t) @cpu/cpu.lookup.bytes");
  const Picoseconds product =
      fixed("8] = quantized_matmul(%x, %w, _, %m) @cpu/cpu.quantized_matmul.vector");
  CHECK(lookup < TimeAtRate(0.5, 1e6));
  CHECK(product > TimeAtRate(0.5, 1e6));
}

TEST_CASE("AnalyticCostModel: where constants replace the cache, starts wait for memory") {
  const Graph graph = Parsed(kProduct);
  Board board;
  board.units.push_back(RoundUnit("cpu"));
  MemorySpace ram;
  ram.name = "ram";
  ram.holds_arena = true;
  ram.latency_ns = 100;
  board.memory_spaces.push_back(ram);
  Unit& unit = board.units[0];
  const auto fixed = [&](int64_t cache) {
    unit.cache_bytes_per_thread = cache;
    return AnalyticCostModel(board).TimeOf(graph, ProducerOf(graph, "y"), unit).fixed;
  };
  const int64_t constants = 4 * (48 + 8);
  const Picoseconds near = TimeAtRate(0.5, 1e6);
  CHECK(fixed(0) == near);  // not known
  CHECK(fixed(constants) == near);
  const Picoseconds half = fixed(constants / 2);
  CHECK(half > near);
  CHECK(fixed(constants / 8) > half);
  CHECK(fixed(1) == fixed(2));  // all of it is replaced
}

}  // namespace
}  // namespace tenon::converter
