// tenon.h lets programs write backends down as constants of C: that they are ours is held here.
#include <cstddef>
#include <type_traits>

#include "runtime/backend_api/backend.hpp"
#include "tenon/tenon.h"

namespace tenon::sdk {
namespace {

// KernelList keeps its members to itself; these are its addresses and their count.
static_assert(std::is_standard_layout_v<Backend> && std::is_standard_layout_v<KernelList>);
static_assert(sizeof(tenon_backend) == sizeof(Backend));
static_assert(alignof(tenon_backend) == alignof(Backend));
static_assert(offsetof(tenon_backend, name) == offsetof(Backend, name));
static_assert(offsetof(tenon_backend, table) == offsetof(Backend, kernels));
static_assert(offsetof(tenon_backend, hooks) == offsetof(Backend, make_runner));
static_assert(offsetof(tenon_backend, device) == offsetof(Backend, device));
static_assert(offsetof(tenon_backend, hooks) - offsetof(tenon_backend, table) ==
              sizeof(KernelList));

}  // namespace
}  // namespace tenon::sdk
