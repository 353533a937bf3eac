#include "converter/cost/features.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/ir/text.hpp"

namespace tenon::converter {
namespace {

struct Terms {
  std::string model;
  std::map<std::string, double> amounts;
};

Terms Named(const CostTerms& terms) {
  Terms named;
  named.model = terms.model;
  for (const CostTerm& term : terms.terms) {
    CHECK_MESSAGE(named.amounts.emplace(term.name, term.amount).second, term.name);
    CHECK_MESSAGE(term.amount >= 0, term.name);
    CHECK_MESSAGE(std::isfinite(term.amount), term.name);
  }
  CHECK(named.amounts.at("start") == 1);
  return named;
}

/// Terms of the op that makes `%y`, dense.
Terms TermsOn(const MachineFacts& machine, std::string_view text) {
  const Result<Graph> graph = ParseGraph(text);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Op& op = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  return Named(KernelTerms(ProfileOperands(*graph, op, nullptr), machine, 1));
}

Terms TermsOf(std::string_view text) { return TermsOn(MachineFacts(), text); }

Terms PointwiseConv(int inputs, int outputs, int size,
                    const MachineFacts& machine = MachineFacts()) {
  return TermsOn(
      machine,
      fmt::format(
          "graph g\ninput %x: f32[1,{},{},{}]\nconst %w: f32[{},{},1,1] = random(1)\n"
          "%y: f32[1,{},{},{}] channels_last = conv(%x, %w) @cpu/cpu.conv.vector\noutput %y\n",
          inputs, size, size, outputs, inputs, outputs, size, size));
}

TEST_CASE("Register tiles of a product, by hand") {
  // 7 x 7 = 49 pixels: 4 tiles, three of 12 and one of 13. 40 channels: groups of 32 and of 8.
  // A step takes pixels x registers of 16 cycles, or half the pixels, or the latency of 4.
  const Terms terms = PointwiseConv(16, 40, 7);
  CHECK(terms.model == "cpu.conv.vector");
  CHECK(terms.amounts.at("tiles") == 8);
  const double wide = 3 * 12 * 2 + 13 * 2;
  const double narrow = 3 * 12 + 13;
  CHECK(terms.amounts.at("tile_cycles") == doctest::Approx(16 * (wide + narrow)));
  CHECK(terms.amounts.at("weight_bytes") == 40 * 16 * 4);
  CHECK(terms.amounts.at("narrow_outputs") == 0);
  CHECK(terms.amounts.at("pointers") == 0);
}

TEST_CASE("Lanes of a register without a channel take their time: of 16 eight, of 8 none") {
  const auto cycles = [](int outputs, int lanes) {
    MachineFacts machine;
    machine.vector_lanes = lanes;
    return PointwiseConv(16, outputs, 8, machine).amounts.at("tile_cycles");
  };
  CHECK(cycles(8, 16) == cycles(16, 16));
  CHECK(cycles(24, 16) == cycles(32, 16));
  CHECK(cycles(8, 8) < cycles(16, 8));
}

TEST_CASE("Channels that fill no vector go through a buffer") {
  CHECK(PointwiseConv(16, 36, 7).amounts.at("narrow_outputs") == 49 * 4);
}

TEST_CASE("A pool's windows and taps, by hand") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[1,40,8,8]
%y: f32[1,40,4,4] channels_last = max_pool(%x) {kernel=[2,2], strides=[2,2]} @cpu/cpu.max_pool.vector
output %y
)");
  // 40 channels: two vectors of 16 and one of 8.
  CHECK(terms.amounts.at("windows") == 16);
  CHECK(terms.amounts.at("window_vectors") == 48);
  CHECK(terms.amounts.at("tap_vectors") == 192);
}

TEST_CASE("Maxima of few channels take columns of a row, then neighbours, by hand") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[1,2,8,32]
%y: f32[1,2,6,30] channels_last = max_pool(%x) {kernel=[3,3]} @cpu/cpu.max_pool.vector
output %y
)");
  CHECK(terms.model == "cpu.max_pool.vector rows");
  CHECK(terms.amounts.at("rows") == 6);
  // Of 6 rows: 3 rows of 32 pixels of 2 channels are 12 vectors, and 3 taps of 30 are 11.25.
  CHECK(terms.amounts.at("column_vectors") == 72);
  CHECK(terms.amounts.at("row_vectors") == 67.5);
  CHECK(terms.amounts.at("single") == 0);
}

