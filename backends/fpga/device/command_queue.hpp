// The starts of one session's worker, in order, and where the board has the session's arenas: those
// that the device lent in the same buffers, of others copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/fpga/device/device.hpp"
#include "runtime/backend_api/device.hpp"
#include "runtime/base/copy_shape.hpp"
#include "runtime/base/span.hpp"
#include "runtime/base/status.hpp"

namespace tenon::fpga {

/// Follows the rules of DeviceApi for queues.
class CommandQueue {
 public:
  explicit CommandQueue(Device& device) : device_(device) {}
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  /// Waits for the board for at most kDrainBeforeClose, and gives it up if it does not answer.
  ~CommandQueue();

  Status Open(Span<const ArenaMemory> arenas);

  Status Upload(const SharedTensor& tensor);
  Status RunCode(const LoadedCode& code, Span<void* const> bases);
  Status Signal(const SharedTensor& tensor, void** event);
  /// Moves the board on.
  void Submit();
  Status Wait(void* event, Deadline deadline);
  /// A board that does not answer in time is given up: it touches nothing any more.
  Status Drain(Deadline deadline);

  [[nodiscard]] size_t held_bytes() const;

 private:
  struct Arena {
    uint8_t* base = nullptr;
    BoardBuffer* buffer = nullptr;
    std::unique_ptr<BoardBuffer> copy;  ///< the buffer, unless it is lent
  };
  struct Place {
    BoardBuffer* buffer = nullptr;
    size_t offset = 0;

    [[nodiscard]] uint8_t* host() const { return buffer->host() + offset; }
  };
  /// Is what `Signal` gives to `Wait`; it is reused, and freed with the queue.
  struct Signalled {
    bool is_taken = false;
    uint64_t starts = 0;  ///< that must have ended
    Place place;
    uint8_t* actual = nullptr;  ///< null: nothing is copied
    CopyShape shape;
  };

  Status Find(const void* address, size_t bytes, Place* place) const;
  Status WaitForStarts(uint64_t count, Deadline deadline);
  Start& NewStart();
  Signalled& NewSignalled();

  Device& device_;
  std::vector<Arena> arenas_;
  // Starts are numbered from 1. Those in [ended_ + 1, added_] are in the line, the first in front.
  // Their memory is used again and again: after the first runs nothing is allocated.
  std::vector<std::unique_ptr<Start>> starts_;
  std::vector<Start*> line_;
  uint64_t added_ = 0;
  uint64_t ended_ = 0;
  /// Why a start of those enqueued since the last drain failed, if one did.
  Status failure_;
  std::vector<std::unique_ptr<Signalled>> signalled_;
};

}  // namespace tenon::fpga
