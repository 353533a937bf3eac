#include "sdk/tools/output_names.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>

#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

/// The value that follows an option for an output.
struct OutputWord {
  size_t index;  ///< of the word that has it
  std::string option;
  std::string path;
};

/// Returns the output that word `i` names, where it or the one before it is such an option.
std::optional<OutputWord> OutputAt(const std::vector<std::string>& words, size_t i) {
  constexpr const char* kOptions[] = {"-o", "--json", "--report", "--trace"};
  const std::string& word = words[i];
  for (const std::string option : kOptions) {
    if (i > 0 && words[i - 1] == option && !word.starts_with("-"))
      return OutputWord{i, option, word};
    if (word.starts_with(option + "="))
      return OutputWord{i, option, word.substr(option.size() + 1)};
  }
  if (word.size() > 2 && word.starts_with("-o")) return OutputWord{i, "-o", word.substr(2)};
  return std::nullopt;
}

/// Returns true if a word is the path, or has it behind one or two "=".
bool Names(const std::string& word, const std::string& path) {
  size_t begin = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string part = word.substr(begin);
    if (!part.empty() && IsSameFile(part, path)) return true;
    begin = word.find('=', begin);
    if (begin++ == std::string::npos) return false;
  }
  return false;
}

}  // namespace

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  const auto place = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  return place(a) == place(b);
}

void CheckOutputNames(const std::vector<std::string>& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::optional<OutputWord> output = OutputAt(words, i);
    std::error_code ignored;
    if (!output || output->path.empty() || fs::is_character_file(output->path, ignored)) continue;
    for (size_t other = 1; other < words.size(); ++other) {
      if (other == i || !Names(words[other], output->path)) continue;
      if (const auto twice = OutputAt(words, other)) {
        Fail(kUsage, "{} and {} name the same file: {}", output->option, twice->option,
             output->path);
      }
      Fail(kUsage, "{} {} would replace what the command reads", output->option, output->path);
    }
  }
}

}  // namespace tenon::tool
