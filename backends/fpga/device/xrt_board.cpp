#include "backends/fpga/device/xrt_board.hpp"

#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "backends/fpga/device/text.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::fpga {
namespace {

constexpr unsigned kMostDevices = 64;
/// Beside the processor of a Zynq buffers are the processor's own memory, which it reads slowly
/// unless it may cache them; `sync` then mends the caches. A card's buffers are ordinary memory of
/// the host.
#ifdef __x86_64__
constexpr xrt::bo::flags kBufferFlags = xrt::bo::flags::normal;
#else
constexpr xrt::bo::flags kBufferFlags = xrt::bo::flags::cacheable;
#endif

/// Calls XRT, and says in a Status what it throws: "what: its words", about `subject` if any.
template <typename Call>
Status Caught(StatusCode code, const char* what, const std::string& subject, const Call& call) {
  try {
    call();
    return OkStatus();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "no memory for XRT");
  } catch (const std::exception& exception) {
    std::string text = what;
    if (!subject.empty()) text += " '" + subject + "'";
    return Status(code, "XRT: {s}").About(KeepText(text + ": " + exception.what()));
  } catch (...) {
    return Status(code, "XRT: {s} failed without a word").About(what);
  }
}

bool IsIndex(const std::string& text) {
  return text.find_first_not_of("0123456789") == std::string::npos;
}

