// In a program of its own: loaders look for drivers once.
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL backend: without a driver, opening says what was looked for") {
  const std::filesystem::path empty =
      std::filesystem::path(std::getenv("TENON_BINARY_DIR")) / "opencl_cache/no_drivers";
  std::filesystem::create_directories(empty);
  // Of the Khronos loader and of ocl-icd.
  const Variable vendors("OCL_ICD_VENDORS", empty.c_str());
  void* device = nullptr;
  const Status status = OpenclBackend().device->open(1, &device);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Text(status).find("0 devices of 0 platforms") != std::string::npos);
}

}  // namespace tenon::opencl::testing
