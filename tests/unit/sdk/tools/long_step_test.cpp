#include "sdk/tools/long_step.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/sdk/tools/written_to.hpp"

namespace tenon::tool {
namespace {

using test::WrittenToPipe;
using test::WrittenToTerminal;

/// A step of so many milliseconds.
auto StepOf(int milliseconds) {
  return [=] {
    const LongStep step("packing");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  };
}

TEST_CASE("LongStep: a terminal is told after a second what takes long, and then nothing is left") {
  CHECK(WrittenToTerminal(StepOf(100)).empty());
  const std::string text = WrittenToTerminal(StepOf(1500));
  CHECK(text.find("packing (1 s)") != std::string::npos);
  CHECK(text.ends_with("\r\033[K"));
}

TEST_CASE("LongStep: what is no terminal is told nothing") {
  CHECK(WrittenToPipe(StepOf(1200)).empty());
}

}  // namespace
}  // namespace tenon::tool
