#include "sdk/tools/terminal_line.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/sdk/tools/written_to.hpp"

namespace tenon::tool {
namespace {

using std::chrono::milliseconds;
using test::WrittenToPipe;
using test::WrittenToTerminal;

void ShowTwoPhases() {
  TerminalLine line;
  line.Show("[1/2] fusing");
  line.Show("[2/2] writing");
}

TEST_CASE("TerminalLine: a phase replaces the one before, and nothing is left at the end") {
  CHECK(WrittenToTerminal(ShowTwoPhases) == "\r\033[K[1/2] fusing\r\033[K[2/2] writing\r\033[K");
}

TEST_CASE("TerminalLine: what is no terminal is told nothing") {
  CHECK(WrittenToPipe(ShowTwoPhases).empty());
}

TEST_CASE("TerminalLine: what is over before the silence is has not been seen") {
  const std::string text = WrittenToTerminal([] {
    TerminalLine line(milliseconds(1500));  // longer than a busy machine lets this thread wait
    line.Show("early");
    std::this_thread::sleep_for(milliseconds(1510));
    line.Show("late");
  });
  CHECK(text == "\r\033[Klate\r\033[K");
}

}  // namespace
}  // namespace tenon::tool
