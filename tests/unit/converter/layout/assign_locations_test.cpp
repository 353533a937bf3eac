#include "converter/layout/assign_locations.hpp"

#include <algorithm>
#include <map>

#include "converter/ir/elements.hpp"
#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

// --- slices, reshapes, transposes ---------------------------------------------------------------

TEST_CASE("Locations: a slice is a window on what it is taken from") {
  const Located at = Locate(R"(graph g
input %x: f32[4,6]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[1,2], sizes=[3,2], steps=[1,2]}
%y = unary(%s) {function=exp}
output %y
)");
  CHECK(at.Root("s") == "a");
  CHECK(at.At("s").offset == (1 * 6 + 2) * 4);
  CHECK(at.At("s").strides == Ints{6, 2});
  CHECK(at.Executed() == Strings{"a", "y"});
}

TEST_CASE("Locations: a slice that goes backwards is copied") {
  const Located at = Locate(R"(graph g
input %x: f32[4]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[3], sizes=[4], steps=[-1]}
%y = unary(%s) {function=exp}
output %y
)");
  CHECK(at.OwnsBytes("s"));
  CHECK(at.Executed() == Strings{"a", "s", "y"});
}

TEST_CASE("Locations: the step of a slice of one element says nothing, whatever it is") {
  const Located at = Locate(R"(graph g
input %x: f32[4,6]
%a = unary(%x) {function=relu}
%up = slice(%a) {begins=[1,0], sizes=[1,6], steps=[2147483647,1]}
%down = slice(%a) {begins=[2,0], sizes=[1,6], steps=[-2147483648,1]}
%y = binary(%up, %down)
output %y
)");
  CHECK(at.At("up").offset == 24);
  CHECK(at.At("down").offset == 48);
  CHECK(at.At("up").strides == Ints{6, 1});
  CHECK(at.Executed() == Strings{"a", "y"});
}

TEST_CASE("Locations: a copy between equal layouts stays, so that its source may die") {
  const Located at = Locate(R"(graph g
input %x: f32[4,6]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[2,0], sizes=[2,6], steps=[1,1]}
%kept = copy(%s)
%y = unary(%kept) {function=exp}
output %y
)");
  CHECK(at.OwnsBytes("kept"));
  CHECK(at.Executed() == Strings{"a", "kept", "y"});
}

TEST_CASE("Locations: a slice of a slice and a reshape of that are windows on the first") {
  const Located at = Locate(R"(graph g
input %x: f32[4,6]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[1,0], sizes=[2,6], steps=[1,1]}
%t = slice(%s) {begins=[1,0], sizes=[1,6], steps=[1,1]}
%r = reshape(%t) {dims=[2,3]}
%y = unary(%r) {function=exp}
output %y
)");
  CHECK(at.Root("r") == "a");
  CHECK(at.At("r").offset == 2 * 6 * 4);
  CHECK(at.At("r").strides == Ints{3, 1});
}

TEST_CASE("Locations: a reshape that no strides express is executed") {
  const Located at = Locate(R"(graph g
input %x: f32[4,6]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[0,0], sizes=[4,3], steps=[1,1]}
%r = reshape(%s) {dims=[12]}
%y = unary(%r) {function=exp}
output %y
)");
  CHECK(at.Root("s") == "a");
  CHECK(at.OwnsBytes("r"));
  CHECK(at.Executed() == Strings{"a", "r", "y"});
}

TEST_CASE("Locations: a transpose permutes strides") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3,4]
%a = unary(%x) {function=relu}
%t = transpose(%a) {permutation=[2,0,1]}
%y = unary(%t) {function=exp}
output %y
)");
  CHECK(at.At("t").strides == Ints{1, 12, 4});
  CHECK(at.Root("t") == "a");
}

TEST_CASE("Locations: constants and graph inputs may be looked at through windows") {
  const Located at = Locate(R"(graph g
input %x: f32[4]
const %c: f32[4] = [1, 2, 3, 4]
%s = slice(%x) {begins=[0], sizes=[2], steps=[1]}
%d = slice(%c) {begins=[2], sizes=[2], steps=[1]}
%y = binary(%s, %d)
output %y
)");
  CHECK(at.Root("s") == "x");
  CHECK(at.Root("d") == "c");
  CHECK(at.Executed() == Strings{"y"});
}

