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

/// Places constants one after another, equal ones once. It refers to their bytes, which are copied
/// once, into the plan, and must live until then.
class SectionBuilder {
 public:
  /// Places the bytes unless they are there, and returns their offset in the section.
  uint64_t Add(const std::vector<std::byte>& bytes) {
    return Add({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  uint64_t Add(const std::vector<uint8_t>& bytes) { return Add({bytes.data(), bytes.size()}); }
  uint64_t Add(Span<const uint8_t> bytes) {
    const uint32_t crc = Crc32c(bytes.data(), bytes.size());
    const auto key = std::make_pair(bytes.size(), crc);
    const auto [begin, end] = known_.equal_range(key);
    for (auto entry = begin; entry != end; ++entry) {
      const Span<const uint8_t> other = placed_[entry->second].bytes;
      if (bytes.empty() || std::memcmp(other.data(), bytes.data(), bytes.size()) == 0) {
        return placed_[entry->second].offset;
      }
    }
    const uint64_t offset = RoundUp<uint64_t>(size_, kAlignment);
    known_.emplace(key, placed_.size());
    placed_.push_back({offset, bytes});
    size_ = offset + bytes.size();
    return offset;
  }
  [[nodiscard]] uint64_t size() const { return size_; }
  /// Appends the section, with zeros between the constants.
  void AppendTo(std::vector<uint8_t>& file) const {
    const size_t start = file.size();
    for (const Placed& placed : placed_) {
      file.resize(start + placed.offset, 0);
      file.insert(file.end(), placed.bytes.data(), placed.bytes.data() + placed.bytes.size());
    }
  }
  /// Returns true if the section has any constant, even an empty one.
  [[nodiscard]] bool IsUsed() const { return !placed_.empty(); }

 private:
  static constexpr size_t kAlignment = 64;
  struct Placed {
    uint64_t offset;
    Span<const uint8_t> bytes;
  };
  std::vector<Placed> placed_;
  std::multimap<std::pair<size_t, uint32_t>, size_t> known_;  ///< to indices of placed_
  uint64_t size_ = 0;
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
