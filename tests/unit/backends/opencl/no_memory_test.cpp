// A program of its own: it replaces operator new.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace {

/// Blocks of this size are not to be had. 0: all are.
size_t missing_size = 0;

}  // namespace

// Not inlined: the compiler would see a free without its malloc.
[[gnu::noinline]] void* operator new(size_t bytes) {
  void* memory = bytes != 0 && bytes == missing_size ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace tenon::opencl::testing {

TEST_CASE("OpenCL: memory that is not there for a kernel's table is an error, not an exception") {
  constexpr int32_t kCount = 12'347;
  Tensor indices(DType::kI64, {kCount});
  indices.Set(std::vector<int64_t>(kCount, 3));
  PairedOp op("opencl.gather.rows");
  op.AddInput(Tensor(DType::kU8, {5}));
  op.AddInput(indices, kConstant);
  op.AddOutput({kCount}, Layout::kRowMajor, DType::kU8);
  REQUIRE(op.device().Run(GatherAttributes{}).ok());
  missing_size = kCount * sizeof(int32_t);
  const Status status = op.device().Run(GatherAttributes{});
  missing_size = 0;
  CHECK(status.code() == StatusCode::kOutOfMemory);
  CHECK(op.device().Run(GatherAttributes{}).ok());
}

}  // namespace tenon::opencl::testing
