#include <doctest/doctest.h>

#include <string>

#include "backends/cpu/caps/portable_caps.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "runtime/ops/op_kind.hpp"

namespace tenon::cpu {
namespace {

TEST_CASE("Portable table: has one kernel per op, named after it, in the order of the kinds") {
  const KernelList kernels = PortableKernels();
  REQUIRE(kernels.size() == kOpKindCount);
  for (size_t i = 0; i < kernels.size(); ++i) {
    CHECK(static_cast<size_t>(kernels[i].row->kind) == i);
    CHECK(kernels[i].id == "cpu." + std::string(kernels[i].row->name) + ".portable");
    CHECK((kernels[i].check != nullptr));
    CHECK((kernels[i].run != nullptr));
  }
}

TEST_CASE("Portable table: caps name the same kernels, any layout and no workspace") {
  const KernelList kernels = PortableKernels();
  const Span<const KernelCaps> caps = PortableCaps();
  REQUIRE(caps.size() == kernels.size());
  for (size_t i = 0; i < caps.size(); ++i) {
    CHECK(std::string(caps[i].id) == kernels[i].id);
    CHECK(caps[i].kind == kernels[i].row->kind);
    CHECK(caps[i].activations == LayoutNeed::kAny);
    CHECK((caps[i].workspace_bytes == nullptr));
  }
}

}  // namespace
}  // namespace tenon::cpu