TEST_CASE("A constant that several ops read is in a network's bytes once") {
  const Result<Graph> graph = ParseGraph(R"(graph g
input %x: f32[4,8]
const %w: f32[8,8] = random(1)
%h: f32[4,8] = matmul(%x, %w)
%y: f32[4,8] = matmul(%h, %w)
output %y
)");
  REQUIRE(graph.ok());
  NetworkBytes bytes;
  for (const OpId id : graph->OpOrder()) {
    bytes.Add(ProfileOperands(*graph, graph->op(id), nullptr));
  }
  // The weights, and what one of the products reads and writes.
  CHECK(bytes.Sum() == 256 + 256);
}

TEST_CASE("A layer normalisation goes over the rows of its last dimension") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[3,5,48]
const %w: f32[48] = random(1)
%y = layer_norm(%x, %w) {epsilon=0.001} @cpu/cpu.layer_norm.vector
output %y
)");
  CHECK(terms.amounts.at("rows") == 15);
  CHECK(terms.amounts.at("vectors") == 15 * 3);
  CHECK(terms.amounts.at("elements") == 15 * 48);
}

TEST_CASE("Attention counts both products, a function for each score, and what is packed") {
  const Terms terms = TermsOf(R"(graph g
input %q: f32[2,12,16]
input %k: f32[2,24,16]
input %v: f32[2,24,8]
input %m: f32[24]
%y = attention(%q, %k, %v, %m) @cpu/cpu.attention.vector
output %y
)");
  CHECK(terms.amounts.at("rows") == 2 * 12);
  CHECK(terms.amounts.at("exponentials") == 2 * 12 * 24);
  CHECK(terms.amounts.at("masked") == 2 * 12 * 24);
  CHECK(terms.amounts.at("packed") == 2 * 24 * (16 + 8));
  CHECK(terms.amounts.at("tile_cycles") == 2 * 12 * (16 * 32 + 24 * 16) / 16);
}

TEST_CASE("A product with a range of run time counts its bytes' steps and both factors' elements") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[3,30]
const %w: i8[30,40] = random(1)
const %s: f32[1] = [0.5]
%y = dynamic_matmul(%x, %w, _, %s) @cpu/cpu.dynamic_matmul.vector
output %y
)");
  CHECK(terms.amounts.at("tile_cycles") == 3 * (48 / 16) * (32 / 4));
  CHECK(terms.amounts.at("elements") == 3 * 30);
  CHECK(terms.amounts.at("scaled") == 3 * 40);
}

TEST_CASE("Elementwise steps count tiles, rows and elements of each, and what is fetched singly") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[1,32,10,10]
input %s: f32[32,1,1]
input %o: f32[1,32,10,10]
%y: f32[1,32,10,10] channels_last = elementwise(%x, %s, %o) {operands=[1,2,0], functions=[div,add,add], activations=[identity,identity,tanh]} @cpu/cpu.elementwise.vector
output %y
)");
  CHECK(terms.amounts.at("step_elements") == 3 * 3200);
  CHECK(terms.amounts.at("tile_steps") == 3 * 2);
  CHECK(terms.amounts.at("divided") == 3200);
  CHECK(terms.amounts.at("gathered") == 2 * 3200);  // x and o are row-major, y is not
  CHECK(terms.amounts.at("activated") == 5 * 3200);
  CHECK(terms.amounts.at("row_steps") == 3 * 100);
}

TEST_CASE("Rows of elementwise ops merge as the kernels merge them") {
  const auto rows = [](const char* x, const char* y) {
    const Terms terms = TermsOf(
        fmt::format("graph g\ninput %a: f32{}\ninput %b: f32{}\n"
                    "%y = binary(%a, %b) {{function=add}} @cpu/cpu.binary.portable\noutput %y\n",
                    x, y));
    return terms.amounts.at("rows") + terms.amounts.at("staged_rows");
  };
  CHECK(rows("[4,50,64]", "[4,50,64]") == 1);
  CHECK(rows("[4,50,64]", "[64]") == 200);
  CHECK(rows("[4,50,64]", "[4,50,1]") == 200);
  CHECK(rows("[4,50,64]", "[]") == 1);
}

