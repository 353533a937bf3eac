// Errors of a build without words, and how scripts/explain.py gives the words back.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/base/status.hpp"

using namespace tenon;  // NOLINT

namespace {

constexpr char kMessage[] = "the plan's header says {0} bytes, the file has {1}";

std::string Text(const Status& status, size_t limit = 64) {
  std::string buffer(limit, '?');
  buffer.resize(status.Format(Span<char>(buffer.data(), buffer.size())));
  return buffer;
}

Status Refuse(int argument) {
  TENON_ENSURE(argument == 0, kUnsupported, kMessage, argument, 2, 3);
  return OkStatus();
}

}  // namespace

TEST_CASE("Status without words: takes one word") {
  static_assert(!kHasWords);
  CHECK(sizeof(Status) == 4);
  CHECK(Status().ok());
  CHECK(Refuse(0).ok());
}

TEST_CASE("Status without words: keeps code, number and first argument") {
  const Status status = Refuse(17);
  CHECK_FALSE(status.ok());
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(status.number() == Message(kMessage).number());
  CHECK(status.argument() == 17);
  CHECK(status.number() != Message("another message").number());
}

TEST_CASE("Status without words: an argument that does not fit is the largest that does") {
  CHECK(Refuse(2046).argument() == 2046);
  CHECK(Refuse(2047).argument() == 2047);
  CHECK(Refuse(1 << 20).argument() == 2047);
  CHECK(Refuse(-1).argument() == 2047);
  CHECK(Refuse(1 << 20).code() == StatusCode::kUnsupported);
  CHECK(Refuse(1 << 20).number() == Message(kMessage).number());
}

TEST_CASE("Status without words: an error says of which op it is, success does not") {
  const Status status = Refuse(17).AtOp(5);
  CHECK(status.is_at_op());
  CHECK(status.argument() == 5);
  CHECK(status.number() == Message(kMessage).number());
  CHECK(OkStatus().AtOp(5).ok());
  CHECK(Refuse(17).As(StatusCode::kCorruptPlan).code() == StatusCode::kCorruptPlan);
  CHECK(Refuse(17).As(StatusCode::kCorruptPlan).argument() == 17);
}

TEST_CASE("Status without words: names are dropped") {
  CHECK(Text(Refuse(1).About("conv_1").In("cpu")) == Text(Refuse(1)));
}

TEST_CASE("Status without words: text is cut to the buffer and ends in NUL") {
  char buffer[8];
  CHECK(Refuse(5).Format(Span<char>(buffer, sizeof buffer)) == 7);
  CHECK(std::string(buffer) == "error " + Text(Refuse(5)).substr(6, 1));
  CHECK(Text(OkStatus()).empty());
}

#ifdef __unix__

/// What explain.py prints for the words of an error.
static std::string Explained(const std::string& error) {
  const char* source = std::getenv("TENON_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::string command = "python3 '";
  command.append(source).append("/scripts/explain.py' '").append(error).append("'");
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  (void)pclose(pipe);
  return text;
}

TEST_CASE("Status without words: explain.py gives the words of what Format writes") {
  if (std::system("python3 --version > /dev/null 2>&1") != 0) {
    MESSAGE("skipped: no python3");
    return;
  }
  CHECK(Text(Refuse(17)).substr(10) == " (17)");
  CHECK(Explained(Text(Refuse(17))).find("the plan's header says 17 bytes") == 0);
  CHECK(Text(Refuse(17).AtOp(5)).substr(10) == " at 5");
  CHECK(Explained(Text(Refuse(17).AtOp(5))).find("op 5: the plan's header says ... bytes") == 0);
  CHECK(Explained(Text(Refuse(1 << 20))).find("says 2047 or more bytes") != std::string::npos);
}

#endif
