#include <doctest/doctest.h>

#include <string>

#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::cpu {
namespace {

TEST_CASE("Portable table: has one kernel per op, named after it, in the order of the kinds") {
  const KernelList kernels = PortableKernels();
  REQUIRE(kernels.size() > kOpKindCount);
  for (size_t i = 0; i < kOpKindCount; ++i) {
    CHECK(static_cast<size_t>(kernels[i].row->kind) == i);
    CHECK(kernels[i].id == "cpu." + std::string(kernels[i].row->name) + ".portable");
    CHECK((kernels[i].check != nullptr));
    CHECK((kernels[i].run != nullptr));
  }
}

TEST_CASE("Portable table: what follows works over its input, and nothing needs the heap") {
  const KernelList kernels = PortableKernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    CAPTURE(kernels[i].id);
    CHECK((kernels[i].in_place_inputs != 0) == (i >= kOpKindCount));
    CHECK((kernels[i].load == nullptr));
    CHECK((kernels[i].open == nullptr));
    CHECK((kernels[i].packing_key == nullptr));
  }
}

}  // namespace
}  // namespace tenon::cpu
