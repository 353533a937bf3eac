// Words of errors that are composed when they happen, for the Status that they are given to. For
// backends of devices, which are compiled with exceptions.
#pragma once

#include <cstddef>
#include <mutex>
#include <set>
#include <string>

namespace tenon {

/// Keeps different texts, each once. Make one with `new` that is never freed: a Status may be read
/// while the program ends.
class KeptTexts {
 public:
  /// Words with numbers in them are new each time, and a process that runs for months must not keep
  /// them all: after `most` different texts new ones are `one_too_many` (borrowed).
  KeptTexts(size_t most, const char* one_too_many) : most_(most), one_too_many_(one_too_many) {}

  /// Returns an equal text that lives as long as this. Any thread may call it.
  [[nodiscard]] const char* Keep(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = texts_.find(text);
    if (found != texts_.end()) return found->c_str();
    return texts_.size() < most_ ? texts_.insert(text).first->c_str() : one_too_many_;
  }

 private:
  const size_t most_;
  const char* const one_too_many_;
  std::mutex mutex_;
  std::set<std::string> texts_;
};

/// What one backend of a process keeps.
inline constexpr size_t kMostKeptTexts = 1000;

}  // namespace tenon
