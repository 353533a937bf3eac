// Makes a group's table from its list of kernels (caps/kernels.inc). Each kernel is a constant
// whose link name is `tenon_kernel_` and its id with underscores. Hosts list all of them; firmware
// names those it needs (the converter writes that table), and the linker drops the rest.
#pragma once

#include "runtime/backend_api/kernel.hpp"
#include "runtime/ops/constant_caps.hpp"
#include "runtime/ops/rows.hpp"

/// Defines the kernel of a row as the result of `Entry(caps, op row, code...)`, a function in
/// scope. It is a constant expression, so that only those caps remain that the entry copies.
#define TENON_DEFINE_KERNEL(op, Op, implementation, facts, ...)                               \
  extern "C" {                                                                                \
  extern const KernelEntry tenon_kernel_cpu_##op##_##implementation;                          \
  constexpr KernelEntry tenon_kernel_cpu_##op##_##implementation = Entry(                     \
      (facts).Named("cpu." #op "." #implementation, OpKind::k##Op), k##Op##Row, __VA_ARGS__); \
  }

/// Declares the kernel where another file defines it.
#define TENON_DECLARE_KERNEL(op, Op, implementation, ...) \
  extern const KernelEntry tenon_kernel_cpu_##op##_##implementation;

/// Gives the kernel's address, in a list of them.
#define TENON_KERNEL_ADDRESS(op, Op, implementation, ...) &tenon_kernel_cpu_##op##_##implementation,

namespace tenon::cpu {

// The overloads of Entry make an entry of a row's functions, which their types tell apart.
using CheckFunction = Status (*)(const KernelSetup&);
using LoadFunction = Status (*)(const KernelSetup&, void**);
using OpenFunction = Status (*)(const KernelSetup&, void*, void**);
using RunFunction = Status (*)(const KernelCall&);
using FreeFunction = void (*)(void*);
using HeldFunction = size_t (*)(const void*, const void*);

constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row, CheckFunction check,
                            LoadFunction load, OpenFunction open, RunFunction run,
                            FreeFunction unload, HeldFunction held_bytes) {
  return {caps.id,
          &row,
          check,
          load,
          open,
          run,
          nullptr,
          unload,
          held_bytes,
          caps.packing_key,
          caps.in_place_inputs};
}
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row, CheckFunction check,
                            OpenFunction open, RunFunction run) {
  return Entry(caps, row, check, nullptr, open, run, nullptr, nullptr);
}
constexpr KernelEntry Entry(const KernelCaps& caps, const OpRow& row, CheckFunction check,
                            RunFunction run) {
  return Entry(caps, row, check, nullptr, run);
}

}  // namespace tenon::cpu