TEST_CASE("Locations: windows of nothing are not made") {
  const Located at = Locate(R"(graph g
input %x: f32[4]
%a = unary(%x) {function=relu}
%s = slice(%a) {begins=[4], sizes=[0], steps=[1]}
%y = unary(%s) {function=exp}
output %y
)");
  CHECK(at.OwnsBytes("s"));
}

// --- graph outputs ------------------------------------------------------------------------------

TEST_CASE("Locations: an output that is a reshape of the whole storage costs nothing") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%y = reshape(%a) {dims=[6]}
output %y
)");
  CHECK(at.Root("y") == "a");
  CHECK(at.Executed() == Strings{"a"});
}

TEST_CASE("Locations: an output that is part of a storage is copied") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%y = slice(%a) {begins=[0,0], sizes=[1,3], steps=[1,1]}
output %y
)");
  CHECK(at.OwnsBytes("y"));
  CHECK(at.Executed() == Strings{"a", "y"});
}

TEST_CASE("Locations: an output that would be a transposed window is copied") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%y = transpose(%a) {permutation=[1,0]}
output %y
)");
  CHECK(at.OwnsBytes("y"));
}

TEST_CASE("Locations: of two outputs on the same elements, one is a copy") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%y = reshape(%a) {dims=[6]}
%z = reshape(%a) {dims=[3,2]}
output %y
output %z
)");
  CHECK(at.At("y").root != at.At("z").root);
  CHECK(at.Executed().size() == 2);
}

TEST_CASE("Locations: an output is no window on an input or a constant") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
const %c: f32[2] = [1, 2]
%y = reshape(%x) {dims=[6]}
%z = reshape(%c) {dims=[1,2]}
output %y
output %z
)");
  CHECK(at.OwnsBytes("y"));
  CHECK(at.OwnsBytes("z"));
}

// --- concatenations -----------------------------------------------------------------------------

TEST_CASE("Locations: the parts of a concatenation are written in place") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%y = concat(%a, %b) {axis=1}
output %y
)");
  CHECK(at.Root("a") == "y");
  CHECK(at.Root("b") == "y");
  CHECK(at.At("a").strides == Ints{6, 1});
  CHECK(at.At("b").offset == 3 * 4);
  CHECK(at.Elided("y"));
}

TEST_CASE("Locations: parts of concatenations of concatenations lie in the outermost") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%c = unary(%x) {function=sin}
%inner = concat(%a, %b) {axis=0}
%middle = concat(%c, %inner) {axis=0}
%y = concat(%x, %middle) {axis=0}
output %y
)");
  CHECK(at.Root("inner") == "y");
  CHECK(at.Root("b") == "y");
  CHECK(at.At("c").offset == 6 * 4);
  CHECK(at.At("a").offset == 12 * 4);
  CHECK(at.At("b").offset == 18 * 4);
  CHECK(at.Executed() == Strings{"a", "b", "c", "y.part_0"});
}

TEST_CASE("Locations: a part that occurs twice is copied the second time") {
  const Located at = Locate(R"(graph g
input %x: f32[3]
%a = unary(%x) {function=relu}
%y = concat(%a, %a)
output %y
)");
  CHECK(at.Root("a") == "y");
  CHECK(at.Executed() == Strings{"a", "y.part_1"});
  CHECK(at.At("y.part_1").offset == 12);
  REQUIRE(at.report.declined.size() == 1);
}

TEST_CASE(
    "Locations: parts of two concatenations are written into the later and copied to the other") {
  const Located at = Locate(R"(graph g
input %x: f32[3]
%a = unary(%x) {function=relu}
%b = unary(%x) {function=exp}
%y = concat(%a, %b)
%z = concat(%b, %a)
output %y
output %z
)");
  CHECK(at.Executed() == Strings{"a", "b", "y"});
  CHECK(at.Root("a") == "z");
  CHECK(at.Root("b") == "z");
}

TEST_CASE("Locations: inputs, constants and outputs are copied into a concatenation") {
  const Located at = Locate(R"(graph g
input %x: f32[1]
const %c: f32[1] = [5]
%a = unary(%x) {function=relu}
%o = unary(%x) {function=exp}
%y = concat(%a, %x, %c, %o)
output %y
output %o
)");
  CHECK(at.Executed() == Strings{"a", "o", "y.part_1", "y.part_2", "y.part_3"});
  CHECK(at.OwnsBytes("o"));
  CHECK(at.OwnsBytes("x"));
  CHECK(at.OwnsBytes("c"));
}

