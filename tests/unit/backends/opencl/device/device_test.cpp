#include "backends/opencl/device/device.hpp"

#include <doctest/doctest.h>

#include <cctype>
#include <string>

#include "backends/opencl/device/cl_error.hpp"
#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL device: one of some name is found, whatever its letters' case") {
  Device device;
  REQUIRE(device.Open(1024).ok());
  std::string name = device.traits().name;
  REQUIRE(!name.empty());
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const Variable wanted("TENON_OPENCL_DEVICE", name.c_str());
  Device same;
  REQUIRE(same.Open(1024).ok());
  CHECK(same.traits().name == device.traits().name);
}

TEST_CASE("OpenCL device: a name that none has is refused, and named") {
  const Variable wanted("TENON_OPENCL_DEVICE", "no such device");
  Device device;
  const Status status = device.Open(1);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Text(status).find("no such device") != std::string::npos);
  CHECK(Text(status).find("TENON_OPENCL_DEVICE") != std::string::npos);
}

TEST_CASE("OpenCL device: variables with values that mean nothing are refused") {
  for (const char* name :
       {"TENON_OPENCL_TRANSFER", "TENON_OPENCL_VECTOR", "TENON_OPENCL_ROW_GROUP"}) {
    const Variable variable(name, "sideways");
    Device device;
    const Status status = device.Open(1);
    CHECK(status.code() == StatusCode::kUnsupported);
    CHECK(Text(status).find(name) != std::string::npos);
  }
}

TEST_CASE("OpenCL device: a CPU is held to the threads that it may have") {
  Device all;
  REQUIRE(all.Open(1024).ok());
  if (!all.traits().is_cpu || all.traits().compute_units < 2) {
    MESSAGE("not shown: the device is no CPU of several cores");
    return;
  }
  Device one;
  REQUIRE(one.Open(1).ok());
  CHECK(one.traits().compute_units == 1);
  CHECK(one.id() != all.id());
}

TEST_CASE("OpenCL device: a program that does not compile says why, and where") {
  Device device;
  REQUIRE(device.Open(1).ok());
  cl_program program = nullptr;
  const Status status = device.FindProgram("unary.cl", "-DFUNCTION=nonsense", &program);
  CHECK(status.code() == StatusCode::kBackendFailure);
  CHECK(Text(status).find("unary.cl") != std::string::npos);
  CHECK(Text(status).find("CL_BUILD_PROGRAM_FAILURE") != std::string::npos);
  CHECK(Text(status).find("FUNCTION_nonsense") != std::string::npos);
  CHECK(device.FindProgram("no.cl", "", &program).code() == StatusCode::kBackendFailure);
}

TEST_CASE("OpenCL device: TENON_OPENCL_KIND=gpu has it used as a GPU, and nothing else is taken") {
  Variable kind("TENON_OPENCL_KIND", "gpu");
  Device device;
  REQUIRE(device.Open(1).ok());
  CHECK_FALSE(device.traits().is_cpu);
  CHECK(device.traits().tiles() == TileDevice::kLocalMemory);
  CHECK(device.traits().row_group > 1);
  kind.Set("cpu");
  Device refused;
  const Status status = refused.Open(1);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Text(status).find("TENON_OPENCL_KIND must be gpu") != std::string::npos);
}

TEST_CASE("OpenCL device: a program is built once, whoever asks, and once per option") {
  const Variable cache("TENON_CACHE_DIR", "off");
  const Interception interception;
  Device device;
  REQUIRE(device.Open(1).ok());
  cl_program first = nullptr;
  cl_program second = nullptr;
  cl_program other = nullptr;
  REQUIRE(device.FindProgram("lrn.cl", "", &first).ok());
  REQUIRE(device.FindProgram("lrn.cl", "", &second).ok());
  REQUIRE(device.FindProgram("lrn.cl", "-DOTHER", &other).ok());
  CHECK(first == second);
  CHECK(first != other);
  CHECK(Interception::Take().built == 2);
}

TEST_CASE("OpenCL errors: they carry the call and the code's name") {
  const Status failed = ClStatus(CL_OUT_OF_RESOURCES, "clEnqueueNDRangeKernel");
  CHECK(failed.code() == StatusCode::kBackendFailure);
  CHECK(Text(failed) == "clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES (-5)");
  CHECK(ClStatus(CL_MEM_OBJECT_ALLOCATION_FAILURE, "clCreateBuffer").code() ==
        StatusCode::kOutOfMemory);
  CHECK(Text(ClStatus(-7777, "clFlush")) == "clFlush failed: an unknown OpenCL error (-7777)");
}

}  // namespace tenon::opencl::testing
