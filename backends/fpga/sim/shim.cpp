// The interface between XRT's user-space library and a board (xrt.h), on the simulated board.
// Debian's unmodified libxrt_coreutil loads the library that this file is in as libxrt_core.so.2.
#include <xclbin.h>
#include <xrt.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "backends/fpga/sim/board.hpp"
#include "backends/fpga/sim/call_faults.hpp"
#include "backends/fpga/sim/shim_core.hpp"

namespace {

using tenon::fpga::sim::Board;
using tenon::fpga::sim::BufferObject;
using tenon::fpga::sim::Client;
using tenon::fpga::sim::Fails;
using tenon::fpga::sim::ReadSettings;
using tenon::fpga::sim::Settings;

constexpr int kAlignment = 4096;

/// What XRT holds as a device's handle.
struct Handle {
  Board& board;
  std::unique_ptr<Client> client;
  bool is_traced;
  /// XRT's own object for the handle, which finds it by the handle's address.
  std::shared_ptr<xrt_core::device> core;
};

Handle& AsHandle(xclDeviceHandle handle) { return *static_cast<Handle*>(handle); }

void Trace(const Handle& handle, const char* call, long long a = 0, long long b = 0) {
  if (handle.is_traced) std::fprintf(stderr, "tenon simulated board: %s %lld %lld\n", call, a, b);
}

/// The settings of this moment; says once what is not understood, and that there is no board then.
bool CurrentSettings(Settings* settings) {
  std::string error;
  if (ReadSettings(settings, &error)) return true;
  std::fprintf(stderr, "tenon simulated board: %s\n", error.c_str());
  return false;
}

}  // namespace

