// Kernels that are wrong on purpose, to show that the tests under oclgrind can fail.
#include <doctest/doctest.h>

#include "backends/opencl/kernels/kernel_support.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

/// Runs `source`'s function `fault` on a buffer of 16 floats and two work-items.
void RunFault(const char* source) {
  auto& device = *static_cast<Device*>(TheDevice());
  cl_int code = CL_SUCCESS;
  cl_program program = Cl().CreateProgramWithSource(device.context(), 1, &source, nullptr, &code);
  cl_device_id id = device.id();
  REQUIRE(Cl().BuildProgram(program, 1, &id, "", nullptr, nullptr) == CL_SUCCESS);
  Kernel kernel;
  REQUIRE(kernel.Create(program, "fault").ok());
  cl_mem memory =
      Cl().CreateBuffer(device.context(), CL_MEM_READ_WRITE, 16 * sizeof(float), nullptr, &code);
  REQUIRE(kernel.SetArgument(0, &memory, sizeof(memory)).ok());
  cl_command_queue queue = Cl().CreateCommandQueue(device.context(), id, 0, &code);
  const size_t two = 2;
  REQUIRE(Cl().EnqueueNDRangeKernel(queue, kernel.kernel(), 1, nullptr, &two, &two, 0, nullptr,
                                    nullptr) == CL_SUCCESS);
  Cl().Finish(queue);
  Cl().ReleaseCommandQueue(queue);
  Cl().ReleaseMemObject(memory);
  Cl().ReleaseProgram(program);
}

}  // namespace

TEST_CASE("out of bounds") {
  RunFault("__kernel void fault(__global float* x) { x[get_global_id(0) * 100] = 1.0f; }");
}

TEST_CASE("race") {
  RunFault("__kernel void fault(__global float* x) { x[0] = get_global_id(0); }");
}

TEST_CASE("uninitialized") {
  RunFault(
      "__kernel void fault(__global float* x) {"
      " x[get_global_id(0)] = x[get_global_id(0) + 8] + 1.0f; }");
}

TEST_CASE("nothing wrong") {
  RunFault("__kernel void fault(__global float* x) { x[get_global_id(0)] = 1.0f; }");
}

}  // namespace tenon::opencl::testing
