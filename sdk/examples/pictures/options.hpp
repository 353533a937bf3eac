// The options that the examples with pictures share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "picture.hpp"

namespace pictures {

/// What a command line says: words, and options with a value each ("--mean 127").
struct Arguments {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word.rfind("--", 0) == 0 && i + 1 < argc) {
        options[word] = argv[++i];
      } else {
        words.push_back(word);
      }
    }
  }
  [[nodiscard]] std::string Option(const std::string& name, const std::string& otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : found->second;
  }
  [[nodiscard]] float Number(const std::string& name, float otherwise) const {
    const auto found = options.find(name);
    return found == options.end() ? otherwise : std::strtof(found->second.c_str(), nullptr);
  }
};

/// "127.5", or one number for each channel: "123.7,116.3,103.5".
inline void ReadChannels(const std::string& text, float (&channels)[3]) {
  const char* at = text.c_str();
  for (int c = 0; c < 3; ++c) {
    char* end = nullptr;
    const float value = std::strtof(at, &end);
    if (end == at) break;
    for (int k = c; k < 3; ++k) channels[k] = value;
    at = *end == ',' ? end + 1 : end;
  }
}

/// --mean M, --scale S, --order rgb or bgr.
inline Preparation ReadPreparation(const Arguments& arguments) {
  Preparation preparation;
  ReadChannels(arguments.Option("--mean", "0"), preparation.mean);
  ReadChannels(arguments.Option("--scale", "1"), preparation.scale);
  preparation.bgr = arguments.Option("--order", "rgb") == "bgr";
  return preparation;
}

/// One name a line; empty without a file.
inline std::vector<std::string> ReadLabels(const std::string& file) {
  std::vector<std::string> labels;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) labels.push_back(line);
  return labels;
}

inline std::string LabelOf(const std::vector<std::string>& labels, size_t index) {
  return index < labels.size() ? labels[index] : "class " + std::to_string(index);
}

inline int Complain(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

/// The best classes of an output, best first.
inline std::vector<size_t> Best(const std::vector<float>& scores, size_t count) {
  std::vector<size_t> order(scores.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  order.resize(std::min(count, order.size()));
  return order;
}

}  // namespace pictures
