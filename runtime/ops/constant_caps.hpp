// For lists of kernels that are constant expressions (TENON_KERNEL_CAPS, TENON_DEFINE_KERNEL).
//
// KernelCaps says each fact through a member template that stands behind those who call it. Clang
// 14 then instantiates it at the end of a file, too late for a constant in it, unless it is told
// to.
#pragma once

#include "runtime/ops/kernel_caps.hpp"

#if defined(__clang__)
namespace tenon {

template KernelCaps KernelCaps::With(const char* KernelCaps::*field, const char* value) const;
template KernelCaps KernelCaps::With(OpKind KernelCaps::*field, OpKind value) const;
template KernelCaps KernelCaps::With(size_t (*KernelCaps::*field)(const OpCall&, int),
                                     size_t (*value)(const OpCall&, int)) const;
template KernelCaps KernelCaps::With(size_t (*KernelCaps::*field)(const OpCall&),
                                     size_t (*value)(const OpCall&)) const;
template KernelCaps KernelCaps::With(void (*KernelCaps::*field)(const OpCall&, PackingKey*),
                                     void (*value)(const OpCall&, PackingKey*)) const;
template KernelCaps KernelCaps::With(int (*KernelCaps::*field)(const OpCall&, const char**, int),
                                     int (*value)(const OpCall&, const char**, int)) const;
template KernelCaps KernelCaps::With(WeightsOrder KernelCaps::*field, WeightsOrder value) const;
template KernelCaps KernelCaps::With(bool KernelCaps::*field, bool value) const;
template KernelCaps KernelCaps::With(uint32_t KernelCaps::*field, uint32_t value) const;

}  // namespace tenon
#endif