/// None behind the last.
std::optional<xrt::device> DeviceAt(unsigned index) {
  try {
    return xrt::device(index);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// By index or BDF. Not every driver finds a device by its BDF: then those that there are tell
/// theirs.
xrt::device OpenDevice(const std::string& name) {
  try {
    if (IsIndex(name)) return xrt::device(static_cast<unsigned>(std::stoul(name)));
    return xrt::device(name);
  } catch (const std::exception&) {
    std::string others;
    for (unsigned index = 0; index < kMostDevices; ++index) {
      const std::optional<xrt::device> device = DeviceAt(index);
      if (!device) break;
      const std::string bdf = device->get_info<xrt::info::device::bdf>();
      if (bdf == name) return *device;
      others += (index == 0 ? "" : ", ") + std::to_string(index) + " (" + bdf + ")";
    }
    if (others.empty()) throw;
    throw std::runtime_error("there are " + others);
  }
}

/// Exclusive: else its registers cannot be read, and another process could start it between.
xrt::kernel OpenKernel(const xrt::device& device, const xrt::uuid& uuid) {
  try {
    return xrt::kernel(device, uuid, isa::kKernelName, xrt::kernel::cu_access_mode::exclusive);
  } catch (const std::system_error& error) {
    if (error.code().value() != EBUSY) throw;
    throw std::runtime_error(std::string(error.what()) +
                             ": another process has it, or the board holds another image");
  }
}

}  // namespace

struct BoardBuffer::Object {
  xrt::bo buffer;
};

BoardBuffer::BoardBuffer() = default;
BoardBuffer::~BoardBuffer() = default;

Status BoardBuffer::ToBoard(size_t offset, size_t bytes) {
  return Caught(StatusCode::kBackendFailure, "a copy to the board", "",
                [&] { object_->buffer.sync(XCL_BO_SYNC_BO_TO_DEVICE, bytes, offset); });
}

Status BoardBuffer::FromBoard(size_t offset, size_t bytes) {
  return Caught(StatusCode::kBackendFailure, "a copy from the board", "",
                [&] { object_->buffer.sync(XCL_BO_SYNC_BO_FROM_DEVICE, bytes, offset); });
}

/// The run goes before the kernel, and both before the device.
struct XrtBoard::Objects {
  xrt::device device;
  std::optional<xrt::kernel> kernel;
  std::optional<xrt::run> run;
};

XrtBoard::XrtBoard() = default;

XrtBoard::~XrtBoard() { CloseKernel(); }

bool XrtBoard::is_open() const { return objects_ != nullptr && objects_->run.has_value(); }

Status XrtBoard::Open(const BoardChoice& choice) {
  const Status status = OpenObjects(choice);
  if (!status.ok()) objects_.reset();
  return status;
}

Status XrtBoard::OpenObjects(const BoardChoice& choice) {
  constexpr StatusCode kMissing = StatusCode::kUnsupported;
  objects_ = std::make_unique<Objects>();
  TENON_RETURN_IF_ERROR(Caught(kMissing, "no device", choice.device, [&] {
    objects_->device = OpenDevice(choice.device);
    name_ = objects_->device.get_info<xrt::info::device::name>();
  }));
  xrt::uuid uuid;
  TENON_RETURN_IF_ERROR(Caught(kMissing, "cannot load the image", choice.xclbin, [&] {
    uuid = objects_->device.load_xclbin(xrt::xclbin(choice.xclbin));
    std::memcpy(uuid_, uuid.get(), sizeof uuid_);
  }));
  return Caught(kMissing, "no accelerator to be had from the image", choice.xclbin, [&] {
    objects_->kernel = OpenKernel(objects_->device, uuid);
    objects_->run.emplace(*objects_->kernel);
  });
}

void XrtBoard::CloseKernel() {
  if (objects_ == nullptr) return;
  (void)Caught(StatusCode::kBackendFailure, "closing the accelerator", "", [this] {
    objects_->run.reset();
    objects_->kernel.reset();
  });
}

Status XrtBoard::Allocate(size_t bytes, int argument, std::unique_ptr<BoardBuffer>* buffer) {
  TENON_ENSURE(is_open(), kBackendFailure, "the accelerator has been given up");
  auto made = std::make_unique<BoardBuffer>();
  const size_t whole = RoundUp(bytes == 0 ? 1 : bytes, kBufferAlignment);  // XRT maps pages
  TENON_RETURN_IF_ERROR(Caught(StatusCode::kOutOfMemory, "no memory on the board", name_, [&] {
    const xrt::memory_group group = objects_->kernel->group_id(argument);
    made->object_ = std::make_unique<BoardBuffer::Object>(
        BoardBuffer::Object{xrt::bo(objects_->device, whole, kBufferFlags, group)});
    made->host_ = made->object_->buffer.map<uint8_t*>();
    made->address_ = made->object_->buffer.address();
    made->bytes_ = whole;
  }));
  *buffer = std::move(made);
  return OkStatus();
}

Status XrtBoard::ReadRegister(uint32_t offset, uint32_t* value) {
  TENON_ENSURE(is_open(), kBackendFailure, "the accelerator has been given up");
  return Caught(StatusCode::kBackendFailure, "reading a register", "",
                [&] { *value = objects_->kernel->read_register(offset); });
}

Status XrtBoard::Start(const StartArguments& arguments) {
  TENON_ENSURE(is_open(), kBackendFailure, "the accelerator has been given up");
  return Caught(StatusCode::kBackendFailure, "starting the accelerator", "", [&] {
    xrt::run& run = *objects_->run;
    run.set_arg(isa::kCodeArgument, arguments.code);
    run.set_arg(isa::kCodeBytesArgument, arguments.code_bytes);
    for (size_t i = 0; i < isa::kBaseRegisters; ++i) {
      run.set_arg(isa::BaseArgument(i), arguments.bases[i]);
    }
    run.start();
  });
}

Status XrtBoard::Poll(StartState* state) {
  TENON_ENSURE(is_open(), kBackendFailure, "the accelerator has been given up");
  return Caught(StatusCode::kBackendFailure, "asking for the accelerator's state", "", [&] {
    switch (objects_->run->state()) {
      case ERT_CMD_STATE_COMPLETED:
        *state = StartState::kCompleted;
        break;
      case ERT_CMD_STATE_NEW:
      case ERT_CMD_STATE_QUEUED:
      case ERT_CMD_STATE_RUNNING:
      case ERT_CMD_STATE_SUBMITTED:
        *state = StartState::kRunning;
        break;
      default:
        *state = StartState::kFailed;
    }
  });
}

}  // namespace tenon::fpga
