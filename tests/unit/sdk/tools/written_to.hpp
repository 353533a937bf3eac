// What code writes to standard error, which is a terminal or a pipe meanwhile.
#pragma once

#include <doctest/doctest.h>
#include <pty.h>
#include <unistd.h>

#include <iostream>
#include <string>

namespace tenon::tool::test {

/// Runs `code` with `end` as standard error; `other` is what can be read from it. Closes both: what
/// is written to a terminal reaches its other end some time later, and only a closed end says that
/// nothing more comes.
template <class Code>
std::string WrittenTo(int end, int other, const Code& code) {
  std::cerr << std::flush;
  const int before = dup(STDERR_FILENO);
  dup2(end, STDERR_FILENO);
  close(end);
  code();
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

template <class Code>
std::string WrittenToTerminal(const Code& code) {
  int terminal = -1;
  int reader = -1;
  REQUIRE(openpty(&reader, &terminal, nullptr, nullptr, nullptr) == 0);
  return WrittenTo(terminal, reader, code);
}

template <class Code>
std::string WrittenToPipe(const Code& code) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  return WrittenTo(ends[1], ends[0], code);
}

}  // namespace tenon::tool::test
