#include "backends/fpga/sim/shim_core.hpp"

#include <cerrno>
#include <cstdint>
#include <exception>

// XRT has no headers for these; their names are all that counts. Both libraries are of one release.
namespace xrt_core {
namespace query {
enum class key_type;
}
class device {
 public:
  void register_axlf(const axlf* image);
};
std::shared_ptr<device> get_userpf_device(void* handle);
namespace swemu {
std::shared_ptr<device> get_userpf_device(void* handle, unsigned index);
}
}  // namespace xrt_core

// The objects that are taken from XRT's software emulation ask this class; without it they would
// bring along the emulation itself.
namespace xclcpuemhal2 {
class __attribute__((visibility("default"))) CpuemShim {
 public:
  static CpuemShim* handleCheck(void*);
  uint32_t deviceQuery(xrt_core::query::key_type);
};
CpuemShim* CpuemShim::handleCheck(void*) { return nullptr; }
uint32_t CpuemShim::deviceQuery(xrt_core::query::key_type) { return 0; }
}  // namespace xclcpuemhal2

namespace tenon::fpga::sim {

std::shared_ptr<xrt_core::device> MakeCoreDevice(void* handle, unsigned index) {
  return xrt_core::swemu::get_userpf_device(handle, index);
}

int RegisterXclbin(void* handle, const axlf* image) {
  try {
    xrt_core::get_userpf_device(handle)->register_axlf(image);
    return 0;
  } catch (const std::exception&) {
    return -EINVAL;
  }
}

}  // namespace tenon::fpga::sim
