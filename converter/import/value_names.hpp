// The names that values of a model have, and new ones.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_map>

namespace tenon::converter {

class ValueNames {
 public:
  void Take(const std::string& name) { next_suffix_.try_emplace(name, kFirstSuffix); }

  /// Takes `wanted`, or where that is taken the first of `wanted`_2, `wanted`_3, ... that is free.
  /// Files give one name to a hundred thousand nodes: no suffix is tried twice.
  [[nodiscard]] std::string Fresh(const std::string& wanted) {
    const auto [known, is_new] = next_suffix_.try_emplace(wanted, kFirstSuffix);
    if (is_new) return wanted;
    int suffix = known->second;
    std::string name = fmt::format("{}_{}", wanted, suffix);
    while (!next_suffix_.try_emplace(name, kFirstSuffix).second) {
      name = fmt::format("{}_{}", wanted, ++suffix);
    }
    next_suffix_[wanted] = suffix + 1;
    return name;
  }

 private:
  static constexpr int kFirstSuffix = 2;
  /// By every name that is taken: the suffix to try next for another value that wants it.
  std::unordered_map<std::string, int> next_suffix_;
};

}  // namespace tenon::converter
