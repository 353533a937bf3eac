// Checks of doctest outside of tests: what does not hold ends the program, which libFuzzer reports.
// The file that includes this defines DOCTEST_CONFIG_IMPLEMENT before.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tenon::fuzz {

inline void AbortOnFailedChecks() {
  static doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler([](const doctest::AssertData& data) {
    if (data.m_failed) {
      std::fprintf(stderr, "%s:%d: %s\n", data.m_file, data.m_line, data.m_expr);
      std::abort();
    }
  });
}

/// Ends the program with what is wrong.
[[noreturn]] inline void AbortWith(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace tenon::fuzz
