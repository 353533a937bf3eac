#include "converter/board/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace tenon::converter {
namespace {

/// Follows the structure of valid JSON, character by character.
class Walk {
 public:
  explicit Walk(std::map<std::string, int>& lines) : lines_(lines) {}

  void Take(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"') {
        const size_t end = EndOfString(text, i);
        TakeString(text.substr(i + 1, end - i - 1));
        i = end;
      } else {
        TakeMark(text[i]);
      }
    }
  }

 private:
  /// Nothing is noted inside deeper levels and longer names than boards have: paths would grow with
  /// the square of the file.
  static constexpr size_t kDeepest = 6;
  static constexpr size_t kLongest = 100;

  struct Level {
    bool is_array = false;
    std::optional<std::string> path;        ///< none: nothing is noted inside
    std::optional<std::string> value_path;  ///< of an object: that of the member whose value comes
    size_t index = 0;                       ///< of an array: of the element that comes
    bool wants_key = true;
  };

  static size_t EndOfString(std::string_view text, size_t quote) {
    size_t end = quote + 1;
    while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
    return std::min(end, text.size());
  }

  void TakeString(std::string_view string) {
    if (levels_.empty() || levels_.back().is_array || !levels_.back().wants_key) return;
    Level& level = levels_.back();
    level.wants_key = false;
    level.value_path.reset();
    if (!level.path || string.size() > kLongest) return;
    const std::string key(string);
    level.value_path = level.path->empty() ? key : *level.path + "." + key;
    lines_.emplace(*level.value_path, line_);
  }

  void TakeMark(char c) {
    if (c == '\n') ++line_;
    if (c == '{' || c == '[') Open(c == '[');
    if (levels_.empty()) return;
    if (c == '}' || c == ']') levels_.pop_back();
    if (c != ',') return;
    ++levels_.back().index;
    levels_.back().wants_key = true;
  }

  void Open(bool is_array) {
    std::optional<std::string> path;
    if (levels_.empty()) {
      path.emplace();
    } else if (levels_.size() < kDeepest) {
      const Level& level = levels_.back();
      path = level.is_array ? level.path : level.value_path;
      if (path && level.is_array) *path += "[" + std::to_string(level.index) + "]";
    }
    if (path) lines_.emplace(*path, line_);
    levels_.push_back({is_array, path, std::nullopt, 0, true});
  }

  std::map<std::string, int>& lines_;
  std::vector<Level> levels_;
  int line_ = 1;
};

/// Where a reader of JSON gives up, by the byte after it.
struct Break : nlohmann::detail::json_sax_acceptor<nlohmann::json> {
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& why) {
    byte = position;
    is_number = why.id == kOutOfRange;
    return false;
  }
  static constexpr int kOutOfRange = 406;  // the library's number of that error
  size_t byte = 0;
  bool is_number = false;
};

}  // namespace

JsonLines::JsonLines(std::string_view text) { Walk(lines_).Take(text); }

int JsonLines::LineOf(const std::string& path) const {
  const auto found = lines_.find(path);
  return found == lines_.end() ? 0 : found->second;
}

int JsonLines::LineOfProblem(std::string_view message, std::string_view file) const {
  if (message.substr(0, file.size()) != file) return 0;
  message.remove_prefix(file.size());
  if (!message.empty() && message.front() == '.') message.remove_prefix(1);
  const std::string object(message.substr(0, message.find(' ')));
  const size_t quote = message.find('\'');
  const size_t end = quote == std::string_view::npos ? quote : message.find('\'', quote + 1);
  if (end != std::string_view::npos) {
    const std::string key(message.substr(quote + 1, end - quote - 1));
    if (const int line = LineOf(object.empty() ? key : object + "." + key)) return line;
  }
  return LineOf(object);
}

std::string WhyNoJson(std::string_view text) {
  Break found;
  nlohmann::json::sax_parse(text, &found);
  const std::string_view before = text.substr(0, found.byte == 0 ? 0 : found.byte - 1);
  return fmt::format("{}: line {}",
                     found.is_number ? "has a number out of range" : "is not valid JSON",
                     1 + std::count(before.begin(), before.end(), '\n'));
}

}  // namespace tenon::converter
