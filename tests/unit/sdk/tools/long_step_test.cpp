#include "sdk/tools/long_step.hpp"

#include <doctest/doctest.h>
#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

namespace tenon::tool {
namespace {

/// What a step of so many milliseconds writes to standard error, which is `end` meanwhile; `other`
/// is what can be read from it. Closes both: what is written to a terminal reaches its other end
/// some time later, and only a closed end says that nothing more comes.
std::string WrittenTo(int end, int other, int milliseconds) {
  std::cerr << std::flush;
  const int before = dup(STDERR_FILENO);
  dup2(end, STDERR_FILENO);
  close(end);
  {
    const LongStep step("packing");
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
  std::cerr << std::flush;
  dup2(before, STDERR_FILENO);
  close(before);
  std::string text;
  char part[1000];
  for (ssize_t count = 0; (count = read(other, part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(count));
  }
  close(other);
  return text;
}

std::string WrittenToTerminal(int milliseconds) {
  int terminal = -1;
  int reader = -1;
  REQUIRE(openpty(&reader, &terminal, nullptr, nullptr, nullptr) == 0);
  return WrittenTo(terminal, reader, milliseconds);
}

TEST_CASE("LongStep: a terminal is told after a second what takes long, and then nothing is left") {
  CHECK(WrittenToTerminal(100).empty());
  const std::string text = WrittenToTerminal(1500);
  CHECK(text.find("packing (1 s)") != std::string::npos);
  CHECK(text.ends_with("\r\033[K"));
}

TEST_CASE("LongStep: what is no terminal is told nothing") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(WrittenTo(ends[1], ends[0], 1200).empty());
}

}  // namespace
}  // namespace tenon::tool