TEST_CASE("Locations: a concatenation of which nothing can lie in place is executed as it is") {
  const Located at = Locate(R"(graph g
input %x: f32[1]
const %c: f32[1] = [5]
%y = concat(%x, %c)
output %y
)");
  CHECK(at.Executed() == Strings{"y"});
  REQUIRE(at.report.declined.size() == 1);
  CHECK(at.report.declined[0].reason == "no part can be written in place");
}

TEST_CASE("Locations: a chain of reshapes and transposes writes straight into a concatenation") {
  const Located at = Locate(R"(graph g
input %x: f32[2,3]
%a = unary(%x) {function=relu}
%t = transpose(%a) {permutation=[1,0]}
%r = reshape(%t) {dims=[3,2,1]}
%b = reshape(%x) {dims=[3,2,1]}
%y = concat(%r, %b) {axis=1}
output %y
)");
  CHECK(at.Root("a") == "y");
  CHECK(at.At("a").strides == Ints{1, 4});
  CHECK(at.Elided("t"));
  CHECK(at.Elided("r"));
  CHECK(at.Executed() == Strings{"a", "b"});  // b's reshape writes its part itself
}

TEST_CASE("Locations: an empty part neither moves nor is copied") {
  const Located at = Locate(R"(graph g
input %x: f32[2]
input %e: f32[0]
%a = unary(%x) {function=relu}
%y = concat(%a, %e)
output %y
)");
  CHECK(at.Root("a") == "y");
  CHECK(at.OwnsBytes("e"));
  CHECK(at.Executed() == Strings{"a"});
}

TEST_CASE("Locations: a concatenation of nothing stays an op") {
  const Located at = Locate(R"(graph g
input %e: f32[2,0]
%a = unary(%e) {function=relu}
%b = unary(%e) {function=exp}
%y = concat(%a, %b)
output %y
)");
  CHECK(at.OwnsBytes("a"));
  CHECK(at.Executed() == Strings{"a", "b", "y"});
}

// --- kernels that do not take strides -----------------------------------------------------------

TEST_CASE("Locations: a kernel that writes dense channels-last gets a copy into its part") {
  const Located at = Locate(R"(graph g
input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
%i: f32[1,2,3,3] channels_last = copy(%x)
%a: f32[1,2,3,3] channels_last = conv(%i, %w) {pads=[1,1,1,1]} "a" @cpu/cpu.conv.onednn
%b: f32[1,2,3,3] channels_last = unary(%i) {function=relu}
%y: f32[1,4,3,3] channels_last = concat(%a, %b) {axis=1}
%z: f32[1,4,3,3] channels_last = unary(%y) {function=exp}
output %z
)");
  CHECK(at.OwnsBytes("a"));
  CHECK(at.Root("b") == "y");
  CHECK(at.Executed() == Strings{"i", "a", "b", "y.part_0", "z"});
}

TEST_CASE("Locations: a part whose reader wants it dense stays where it is") {
  const Located at = Locate(R"(graph g
input %x: f32[1,2,3,3]
const %w: f32[2,2,3,3] = random(1)
%a: f32[1,2,3,3] channels_last = copy(%x)
%b: f32[1,2,3,3] channels_last = unary(%a) {function=relu}
%y: f32[1,4,3,3] channels_last = concat(%a, %b) {axis=1}
%z: f32[1,2,3,3] channels_last = conv(%a, %w) {pads=[1,1,1,1]} "z" @cpu/cpu.conv.onednn
output %y
output %z
)");
  CHECK(at.OwnsBytes("a"));
  CHECK(at.Root("b") == "y");
}

TEST_CASE("Locations: a kernel that takes channels at a pitch writes its part itself") {
  const Located at = Locate(R"(graph g
input %x: f32[1,2,3,3]
const %w: f32[2,2,1,1] = random(1)
%i: f32[1,2,3,3] channels_last = copy(%x)
%a: f32[1,2,3,3] channels_last = conv(%i, %w) "a" @cpu/cpu.conv.onednn_matmul
%b: f32[1,2,3,3] channels_last = conv(%i, %w) "b" @cpu/cpu.conv.onednn_matmul
%y: f32[1,4,3,3] channels_last = concat(%a, %b) {axis=1}
%z: f32[1,4,3,3] channels_last = unary(%y) {function=exp}
%rows: f32[1,2,6,3] channels_last = concat(%i, %i) {axis=2}
output %z
output %rows
)");
  CHECK(at.Root("a") == "y");
  CHECK(at.At("b").offset == 2 * 4);
  CHECK(at.At("b").strides == Ints{36, 1, 12, 4});
  CHECK(at.Executed() == Strings{"i", "a", "b", "z", "rows.part_1"});
}

