// Plans from another program, plan_maker, for tests that cannot link the converter.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::test {

/// A plan, and inputs with the outputs that the host's runtime gives for them.
struct MadePlan {
  std::vector<uint8_t> plan;
  std::vector<std::vector<uint8_t>> arrays;  ///< inputs, then outputs; none without a run
};

/// What plan_maker says to these arguments.
inline MadePlan RunPlanMaker(const std::string& arguments) {
  MadePlan made;
  const std::string command = std::string(TENON_PLAN_MAKER) + " " + arguments;
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  uint64_t size = 0;
  for (bool is_first = true; std::fread(&size, 1, sizeof size, pipe) == sizeof size;) {
    std::vector<uint8_t>& bytes = is_first ? made.plan : made.arrays.emplace_back();
    bytes.resize(size);
    if (size > 0) REQUIRE(std::fread(bytes.data(), 1, size, pipe) == size);
    is_first = false;
  }
  REQUIRE_MESSAGE(pclose(pipe) == 0, command);
  return made;
}

/// The plan of a graph in text form.
inline MadePlan MakePlan(std::string_view text, const std::string& options = "",
                         const std::string& board = "x86-64") {
  char path[] = "/tmp/tenon_graph_XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(file);
  const MadePlan made = RunPlanMaker(board + " text " + path + " " + options);
  unlink(path);
  return made;
}

}  // namespace tenon::test
