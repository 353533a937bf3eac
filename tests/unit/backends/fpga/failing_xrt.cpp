#include "tests/unit/backends/fpga/failing_xrt.hpp"

#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <any>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace tenon::test {
namespace {

std::atomic<int> calls{0};
std::atomic<int> fail_at{0};
std::atomic<const char*> counted{nullptr};
std::atomic<const char*> failed{nullptr};
std::atomic<XrtFailure> how{XrtFailure::kSystemError};

void Pass(const char* name) {
  const char* const function = counted;
  if (function != nullptr && std::strstr(name, function) == nullptr) return;
  if (++calls != fail_at) return;
  failed = name;
  switch (how) {
    case XrtFailure::kSystemError:
      throw std::system_error(EIO, std::generic_category(), "injected");
    case XrtFailure::kBadAlloc:
      throw std::bad_alloc();
    case XrtFailure::kUnknown:
      throw 1;
  }
}

}  // namespace

void FailXrtCall(int number, XrtFailure failure, const char* function) {
  fail_at = 0;
  counted = function;
  calls = 0;
  failed = nullptr;
  how = failure;
  fail_at = number;
}

std::string FailedXrtCall() {
  const char* const name = failed;
  return name == nullptr ? "" : name;
}

}  // namespace tenon::test

// A member function is called as a function whose first parameter is the object; what is returned
// in memory has its place before that, here as there.
// NOLINTBEGIN(bugprone-reserved-identifier)
#define TENON_XRT_CALL(symbol, Returned, parameters, arguments) \
  extern "C" Returned __real_##symbol parameters;               \
  extern "C" Returned __wrap_##symbol parameters {              \
    tenon::test::Pass(#symbol);                                 \
    return __real_##symbol arguments;                           \
  }

TENON_XRT_CALL(_ZN3xrt6deviceC1Ej, void, (void* self, unsigned index), (self, index))
TENON_XRT_CALL(_ZN3xrt6deviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, void,
               (void* self, const std::string& name), (self, name))
TENON_XRT_CALL(_ZNK3xrt6device12get_info_stdENS_4info6deviceERKNS_6detail3abiE, std::any,
               (const void* self, int what, const void* abi), (self, what, abi))
TENON_XRT_CALL(_ZN3xrt6device11load_xclbinERKNS_6xclbinE, xrt::uuid,
               (void* self, const xrt::xclbin& image), (self, image))
TENON_XRT_CALL(_ZNK3xrt6devicecvPvEv, void*, (const void* self), (self))
TENON_XRT_CALL(_ZN3xrt6xclbinC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, void,
               (void* self, const std::string& file), (self, file))
TENON_XRT_CALL(
    _ZN3xrt6kernelC1ERKNS_6deviceERKNS_4uuidERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEENS0_14cu_access_modeE,
    void,
    (void* self, const xrt::device& device, const xrt::uuid& uuid, const std::string& name,
     xrt::kernel::cu_access_mode mode),
    (self, device, uuid, name, mode))
TENON_XRT_CALL(_ZNK3xrt6kernel8group_idEi, int, (const void* self, int argument), (self, argument))
TENON_XRT_CALL(_ZNK3xrt6kernel13read_registerEj, uint32_t, (const void* self, uint32_t offset),
               (self, offset))
TENON_XRT_CALL(_ZN3xrt3runC1ERKNS_6kernelE, void, (void* self, const xrt::kernel& kernel),
               (self, kernel))
TENON_XRT_CALL(_ZN3xrt3run16set_arg_at_indexEiPKvm, void,
               (void* self, int index, const void* value, size_t bytes),
               (self, index, value, bytes))
TENON_XRT_CALL(_ZN3xrt3run5startEv, void, (void* self), (self))
TENON_XRT_CALL(_ZNK3xrt3run5stateEv, ert_cmd_state, (const void* self), (self))
TENON_XRT_CALL(_ZN3xrt2boC1EPvmNS0_5flagsEj, void,
               (void* self, void* device, size_t bytes, xrt::bo::flags flags, unsigned group),
               (self, device, bytes, flags, group))
TENON_XRT_CALL(_ZN3xrt2bo3mapEv, void*, (void* self), (self))
TENON_XRT_CALL(_ZNK3xrt2bo7addressEv, uint64_t, (const void* self), (self))
TENON_XRT_CALL(_ZN3xrt2bo4syncE18xclBOSyncDirectionmm, void,
               (void* self, xclBOSyncDirection direction, size_t bytes, size_t offset),
               (self, direction, bytes, offset))
// NOLINTEND(bugprone-reserved-identifier)
