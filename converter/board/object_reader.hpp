// Reads one JSON object strictly: unknown keys, missing ones and wrong types are errors that name
// the key and its place in the file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "converter/status.hpp"
#include "runtime/base/dtype.hpp"

namespace tenon::converter {

/// Reads the members of one JSON object and remembers the first error.
class ObjectReader {
 public:
  using Json = nlohmann::json;

  /// `where` begins every message; the object must outlive the reader.
  ObjectReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) Fail("is not an object");
  }

  template <typename T>
  void Required(const char* key, T& value) {
    known_.insert(key);
    if (!ok()) return;
    if (!object_.contains(key)) {
      Fail(fmt::format("lacks the key '{}'", key));
      return;
    }
    Read(key, value);
  }
  template <typename T>
  void Optional(const char* key, T& value) {
    known_.insert(key);
    if (ok() && object_.contains(key)) Read(key, value);
  }
  [[nodiscard]] bool Has(const char* key) const { return ok() && object_.contains(key); }
  /// Calls `read` for each object in the array `key`.
  template <typename Function>
  void Array(const char* key, const Function& read) {
    known_.insert(key);
    if (!ok()) return;
    if (!object_.contains(key) || !object_[key].is_array()) {
      Fail(fmt::format("lacks the array '{}'", key));
      return;
    }
    size_t index = 0;
    for (const Json& element : object_[key]) {
      ReadObject(element, fmt::format("{}.{}[{}]", where_, key, index++), read);
      if (!ok()) return;
    }
  }
  /// Calls `read` for the object `key`, if it exists.
  template <typename Function>
  void OptionalObject(const char* key, const Function& read) {
    known_.insert(key);
    if (ok() && object_.contains(key)) {
      ReadObject(object_[key], fmt::format("{}.{}", where_, key), read);
    }
  }
  void RefuseOthers() {
    if (!ok()) return;
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) {
        Fail(fmt::format("has the unknown key '{}'", key));
        return;
      }
    }
  }
  /// Records an error, unless there was one before.
  void Fail(const std::string& what) {
    if (ok()) problem_ = fmt::format("{} {}", where_, what);
  }
  void FailIf(bool condition, std::string_view what) {
    if (condition) Fail(std::string(what));
  }
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename Function>
  void ReadObject(const Json& object, std::string where, const Function& read) {
    ObjectReader reader(object, std::move(where));
    if (reader.ok()) read(reader);
    reader.RefuseOthers();
    problem_ = reader.problem_;
  }

  template <typename T>
  void Read(const char* key, T& value) {
    const Json& member = object_[key];
    if (!AreWholeNumbers(member, value)) {
      Fail(fmt::format("has a '{}' {} not a whole number in range", key,
                       member.is_array() ? "with what is" : "that is"));
      return;
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (!member.is_number()) {
        Fail(fmt::format("has a '{}' that is not a number", key));
        return;
      }
    }
    try {
      value = member.get<T>();
    } catch (const Json::exception&) {
      Fail(fmt::format("has a '{}' of the wrong type", key));
    }
  }

  /// Returns true if the number, or every one of a list, is whole and in range where it is to be.
  template <typename T>
  static bool AreWholeNumbers(const Json& member, const T&) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return IsWholeNumber<T>(member);
    }
    return true;
  }
  template <typename T>
  static bool AreWholeNumbers(const Json& member, const std::vector<T>&) {
    return !member.is_array() || std::all_of(member.begin(), member.end(), [](const Json& element) {
      return AreWholeNumbers(element, T());
    });
  }

  /// Returns true if the number is whole and in range; the library would truncate fractions and
  /// wrap numbers out of range.
  template <typename T>
  static bool IsWholeNumber(const Json& member) {
    if (member.is_number_unsigned()) return std::in_range<T>(member.get<uint64_t>());
    return member.is_number_integer() && std::in_range<T>(member.get<int64_t>());
  }

  const Json& object_;
  std::string where_;
  std::string problem_;
  std::set<std::string> known_;
};

// Checks names of dtypes in files.
[[nodiscard]] inline bool IsDTypeName(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (name == DTypeName(static_cast<DType>(i))) return true;
  }
  return false;
}

}  // namespace tenon::converter
