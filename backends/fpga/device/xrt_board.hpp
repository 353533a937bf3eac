// An accelerator behind XRT. Only xrt_board.cpp includes XRT's headers, and XRT's exceptions end
// there: what they say becomes the words of a Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backends/fpga/isa/registers.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::fpga {

/// Which device and which image; both as the user says them.
struct BoardChoice {
  std::string device;  ///< index or BDF ("0000:03:00.1")
  std::string xclbin;  ///< path
};

/// Where buffers begin, for host and board: pages.
inline constexpr size_t kBufferAlignment = 4096;

/// Memory that the host and the board both have a copy of; beside the processor of a Zynq it is the
/// same memory, behind caches.
class BoardBuffer {
 public:
  BoardBuffer();
  BoardBuffer(const BoardBuffer&) = delete;
  BoardBuffer& operator=(const BoardBuffer&) = delete;
  ~BoardBuffer();

  [[nodiscard]] uint8_t* host() const { return host_; }
  [[nodiscard]] uint64_t address() const { return address_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

  /// Copies bytes between the two. Different threads may copy different bytes. Errors:
  /// kBackendFailure.
  Status ToBoard(size_t offset, size_t bytes);
  Status FromBoard(size_t offset, size_t bytes);

 private:
  friend class XrtBoard;
  struct Object;

  std::unique_ptr<Object> object_;
  uint8_t* host_ = nullptr;
  uint64_t address_ = 0;
  size_t bytes_ = 0;
};

/// The arguments of one start.
struct StartArguments {
  uint64_t code = 0;
  uint32_t code_bytes = 0;
  uint64_t bases[isa::kBaseRegisters] = {};
};

enum class StartState : uint8_t { kRunning, kCompleted, kFailed };

/// One thread at a time, but for the copies of buffers.
class XrtBoard {
 public:
  XrtBoard();
  XrtBoard(const XrtBoard&) = delete;
  XrtBoard& operator=(const XrtBoard&) = delete;
  ~XrtBoard();

  /// Opens the device, loads the image and takes the accelerator in it for this process alone.
  /// Errors: kUnsupported (no such device, image or accelerator; another process has it),
  /// kBackendFailure.
  Status Open(const BoardChoice& choice);
  /// Gives the accelerator back. Whatever it still does is ended by the driver. Buffers stay.
  void CloseKernel();

  [[nodiscard]] bool is_open() const;
  /// Of the image.
  [[nodiscard]] Span<const uint32_t> uuid() const { return Span<const uint32_t>(uuid_, 4); }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// A buffer in the bank, or one of the banks, that the image connects to an argument.
  Status Allocate(size_t bytes, int argument, std::unique_ptr<BoardBuffer>* buffer);
  Status ReadRegister(uint32_t offset, uint32_t* value);

  /// Starts the accelerator, which must be at rest.
  Status Start(const StartArguments& arguments);
  /// How the last start is doing. Errors: kBackendFailure.
  Status Poll(StartState* state);

 private:
  struct Objects;

  Status OpenObjects(const BoardChoice& choice);

  std::unique_ptr<Objects> objects_;
  uint32_t uuid_[4] = {};
  std::string name_;
};

}  // namespace tenon::fpga