TEST_CASE("A transposition counts blocks, and what is left of them one by one") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[10,21]
%y = transpose(%x) {permutation=[1,0]} @cpu/cpu.transpose.portable
output %y
)");
  CHECK(terms.model == "cpu.copy.portable transposed");
  CHECK(terms.amounts.at("transposed") == doctest::Approx(8 * 20));
  CHECK(terms.amounts.at("transposed_singly") == doctest::Approx(210 - 160));
  CHECK(terms.amounts.at("transposed_tiles") == 1);
}

TEST_CASE("A working set is found in a cache, in part, or beyond it") {
  const auto l2_bytes = [](int size) {
    return TermsOf(fmt::format("graph g\ninput %x: f32[{}]\n%y = unary(%x) {{function=neg}} "
                               "@cpu/cpu.unary.portable\noutput %y\n",
                               size))
        .amounts.at("l2_bytes");
  };
  const MachineFacts machine;
  const auto elements = static_cast<int>(machine.cache_bytes[0] / 8);  // fills it: input, output
  CHECK(l2_bytes(elements / 2) == 0);
  CHECK(l2_bytes(elements) == doctest::Approx(elements * 8 * 0.5));
  CHECK(l2_bytes(elements * 2) == doctest::Approx(elements * 16));
}

TEST_CASE("Weights stall where they come slower than they are used") {
  const MachineFacts machine;
  CostTerms terms;
  terms.Add("start", 1);
  terms.Add("weight_bytes", 7e6);
  terms.Add("tile_cycles", 4e5);
  const Terms small = Named(InNetwork(terms, 1000, machine));
  CHECK(small.amounts.at("weight_l2_stalls") == 0);
  CHECK(small.amounts.at("weight_memory_stalls") == 0);
  const Terms large = Named(InNetwork(terms, 1e9, machine));
  CHECK(large.amounts.at("weight_far_stalls") == doctest::Approx(1e6 - 4e5));
  CHECK(large.amounts.at("weight_memory_stalls") == doctest::Approx(7e6 / 4 - 4e5));
  CHECK(large.amounts.at("weight_l3_stalls") == doctest::Approx(7e6 / 16 - 4e5));
  CHECK(large.amounts.at("weight_l2_stalls") == 0);
  // What products take does not hide bytes from cores that wait for them.
  CHECK(large.amounts.at("weight_l3_bytes") == 7e6);
  CHECK(small.amounts.at("weight_l3_bytes") == 0);
  CHECK_FALSE(large.amounts.contains("weight_bytes"));
}

TEST_CASE("Of a last cache of hundreds of MB no more than 16 are near") {
  MachineFacts machine;
  machine.cache_bytes[2] = 256 << 20;
  CostTerms terms;
  terms.Add("start", 1);
  terms.Add("weight_bytes", 100);
  const auto far_bytes = [&](double megabytes) {
    return Named(InNetwork(terms, megabytes * (1 << 20), machine)).amounts.at("weight_far_bytes");
  };
  CHECK(far_bytes(8) == 0);
  CHECK(far_bytes(16) == 50);
  CHECK(far_bytes(24) == 100);
}

TEST_CASE("Every kernel of the CPU but a few has terms of its own") {
  // Selections and running sums are so rare that the terms of their kinds do.
  const std::set<std::string> without = {"cpu.select.portable", "cpu.cum_sum.portable",
                                         "cpu.top_k.portable", "cpu.scatter.portable",
                                         "cpu.non_max_suppression.portable"};
  for (const auto kernels : {cpu::Kernels(), cpu::OneDnnCaps()}) {
    for (const cpu::KernelCaps& caps : kernels) {
      const std::string id = caps.id;
      CHECK_MESSAGE(HasKernelTerms(id) == (without.count(id) == 0), id);
    }
  }
}

Terms QuantizedConvTerms(int channels, int outputs, int group) {
  return TermsOf(fmt::format(
      "graph g\ninput %x: u8[1,{},7,7]\nconst %w: i8[{},{},3,3] = random(1)\n"
      "const %m: f32[1] = random(2)\n"
      "%y: i8[1,{},7,7] channels_last = quantized_conv(%x, %w, _, %m) {{pads=[1,1,1,1], group={}}} "
      "@cpu/cpu.quantized_conv.portable\noutput %y\n",
      channels, outputs, channels / group, outputs, group));
}

