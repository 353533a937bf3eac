#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kIsolateOutputs = {"isolate-outputs", IsolateOutputs};

TEST_CASE("IsolateOutputs: an output that an op writes stays as it is") {
  const PassResult result =
      RunOn(kIsolateOutputs, "input %x: f32[2]\n%y = unary(%x) {function=relu}\noutput %y\n");
  CHECK(result.report.changed == 0);
}

TEST_CASE("IsolateOutputs: an output that is an input or a constant becomes a copy") {
  const PassResult result = RunOn(kIsolateOutputs, R"(input %x: f32[2]
const %c: f32[1] = [5]
output %x as "same"
output %c
)");
  CHECK(result.report.changed == 2);
  CHECK(result.text == R"(input %x: f32[2]
const %c: f32[1] = [5]
%same.copy: f32[2] = copy(%x)
%c.copy: f32[1] = copy(%c)
output %same.copy as "same"
output %c.copy as "c"
)");
}

TEST_CASE("IsolateOutputs: the second and third port of one tensor get copies of their own") {
  const PassResult result = RunOn(kIsolateOutputs, R"(input %x: f32[2]
%y = unary(%x) {function=relu}
output %y as "first"
output %y as "second"
output %y as "third"
)");
  CHECK(result.report.changed == 2);
  CHECK(result.text.find("output %y as \"first\"\noutput %second.copy as \"second\"\n"
                         "output %third.copy as \"third\"\n") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
