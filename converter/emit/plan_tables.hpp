// Collects what a plan stores once and refers to by offset or index: constants and names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/crc32c.hpp"
#include "runtime/base/round_up.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

/// Stores constants one after another, equal ones once.
class SectionBuilder {
 public:
  /// Adds the bytes unless they are there, and returns their offset in the section.
  uint64_t Add(const std::vector<std::byte>& bytes) {
    return Add({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  uint64_t Add(const std::vector<uint8_t>& bytes) { return Add({bytes.data(), bytes.size()}); }
  uint64_t Add(Span<const uint8_t> bytes) {
    const uint32_t crc = Crc32c(bytes.data(), bytes.size());
    const auto key = std::make_pair(bytes.size(), crc);
    const auto [begin, end] = known_.equal_range(key);
    for (auto entry = begin; entry != end; ++entry) {
      if (bytes.empty() ||
          std::memcmp(data_.data() + entry->second, bytes.data(), bytes.size()) == 0) {
        return entry->second;
      }
    }
    data_.resize(RoundUp(data_.size(), kAlignment));
    const uint64_t offset = data_.size();
    data_.insert(data_.end(), bytes.data(), bytes.data() + bytes.size());
    known_.emplace(key, offset);
    return offset;
  }
  [[nodiscard]] const std::vector<uint8_t>& data() const { return data_; }
  /// Returns true if the section has any constant, even an empty one.
  [[nodiscard]] bool IsUsed() const { return !known_.empty(); }

 private:
  static constexpr size_t kAlignment = 64;
  std::vector<uint8_t> data_;
  std::multimap<std::pair<size_t, uint32_t>, uint64_t> known_;
};

/// Stores each string once and gives it an index, in order of first use.
class NameTable {
 public:
  size_t Index(const std::string& name) {
    const auto [entry, added] = index_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return entry->second;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, size_t> index_;
};

}  // namespace tenon::converter
