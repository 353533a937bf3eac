// The few functions inside XRT's libraries that a shim must call, and those that it must have.
#pragma once

#include <memory>

struct axlf;

namespace xrt_core {
class device;
}

namespace tenon::fpga::sim {

/// Makes XRT's object of a device whose shim handle is `handle`.
std::shared_ptr<xrt_core::device> MakeCoreDevice(void* handle, unsigned index);

/// Tells XRT's object of the handle which xclbin is loaded. Returns 0 or an error of errno.h.
int RegisterXclbin(void* handle, const axlf* image);

}  // namespace tenon::fpga::sim
