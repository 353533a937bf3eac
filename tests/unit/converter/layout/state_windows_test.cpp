// Windows over a stream that are kept as state.
#include <string>

#include "tests/unit/converter/layout/memory_testing.hpp"

namespace tenon::converter {
namespace {

/// The last 3 rows of 5 are what the next run finds in `s`.
constexpr const char* kWindow = R"(graph g
input %x: f32[1,2,4]
input %s: f32[1,3,4]
%n = unary(%x) {function=relu}
%w = concat(%s, %n) {axis=1}
%k = slice(%w) {begins=[0,2,0], sizes=[1,3,4], steps=[1,1,1]}
%y = reduce(%w) {function=sum, axes_mask=2}
output %y
output %k
state "s" = "k"
)";

TEST_CASE("Locations: a state's window and what comes behind it lie in one storage") {
  const Located at = Locate(kWindow);
  CHECK(at.Root("s") == "w");
  CHECK(at.At("s").offset == 0);
  CHECK(at.At("n").offset == 3 * 4 * 4);
  CHECK(at.Root("k") == "w");
  CHECK(at.At("k").offset == 2 * 4 * 4);
  CHECK(at.Executed() == Strings{"n", "y"});
}

TEST_CASE("Locations: a state is no window if the next run finds anything but the end") {
  std::string text = kWindow;
  text.replace(text.find("begins=[0,2,0]"), 14, "begins=[0,1,0]");
  const Located at = Locate(text);
  CHECK(at.OwnsBytes("s"));
  CHECK(at.OwnsBytes("k"));
}

TEST_CASE("Locations: a state is no window if its rows would lie apart") {
  const Located at = Locate(R"(graph g
input %x: f32[2,2]
input %s: f32[2,3]
%n = unary(%x) {function=relu}
%w = concat(%s, %n) {axis=1}
%k = slice(%w) {begins=[0,2], sizes=[2,3], steps=[1,1]}
%y = unary(%w) {function=relu}
output %y
output %k
state "s" = "k"
)");
  CHECK(at.OwnsBytes("s"));
  CHECK(at.OwnsBytes("k"));
}

TEST_CASE("Locations: of two states in one window neither is one") {
  const Located at = Locate(R"(graph g
input %x: f32[2,4]
input %s: f32[3,4]
input %t: f32[3,4]
%n = unary(%x) {function=relu}
%w = concat(%s, %n) {axis=0}
%v = concat(%t, %w) {axis=0}
%k = slice(%v) {begins=[5,0], sizes=[3,4], steps=[1,1]}
%y = unary(%v) {function=relu}
output %y
output %k
output %k as "l"
state "s" = "k"
state "t" = "l"
)");
  CHECK(at.OwnsBytes("s"));
  CHECK(at.OwnsBytes("t"));
}

}  // namespace
}  // namespace tenon::converter
