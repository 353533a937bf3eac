// In a program of its own: the library is looked for once.
#include <doctest/doctest.h>

#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL backend: without a library, opening says what was looked for") {
  const Variable library("TENON_OPENCL_LIBRARY", "/no/such/libOpenCL.so");
  void* device = nullptr;
  const Status status = OpenclBackend().device->open(1, &device);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(device == nullptr);
  CHECK(Text(status).find("libOpenCL.so.1") != std::string::npos);
}

}  // namespace tenon::opencl::testing
