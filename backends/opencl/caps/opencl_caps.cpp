#include "backends/opencl/caps/opencl_caps.hpp"

#include "backends/opencl/caps/supports.hpp"

namespace tenon::opencl {
namespace {

constexpr KernelCaps Row(const char* id, OpKind kind, const char* (*supports)(const OpCall&),
                         LayoutNeed need = LayoutNeed::kAny,
                         size_t (*held)(const OpCall&) = HeldConstants) {
  return {id, kind, supports, need, nullptr, held};
}

// In the order of the kernel table (opencl_backend.cpp); a test compares them.
constexpr KernelCaps kCaps[] = {
    Row("opencl.unary.rows", OpKind::kUnary, UnarySupports),
};

}  // namespace

Span<const KernelCaps> Kernels() { return kCaps; }

BackendCaps OpenclCaps() { return {"opencl", Kernels(), nullptr}; }

}  // namespace tenon::opencl
