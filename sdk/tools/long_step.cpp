#include "sdk/tools/long_step.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <system_error>
#include <utility>

namespace tenon::tool {

LongStep::LongStep(std::string words) : words_(std::move(words)) {
  if (isatty(STDERR_FILENO) == 0) return;
  try {
    watcher_ = std::thread([this] { Watch(); });
  } catch (const std::system_error&) {
    // Without a thread nothing is said: what is done goes on.
  }
}

LongStep::~LongStep() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void LongStep::Watch() {
  constexpr auto kApart = std::chrono::seconds(1);
  std::unique_lock<std::mutex> lock(mutex_);
  int seconds = 0;
  while (!ended_.wait_for(lock, kApart, [this] { return is_over_; })) {
    ++seconds;
    std::cerr << fmt::format("\r\033[K{} ({} s)", words_, seconds) << std::flush;
  }
  if (seconds > 0) std::cerr << "\r\033[K" << std::flush;
}

}  // namespace tenon::tool
