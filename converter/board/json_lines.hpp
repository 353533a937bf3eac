// In which line of a JSON file something stands, for messages about it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tenon::converter {

class JsonLines {
 public:
  /// `text` is valid JSON.
  explicit JsonLines(std::string_view text);

  /// The line, from 1, of a member or an element by its path: "units[0].name". 0: there is none.
  [[nodiscard]] int LineOf(const std::string& path) const;
  /// The line that a message is about, which names what is wrong as ObjectReader does: behind
  /// `file` the path of an object, and in quotes a key of it. 0: it names nothing that is there.
  [[nodiscard]] int LineOfProblem(std::string_view message, std::string_view file) const;

 private:
  std::map<std::string, int> lines_;
};

/// Why text cannot be read as JSON, and in which line, counted from 1: "is not valid JSON: line 4".
[[nodiscard]] std::string WhyNoJson(std::string_view text);

}  // namespace tenon::converter