TEST_CASE("A first layer copies the rows of a band once, and its tiles go on from row to row") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[1,3,20,5]
const %w: f32[16,3,3,3] = random(1)
%y: f32[1,16,20,5] channels_last = conv(%x, %w) {pads=[1,1,1,1]} @cpu/cpu.conv.vector_first
output %y
)");
  // Two bands of ten rows, for two threads, read twelve rows each. Their 50 pixels are four tiles.
  CHECK(terms.amounts.at("copied_rows") == 2 * 12 * 3);
  CHECK(terms.amounts.at("copied") == 2 * 12 * 3 * 5);
  CHECK(terms.amounts.at("tiles") == 2 * 4);
}

TEST_CASE("Copies by how the elements lie: rows, conversions, few planes, tiles, elements") {
  const auto copy = [](const char* from, const char* shape, const char* to) {
    const Terms terms =
        TermsOf(fmt::format("graph g\ninput %x: {0}[{1}]\n"
                            "%y: {0}[{1}] {2} = copy(%x) @cpu/cpu.copy.portable\noutput %y\n",
                            from, shape, to));
    std::string text;
    for (const char* term :
         {"contiguous", "strided", "interleaved", "transposed", "transposed_singly"}) {
      if (terms.amounts.at(term) > 0) text += fmt::format("{} {};", term, terms.amounts.at(term));
    }
    return fmt::format("{} tiles {}", text, terms.amounts.at("transposed_tiles"));
  };
  CHECK(copy("f32", "2,3,4,5", "") == "contiguous 120; tiles 0");
  CHECK(copy("f32", "1,3,32,32", "channels_last") == "interleaved 3072; tiles 2");
  CHECK(copy("f32", "1,32,8,8", "channels_last") == "transposed 2048; tiles 2");
  CHECK(copy("f32", "1,6,8,8", "channels_last") == "transposed 256;transposed_singly 128; tiles 2");
  const Terms cast = TermsOf(R"(graph g
input %x: bool[6,7]
%y = cast(%x) {to=f32} @cpu/cpu.cast.portable
output %y
)");
  CHECK(cast.amounts.at("converted") == 42);
  CHECK(cast.amounts.at("strided") == 0);
}

TEST_CASE("Products of bytes go four deep and sixteen channels wide") {
  // A row of the window, 18 bytes of 6 channels, takes five steps, 20 outputs two registers of
  // sums.
  const Terms terms = QuantizedConvTerms(6, 20, 1);
  CHECK(terms.model == "cpu.quantized_conv.portable");
  CHECK(terms.amounts.at("tile_cycles") == 49 * 3 * 5 * 2);
  CHECK(terms.amounts.at("weight_bytes") == 32 * 20 * 3);
  CHECK(terms.amounts.at("copied") == 6 * 49);
  CHECK(terms.amounts.at("fixed_point_outputs") == 0);
}

TEST_CASE("Each sum of a single pixel waits for the one before") {
  const auto of_pixels = [](int pixels) {
    return TermsOf(
        fmt::format("graph g\ninput %x: i8[1,12,1,{0}]\nconst %w: i8[80,12,1,1] = random(1)\n"
                    "const %m: f32[1] = random(2)\n"
                    "%y: i8[1,80,1,{0}] channels_last = quantized_conv(%x, %w, _, %m) "
                    "@cpu/cpu.quantized_conv.portable\noutput %y\n",
                    pixels));
  };
  // Five registers of sums are two tiles, each of three steps.
  CHECK(of_pixels(1).amounts.at("lone_steps") == 2 * 3);
  CHECK(of_pixels(2).amounts.at("lone_steps") == 0);
}

