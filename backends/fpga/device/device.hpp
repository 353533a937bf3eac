// One loaded plan's device: the board, and what of the plan lies in the board's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/fpga/device/board.hpp"
#include "runtime/backend_api/device.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::fpga {

/// The code of a segment, ready to run.
struct LoadedCode {
  uint64_t address = 0;
  uint32_t bytes = 0;
  std::vector<CodeWindow> windows;
  std::vector<uint64_t> constants;  ///< by window: the board's address, or 0
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// TENON_FPGA_DEVICE and TENON_FPGA_XCLBIN choose (see fpga_backend.hpp).
  Status Open();

  [[nodiscard]] Board& board() { return *board_; }

  /// Checks that the accelerator is what the code was made for and that the code keeps to its
  /// windows (isa/check_code.hpp), and puts code and constants into the board's memory. Errors:
  /// kUnsupported, kCorruptPlan, kBackendFailure, kOutOfMemory.
  Status LoadCode(const SegmentCode& code, std::unique_ptr<LoadedCode>* loaded);

  /// Memory for an arena in the bank that the image connects to the register's argument. What is
  /// not taken back is freed with the device. Any thread may call these. Errors: kUnsupported (an
  /// alignment that no buffer has), kOutOfMemory.
  Status LendArena(const ArenaWish& wish, void** base);
  void TakeBackArena(const void* base);
  /// What was lent at an address of the host's; null: nothing.
  [[nodiscard]] BoardBuffer* FindLent(const void* base);

 private:
  /// Bytes of the plan that lie on the board, too.
  struct Copy {
    const void* bytes = nullptr;
    size_t count = 0;
    std::unique_ptr<BoardBuffer> buffer;
  };

  [[nodiscard]] Status CheckTarget(const SegmentCode& code) const;
  [[nodiscard]] Status CheckCode(const SegmentCode& code) const;
  Status CopyToBoard(const void* bytes, size_t count, int argument, uint64_t* address);

  std::shared_ptr<Board> board_;
  std::vector<Copy> copies_;
  std::mutex lent_mutex_;
  std::vector<std::unique_ptr<BoardBuffer>> lent_;  ///< guarded by lent_mutex_
};

}  // namespace tenon::fpga
