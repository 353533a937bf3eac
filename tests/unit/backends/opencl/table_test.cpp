#include <doctest/doctest.h>

#include <set>
#include <string>

#include "backends/opencl/caps/opencl_caps.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

TEST_CASE("OpenCL backend: kernels and capabilities are the same list in the same order") {
  const Span<const KernelEntry> kernels = OpenclBackend().kernels;
  REQUIRE(kernels.size() == Kernels().size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    CHECK(std::string(kernels[i].id) == Kernels()[i].id);
    CHECK(kernels[i].row->kind == Kernels()[i].kind);
  }
}

TEST_CASE("OpenCL backend: ids are unique and name the op that they run") {
  std::set<std::string> seen;
  for (const KernelEntry& kernel : OpenclBackend().kernels) {
    CAPTURE(kernel.id);
    CHECK(seen.insert(kernel.id).second);
    CHECK(std::string(kernel.id).find(std::string("opencl.") + kernel.row->name + ".") == 0);
  }
}

TEST_CASE("OpenCL backend: every kernel that holds memory says how much it may be") {
  for (size_t i = 0; i < Kernels().size(); ++i) {
    CAPTURE(Kernels()[i].id);
    CHECK((OpenclBackend().kernels[i].held_bytes == nullptr) ==
          (Kernels()[i].packed_bytes == nullptr));
  }
}

TEST_CASE("OpenCL backend: it is called as its capabilities say") {
  CHECK(std::string(OpenclBackend().name) == OpenclCaps().name);
}

}  // namespace tenon::opencl
