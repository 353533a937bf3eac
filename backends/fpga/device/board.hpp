// The accelerator that a process has, shared by its loaded plans: one after the other, each in
// turn. Whoever waits for a start of his own moves those of others on, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backends/fpga/device/xrt_board.hpp"
#include "runtime/backend_api/device.hpp"
#include "runtime/base/status.hpp"

namespace tenon::fpga {

/// A start that a queue asks for. It belongs to the queue, and to the board while it is under way.
struct Start {
  enum class State : uint8_t { kIdle, kWaiting, kRunning, kEnded };

  StartArguments arguments;
  State state = State::kIdle;  ///< guarded by the board
  Status result;               ///< once it has ended
  Start* next = nullptr;       ///< in the board's line
};

class Board {
 public:
  Board() = default;
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// The board that this process has already, if it is not given up; else it is opened. Errors:
  /// as XrtBoard::Open; kUnsupported (an accelerator of another kind or version).
  static Status Find(const BoardChoice& choice, std::shared_ptr<Board>* board);

  /// What the accelerator says of itself.
  [[nodiscard]] const isa::Identity& identity() const { return identity_; }
  [[nodiscard]] Span<const uint32_t> uuid() const { return xrt_.uuid(); }

  /// As XrtBoard::Allocate.
  Status Allocate(size_t bytes, int argument, std::unique_ptr<BoardBuffer>* buffer);

  /// Puts a start into the line.
  void Add(Start& start);
  /// Moves the line on as far as it goes, and returns whether `start` has ended.
  bool HasEnded(const Start& start);
  /// The accelerator does not answer. Every start under way ends with an error, and the board is
  /// opened anew for plans that are loaded from now on.
  void GiveUp();
  [[nodiscard]] bool IsGivenUp();
  /// Of the last start that ended.
  size_t ReadCounters(Span<DeviceCounter> counters);

 private:
  Status Open(const BoardChoice& choice);
  void MoveOn();
  void FinishFirst(const Status& result);
  Status ResultOf(StartState state);
  void GiveUp(const Status& reason);

  std::mutex mutex_;
  XrtBoard xrt_;
  isa::Identity identity_;
  Start* first_ = nullptr;  ///< runs, or is about to
  Start* last_ = nullptr;
  Deadline started_ = 0;  ///< when the first was started
  Deadline limit_ = 0;    ///< nanoseconds that a start may take
  bool is_given_up_ = false;
};

}  // namespace tenon::fpga
