// Says on a terminal that a step without phases of its own takes long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace tenon::tool {

/// For as long as it lives and standard error is a terminal: from the first second on, a line with
/// what is done and for how long, which is gone at the end.
class LongStep {
 public:
  explicit LongStep(std::string words);
  LongStep(const LongStep&) = delete;
  LongStep& operator=(const LongStep&) = delete;
  ~LongStep();

 private:
  void Watch();

  std::string words_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::thread watcher_;
};

}  // namespace tenon::tool
