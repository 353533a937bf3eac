#include "runtime/base/status.hpp"

#include <doctest/doctest.h>

#include <string>

using tenon::Span;
using tenon::Status;
using tenon::StatusCode;

namespace {
std::string Text(const Status& status, size_t limit = 128) {
  std::string buffer(limit, '?');
  buffer.resize(status.Format(Span<char>(buffer.data(), buffer.size())));
  return buffer;
}
}  // namespace

TEST_CASE("Status: numbers are put where the message wants them") {
  const Status status(StatusCode::kCorruptPlan, "offset {1} lies outside {0} bytes", 64, 100);
  CHECK(Text(status) == "offset 100 lies outside 64 bytes");
}

TEST_CASE("Status: the smallest integer is printed whole") {
  CHECK(Text(Status(StatusCode::kIoError, "{0}", INT64_MIN)) == "-9223372036854775808");
}

TEST_CASE("Status: a subject without a place stands in front") {
  CHECK(Text(Status(StatusCode::kUnsupported, "no kernel").About("conv_1")) == "conv_1: no kernel");
}

TEST_CASE("Status: a subject with a place stands there only") {
  CHECK(Text(Status(StatusCode::kUnsupported, "no kernel for {s}").About("conv_1")) ==
        "no kernel for conv_1");
}

TEST_CASE("Status: places stand before all else, the outermost first") {
  const Status status = Status(StatusCode::kBackendFailure, "{s} ({0})", -5).About("no memory");
  CHECK(Text(status.In("conv_1")) == "conv_1: no memory (-5)");
  CHECK(Text(status.In("conv_1").In("opencl")) == "opencl: conv_1: no memory (-5)");
  CHECK(Text(status.In("innermost").In("conv_1").In("opencl")) == "opencl: conv_1: no memory (-5)");
}

TEST_CASE("Status: a message longer than the buffer is cut and ends in NUL") {
  char buffer[8];
  const size_t size =
      Status(StatusCode::kIoError, "0123456789").Format(Span<char>(buffer, sizeof buffer));
  CHECK(size == 7);
  CHECK(std::string(buffer) == "0123456");
}

TEST_CASE("Status: default is ok, an error is not") {
  CHECK(Status().ok());
  CHECK_FALSE(Status(StatusCode::kIoError, "x").ok());
}
