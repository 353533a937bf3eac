// Devices whose work-groups share rows, as GPUs' do, whatever the device is.
#pragma once

#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

/// The device with groups of so many work-items. Never closed, as TheDevice.
inline void* OpenWithGroups(const char* items) {
  const Variable variable("TENON_OPENCL_ROW_GROUP", items);
  void* opened = nullptr;
  REQUIRE(OpenclBackend().device->open(2, &opened).ok());
  return opened;
}

inline void* Sharing(int items) {
  static void* const small = OpenWithGroups("16");
  static void* const large = OpenWithGroups("64");
  return items == 16 ? small : large;
}

}  // namespace tenon::opencl::testing
