#include "backends/fpga/device/board.hpp"

#include <cstdlib>
#include <iterator>
#include <map>
#include <utility>

#include "backends/fpga/device/poll.hpp"
#include "backends/fpga/device/text.hpp"

namespace tenon::fpga {
namespace {

constexpr Deadline kSecond = 1'000'000'000U;
/// Longer than any network takes, on a simulated board too. Runs have deadlines of their own.
constexpr long kDefaultLimitSeconds = 120;
constexpr long kMostLimitSeconds = 86400;

Status ReadLimit(Deadline* limit) {
  const char* const text = std::getenv("TENON_FPGA_TIMEOUT_S");
  long seconds = kDefaultLimitSeconds;
  if (text != nullptr && text[0] != '\0') {
    char* end = nullptr;
    seconds = std::strtol(text, &end, 10);
    TENON_ENSURE(*end == '\0' && seconds >= 1 && seconds <= kMostLimitSeconds, kUnsupported,
                 "TENON_FPGA_TIMEOUT_S: give seconds from 1 to {0}", kMostLimitSeconds);
  }
  *limit = static_cast<Deadline>(seconds) * kSecond;
  return OkStatus();
}

}  // namespace

Status Board::Find(const BoardChoice& choice, std::shared_ptr<Board>* board) {
  static std::mutex mutex;
  static auto* const known =
      new std::map<std::pair<std::string, std::string>, std::weak_ptr<Board>>;
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<Board>& place = (*known)[{choice.device, choice.xclbin}];
  std::shared_ptr<Board> found = place.lock();
  if (found == nullptr || found->IsGivenUp()) {
    found = std::make_shared<Board>();
    TENON_RETURN_IF_ERROR(found->Open(choice));
    place = found;
  }
  *board = std::move(found);
  return OkStatus();
}

Status Board::Open(const BoardChoice& choice) {
  TENON_RETURN_IF_ERROR(ReadLimit(&limit_));
  TENON_RETURN_IF_ERROR(xrt_.Open(choice));
  TENON_RETURN_IF_ERROR(xrt_.ReadRegister(isa::kIdRegister, &identity_.id));
  TENON_ENSURE(identity_.id == isa::kId, kUnsupported,
               "the image's accelerator says that it is {0}, not {1}: it is another one, or of "
               "another release",
               identity_.id, isa::kId);
  TENON_RETURN_IF_ERROR(xrt_.ReadRegister(isa::kVersionRegister, &identity_.version));
  uint32_t offset = isa::kFirstParameterRegister;
  for (uint32_t& parameter : identity_.parameters) {
    TENON_RETURN_IF_ERROR(xrt_.ReadRegister(offset, &parameter));
    offset += sizeof(uint32_t);
  }
  return OkStatus();
}

Status Board::Allocate(size_t bytes, int argument, std::unique_ptr<BoardBuffer>* buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return xrt_.Allocate(bytes, argument, buffer);
}

bool Board::IsGivenUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_given_up_;
}

void Board::Add(Start& start) {
  const std::lock_guard<std::mutex> lock(mutex_);
  start.state = Start::State::kWaiting;
  start.result = OkStatus();
  start.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &start;
  last_ = &start;
  MoveOn();
}

bool Board::HasEnded(const Start& start) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (start.state != Start::State::kEnded) MoveOn();
  return start.state == Start::State::kEnded;
}

/// Ends the first start if the accelerator is done with it, and starts the next, until one runs.
void Board::MoveOn() {
  while (first_ != nullptr) {
    if (is_given_up_) {
      FinishFirst(Status(StatusCode::kBackendFailure,
                         "the accelerator did not answer, and has been given up"));
      continue;
    }
    if (first_->state == Start::State::kWaiting) {
      const Status status = xrt_.Start(first_->arguments);
      if (!status.ok()) {
        GiveUp(status);
        continue;
      }
      first_->state = Start::State::kRunning;
      started_ = Now();
    }
    StartState state = StartState::kRunning;
    if (const Status status = xrt_.Poll(&state); !status.ok()) {
      GiveUp(status);
    } else if (state != StartState::kRunning) {
      const Status result = ResultOf(state);
      if (state == StartState::kFailed)
        GiveUp(result);
      else
        FinishFirst(result);
    } else if (Now() - started_ > limit_) {
      GiveUp(Status(StatusCode::kDeadlineExceeded,
                    "the accelerator has not ended within {0} s (TENON_FPGA_TIMEOUT_S)",
                    static_cast<int64_t>(limit_ / kSecond)));
    } else {
      return;
    }
  }
}

void Board::FinishFirst(const Status& result) {
  Start& ended = *first_;
  first_ = ended.next;
  if (first_ == nullptr) last_ = nullptr;
  ended.result = result;
  ended.state = Start::State::kEnded;
}

/// What became of a start that runs no more. The accelerator says itself what went wrong.
Status Board::ResultOf(StartState state) {
  uint32_t error = 0;
  uint32_t place = 0;
  const Status read = xrt_.ReadRegister(isa::kErrorRegister, &error);
  if (read.ok() && error == 0) {
    if (state == StartState::kCompleted) return OkStatus();
    return Status(StatusCode::kBackendFailure,
                  "XRT reports that the start failed; the accelerator names no reason");
  }
  if (!read.ok() && state == StartState::kFailed) {
    return Status(StatusCode::kBackendFailure,
                  "the start failed, and the device does not answer any more: it is lost");
  }
  TENON_RETURN_IF_ERROR(read);
  TENON_RETURN_IF_ERROR(xrt_.ReadRegister(isa::kErrorPlaceRegister, &place));
  return Status(StatusCode::kBackendFailure, "the accelerator stopped at descriptor {0}: {s} ({1})",
                place, error)
      .About(isa::ErrorText(error));
}

size_t Board::ReadCounters(Span<DeviceCounter> counters) {
  const std::lock_guard<std::mutex> lock(mutex_);
  constexpr size_t kCount = std::size(isa::kCounterNames);
  for (size_t i = 0; i < kCount && i < counters.size(); ++i) {
    uint32_t value = 0;
    const auto offset = static_cast<uint32_t>(i * sizeof value);
    if (!xrt_.ReadRegister(isa::kFirstCounterRegister + offset, &value).ok()) return 0;
    counters[i] = {isa::kCounterNames[i], value};
  }
  return kCount;
}

void Board::GiveUp() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!is_given_up_) {
    GiveUp(Status(StatusCode::kBackendFailure,
                  "the accelerator did not answer, and has been given up"));
  }
  MoveOn();
}

void Board::GiveUp(const Status& reason) {
  xrt_.CloseKernel();
  is_given_up_ = true;
  if (first_ != nullptr) FinishFirst(reason);
}

}  // namespace tenon::fpga