TEST_CASE("A convolution of few outputs adds up vectors along each row of its windows, by hand") {
  const auto of_dilation = [](int dilation) {
    return TermsOf(
        fmt::format("graph g\ninput %x: f32[1,24,5,6]\nconst %w: f32[2,24,3,3] = random(1)\n"
                    "%y: f32[1,2,5,6] channels_last = conv(%x, %w) {{pads=[1,{0},1,{0}], "
                    "dilations=[1,{0}]}} @cpu/cpu.conv.vector_narrow\noutput %y\n",
                    dilation));
  };
  const Terms rows = of_dilation(1);
  CHECK(rows.model == "cpu.conv.vector_narrow");
  CHECK(rows.amounts.at("rows") == 5);
  CHECK(rows.amounts.at("sums") == 60);
  CHECK(rows.amounts.at("segments") == 30 * 3);
  // Of 72 floats: five vectors of 16.
  CHECK(rows.amounts.at("input_vectors") == 30 * 3 * 5);
  CHECK(rows.amounts.at("product_vectors") == 2 * 30 * 3 * 5);
  // Columns that lie apart: two vectors of each pixel's channels.
  CHECK(of_dilation(2).amounts.at("input_vectors") == 30 * 9 * 2);
}

TEST_CASE("A depthwise convolution whose channels have several outputs goes tap by tap") {
  const auto of_outputs = [](int outputs) {
    return TermsOf(
        fmt::format("graph g\ninput %x: f32[1,16,9,9]\nconst %w: f32[{0},1,3,3] = random(1)\n"
                    "%y: f32[1,{0},7,7] channels_last = conv(%x, %w) {{group=16}} "
                    "@cpu/cpu.conv.vector_depthwise\noutput %y\n",
                    outputs));
  };
  CHECK(of_outputs(16).model == "cpu.conv.vector_depthwise");
  const Terms several = of_outputs(32);
  CHECK(several.model == "cpu.conv.vector_depthwise any multiplied");
  CHECK(several.amounts.at("pointers") == 7 * 7 * 9);
}

TEST_CASE("A depthwise convolution of bytes is a model of its own") {
  const Terms terms = QuantizedConvTerms(96, 96, 96);
  CHECK(terms.model == "cpu.quantized_conv.portable columns");
  CHECK(terms.amounts.at("rows") == 7 * 2);
  CHECK(terms.amounts.at("pixel_blocks") == 49 * 6);
  CHECK(terms.amounts.at("pixel_vectors") == 49 * 2);
  CHECK(terms.amounts.at("tap_vectors") == 49 * 2 * 3);
}

TEST_CASE(
    "A depthwise convolution of one window is another: registers of 16 channels by all taps") {
  const auto of_height = [](int height) {
    return TermsOf(
        fmt::format("graph g\ninput %x: u8[1,40,{},1]\nconst %w: i8[40,1,5,1] = random(1)\n"
                    "const %m: f32[1] = random(2)\n"
                    "%y: i8[1,40,{},1] channels_last = quantized_conv(%x, %w, _, %m) {{group=40}} "
                    "@cpu/cpu.quantized_conv.portable\noutput %y\n",
                    height, height - 4));
  };
  const Terms window = of_height(5);
  CHECK(window.model == "cpu.quantized_conv.portable window");
  CHECK(window.amounts.at("pixel_vectors") == 3);
  CHECK(window.amounts.at("tap_vectors") == 3 * 5);
  const Terms column = of_height(6);
  CHECK(column.model == "cpu.quantized_conv.portable depthwise");
  // Computed as a row, by blocks of 32 and 16 channels.
  CHECK(column.amounts.at("rows") == 2);
  CHECK(column.amounts.at("tap_vectors") == 2 * 2 * 2);
}

TEST_CASE("An op without elements takes its start only") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[0,4]
%y = unary(%x) {function=neg} @cpu/cpu.unary.portable
output %y
)");
  CHECK(terms.amounts.size() == 1);
}

TEST_CASE("This machine's last cache is as the system lists it") {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kilobytes = 0;
  if (!(file >> kilobytes)) {
    CHECK(ThisMachine().cache_bytes[2] > 0);
    return;
  }
  CHECK(ThisMachine().cache_bytes[2] == kilobytes * 1024);
}

TEST_CASE("A kernel that nobody described has the terms of its kind on its backend") {
  const Terms terms = TermsOf(R"(graph g
input %x: f32[4,4]
%y = unary(%x) {function=neg} @gpu/gpu.unary
output %y
)");
  CHECK(terms.model == "gpu.unary");
  CHECK(terms.amounts.at("bytes") == 128);
}

}  // namespace
}  // namespace tenon::converter
