// Changes of JSON that stay JSON: values of other types, members that are missing or too many.
#pragma once

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/targets/edge_values.hpp"

namespace tenon::fuzz {

/// Changes any one value of a document.
class JsonMutator {
 public:
  using Json = nlohmann::ordered_json;

  explicit JsonMutator(std::mt19937& random) : random_(random) {}

  void Change(Json& document) {
    values_.clear();
    Collect(document);
    Json& value = *values_[random_() % values_.size()];
    if (value.empty() || !value.is_structured() || random_() % 3 == 0) {
      value = NewValue(value);
      return;
    }
    const auto at = [&] { return std::next(value.begin(), Below(value.size())); };
    if (random_() % 2 == 0) {
      value.erase(at());
    } else if (value.is_array()) {
      value.push_back(Json(*at()));
    } else {
      value[NewText(at().key())] = Json(*at());
    }
  }

 private:
  void Collect(Json& value) {
    values_.push_back(&value);
    if (value.is_structured()) {
      for (Json& member : value) Collect(member);
    }
  }

  std::ptrdiff_t Below(size_t count) { return static_cast<std::ptrdiff_t>(random_() % count); }

  /// A string of the document as often as other bytes, so that names lead somewhere.
  std::string NewText(std::string text) {
    const Json& other = *values_[random_() % values_.size()];
    if (other.is_string() && random_() % 2 == 0) return other.get<std::string>();
    ChangeBytes(text, random_);
    return text;
  }

  Json NewValue(const Json& now) {
    switch (random_() % 8) {
      case 0:
        return nullptr;
      case 1:
        return Json(*values_[random_() % values_.size()]);
      case 2:
        return EdgeNumber(random_, 0);
      case 3:
        return EdgeFloat(random_);
      case 4:
        return random_() % 2 == 0 ? Json::array() : Json::object();
      case 5:
        return Json::array({now});
      case 6:
        return random_() % 2 == 0;
      default:
        return NewText(now.is_string() ? now.get<std::string>() : "x");
    }
  }

  std::mt19937& random_;
  std::vector<Json*> values_;
};

}  // namespace tenon::fuzz