TEST_CASE("Locations: weights are never seen through strides by a kernel that wants them dense") {
  const Located at = Locate(R"(graph g
input %x: f32[1,2,3,3]
const %all: f32[2,4,3,3] = random(1)
%i: f32[1,2,3,3] channels_last = copy(%x)
%w = slice(%all) {begins=[0,0,0,0], sizes=[2,2,3,3], steps=[1,1,1,1]}
%y: f32[1,2,1,1] channels_last = conv(%i, %w) "y" @cpu/cpu.conv.onednn
output %y
)");
  CHECK(at.OwnsBytes("w"));
}

// --- ReshapeStrides -----------------------------------------------------------------------------

/// Positions of all elements in row-major order of `dims`.
std::vector<int64_t> Positions(const Shape& dims, const Ints& strides) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < dims.Elements(); ++i) {
    int64_t rest = i;
    int64_t position = 0;
    for (int32_t axis = dims.rank - 1; axis >= 0; --axis) {
      position += rest % dims[axis] * strides[static_cast<size_t>(axis)];
      rest /= dims[axis];
    }
    positions.push_back(position);
  }
  return positions;
}

/// Strides for `dims` that give these positions, by looking at one step along each dimension;
/// nothing if there are none.
bool StridesExist(const Shape& dims, const std::vector<int64_t>& positions) {
  Ints strides(static_cast<size_t>(dims.rank), 0);
  int64_t step = 1;
  for (int32_t axis = dims.rank - 1; axis >= 0; --axis) {
    if (dims[axis] > 1) {
      strides[static_cast<size_t>(axis)] =
          static_cast<int32_t>(positions[static_cast<size_t>(step)] - positions[0]);
    }
    step *= dims[axis];
  }
  return Positions(dims, strides) == positions;
}

Shape RandomFactors(SplitMix64& random, int32_t elements) {
  Ints dims;
  for (const int32_t factor : {2, 2, 2, 3, 5}) {
    if (elements % factor == 0 && random.Next() % 2 == 0) {
      dims.push_back(factor);
      elements /= factor;
    }
  }
  dims.push_back(elements);
  if (random.Next() % 2 == 0) dims.push_back(1);
  if (dims.size() < 6 && random.Next() % 2 == 0) dims.push_back(1);
  for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[random.Next() % i]);
  return Shape(dims.data(), static_cast<int32_t>(dims.size()));
}

TEST_CASE("ReshapeStrides: finds strides exactly where there are any") {
  SplitMix64 random(5);
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    const int32_t elements = std::map<uint64_t, int32_t>{
        {0, 1}, {1, 8}, {2, 12}, {3, 24}, {4, 30}, {5, 40}}[random.Next() % 6];
    const Shape dims = RandomFactors(random, elements);
    const Shape new_dims = RandomFactors(random, elements);
    // Strides of a permuted tensor, sometimes with gaps or repeats.
    Ints order(static_cast<size_t>(dims.rank));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    if (random.Next() % 2 == 0) std::swap(order[0], order[random.Next() % order.size()]);
    Ints strides(order.size());
    int32_t stride = 1;
    for (size_t i = order.size(); i > 0; --i) {
      const auto axis = static_cast<size_t>(order[i - 1]);
      if (random.Next() % 6 == 0) stride *= 2;
      strides[axis] = random.Next() % 12 == 0 ? 0 : stride;
      stride *= dims[order[i - 1]];
    }
    const std::vector<int64_t> positions = Positions(dims, strides);
    const Ints result = ReshapeStrides(dims, strides, new_dims);
    if (result.empty()) {
      CHECK_FALSE(StridesExist(new_dims, positions));
    } else {
      ++found;
      CHECK(Positions(new_dims, result) == positions);
    }
  }
  CHECK(found > 5000);
  CHECK(found < 19000);
}

TEST_CASE("ReshapeStrides: a scalar and dimensions of 1 come and go") {
  CHECK(ReshapeStrides(Shape(), {}, Shape({1, 1})).size() == 2);
  CHECK(ReshapeStrides(Shape({1, 1}), {7, 7}, Shape()).empty());
  const Ints strides = ReshapeStrides(Shape({1, 4, 1}), {9, 3, 9}, Shape({4}));
  CHECK(strides == Ints{3});
}

}  // namespace
}  // namespace tenon::converter