extern "C" {

unsigned xclProbe() {
  Settings settings;
  return CurrentSettings(&settings) ? settings.devices : 0;
}

xclDeviceHandle xclOpen(unsigned index, const char*, xclVerbosityLevel) {
  if (Fails("xclOpen")) return nullptr;
  Settings settings;
  if (!CurrentSettings(&settings) || index >= settings.devices) return nullptr;
  Board& board = Board::At(index);
  auto handle =
      std::make_unique<Handle>(Handle{board, board.Open(settings), settings.trace, nullptr});
  handle->core = tenon::fpga::sim::MakeCoreDevice(handle.get(), index);
  Trace(*handle, "open", index);
  return handle.release();
}

void xclClose(xclDeviceHandle handle) {
  const std::unique_ptr<Handle> closed(&AsHandle(handle));
  Trace(*closed, "close");
  closed->board.Close(std::move(closed->client));
}

int xclGetDeviceInfo2(xclDeviceHandle, xclDeviceInfo2* info) {
  if (Fails("xclGetDeviceInfo2")) return -EIO;
  std::memset(info, 0, sizeof *info);
  std::strcpy(info->mName, "tenon_simulated_board");
  info->mDataAlignment = kAlignment;
  info->mDDRBankCount = 1;
  info->mOCLFrequency[0] = 300;
  return 0;
}

int xclLoadXclBin(xclDeviceHandle handle, const axlf* image) {
  if (Fails("xclLoadXclBin")) return -EIO;
  Trace(AsHandle(handle), "load xclbin");
  const int result = AsHandle(handle).board.Load(*AsHandle(handle).client, image);
  return result == 0 ? tenon::fpga::sim::RegisterXclbin(handle, image) : result;
}

int xclOpenContext(xclDeviceHandle handle, const xuid_t uuid, unsigned unit, bool is_shared) {
  if (Fails("xclOpenContext")) return -EIO;
  Trace(AsHandle(handle), "open context", static_cast<int>(unit), is_shared);
  return AsHandle(handle).board.OpenContext(*AsHandle(handle).client, uuid, unit, is_shared);
}

// Tests never make this one or xclUnmapBO fail: XRT throws out of a destructor then, which ends the
// process.
int xclCloseContext(xclDeviceHandle handle, const xuid_t, unsigned unit) {
  Trace(AsHandle(handle), "close context", static_cast<int>(unit));
  return AsHandle(handle).board.CloseContext(*AsHandle(handle).client, unit);
}

xclBufferHandle xclAllocUserPtrBO(xclDeviceHandle handle, void* host, size_t bytes,
                                  unsigned flags) {
  if (Fails("xclAllocBO")) return XRT_NULL_BO;
  const unsigned buffer =
      AsHandle(handle).board.Allocate(*AsHandle(handle).client, host, bytes, flags);
  Trace(AsHandle(handle), "allocate", buffer, static_cast<long long>(bytes));
  return buffer == 0 ? XRT_NULL_BO : buffer;
}

xclBufferHandle xclAllocBO(xclDeviceHandle handle, size_t bytes, int, unsigned flags) {
  return xclAllocUserPtrBO(handle, nullptr, bytes, flags);
}

void xclFreeBO(xclDeviceHandle handle, xclBufferHandle buffer) {
  Trace(AsHandle(handle), "free", buffer);
  AsHandle(handle).board.Free(*AsHandle(handle).client, buffer);
}

void* xclMapBO(xclDeviceHandle handle, xclBufferHandle buffer, bool) {
  if (Fails("xclMapBO")) return nullptr;
  const BufferObject* const found = AsHandle(handle).board.Find(*AsHandle(handle).client, buffer);
  return found == nullptr ? nullptr : found->host;
}

int xclUnmapBO(xclDeviceHandle, xclBufferHandle, void*) { return 0; }

int xclSyncBO(xclDeviceHandle handle, xclBufferHandle buffer, xclBOSyncDirection direction,
              size_t bytes, size_t offset) {
  if (Fails("xclSyncBO")) return -EIO;
  const bool to_device = direction == XCL_BO_SYNC_BO_TO_DEVICE;
  Trace(AsHandle(handle), to_device ? "to device" : "from device", buffer,
        static_cast<long long>(bytes));
  return AsHandle(handle).board.Copy(*AsHandle(handle).client, buffer, to_device, bytes, offset);
}

int xclGetBOProperties(xclDeviceHandle handle, xclBufferHandle buffer, xclBOProperties* found) {
  if (Fails("xclGetBOProperties")) return -EIO;
  const BufferObject* const object = AsHandle(handle).board.Find(*AsHandle(handle).client, buffer);
  if (object == nullptr) return -ENOENT;
  found->handle = buffer;
  found->flags = object->flags;
  found->size = object->bytes;
  found->paddr = object->address;
  return 0;
}

int xclExecBuf(xclDeviceHandle handle, xclBufferHandle buffer) {
  if (Fails("xclExecBuf")) return -EIO;
  Trace(AsHandle(handle), "execute", buffer);
  return AsHandle(handle).board.Enqueue(*AsHandle(handle).client, buffer);
}

int xclExecWait(xclDeviceHandle handle, int milliseconds) {
  if (Fails("xclExecWait")) return -EIO;
  return AsHandle(handle).board.WaitForAny(*AsHandle(handle).client, milliseconds);
}

int xclRegWrite(xclDeviceHandle handle, uint32_t unit, uint32_t offset, uint32_t value) {
  if (Fails("xclRegWrite")) return -EIO;
  return AsHandle(handle).board.WriteRegister(*AsHandle(handle).client, unit, offset, value);
}

int xclRegRead(xclDeviceHandle handle, uint32_t unit, uint32_t offset, uint32_t* value) {
  if (Fails("xclRegRead")) return -EIO;
  return AsHandle(handle).board.ReadRegister(*AsHandle(handle).client, unit, offset, value);
}

// What the driver does not use, and this board does not do.
int xclCopyBO(xclDeviceHandle, xclBufferHandle, xclBufferHandle, size_t, size_t, size_t) {
  return -ENOSYS;
}
size_t xclWrite(xclDeviceHandle, xclAddressSpace, uint64_t, const void*, size_t) { return 0; }
size_t xclRead(xclDeviceHandle, xclAddressSpace, uint64_t, void*, size_t) { return 0; }
ssize_t xclUnmgdPwrite(xclDeviceHandle, unsigned, const void*, size_t, uint64_t) { return -ENOSYS; }
ssize_t xclUnmgdPread(xclDeviceHandle, unsigned, void*, size_t, uint64_t) { return -ENOSYS; }
xclBufferExportHandle xclExportBO(xclDeviceHandle, xclBufferHandle) { return XRT_NULL_BO_EXPORT; }
xclBufferHandle xclImportBO(xclDeviceHandle, xclBufferExportHandle, unsigned) {
  return XRT_NULL_BO;
}
int xclReClock2(xclDeviceHandle, unsigned short, const uint16_t*) { return -ENOSYS; }
int xclP2pEnable(xclDeviceHandle, bool, bool) { return -ENOSYS; }

}  // extern "C"

// Functions of the interface that XRT calls by their C++ names.
int xclUpdateSchedulerStat(xclDeviceHandle) { return 0; }
int xclInternalResetDevice(xclDeviceHandle handle, xclResetKind) {
  Trace(AsHandle(handle), "reset");
  return AsHandle(handle).board.Reset(*AsHandle(handle).client);
}
int xclCmaEnable(xclDeviceHandle, bool, uint64_t) { return -ENOSYS; }
int xclCloseExportHandle(xclBufferExportHandle) { return 0; }
