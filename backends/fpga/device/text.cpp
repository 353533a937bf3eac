#include "backends/fpga/device/text.hpp"

#include <mutex>
#include <set>

namespace tenon::fpga {

const char* KeepText(const std::string& text) {
  static std::mutex mutex;
  // Never freed: a Status may be read while the program ends.
  static auto* const kept = new std::set<std::string>();
  const std::lock_guard<std::mutex> lock(mutex);
  return kept->insert(text).first->c_str();
}

}  // namespace tenon::fpga
