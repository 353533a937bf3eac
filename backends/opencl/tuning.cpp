#include "backends/opencl/tuning.hpp"

#include <cstdio>
#include <cstdlib>

#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

void AddNumbers(std::string& text, const char* name, const int32_t* values, int count) {
  text += name;
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(values[i]);
  }
}

/// Cuts the next word from `text` at `*at`.
std::string NextWord(const std::string& line, size_t* at) {
  while (*at < line.size() && (line[*at] == ' ' || line[*at] == '\t' || line[*at] == '\r')) ++*at;
  const size_t first = *at;
  while (*at < line.size() && line[*at] != ' ' && line[*at] != '\t' && line[*at] != '\r') ++*at;
  return line.substr(first, *at - first);
}

}  // namespace

std::string ConvSignature(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  std::string text;
  AddNumbers(text, "x", conv.Input(0).dims, 4);
  AddNumbers(text, "_w", conv.Input(1).dims, 4);
  AddNumbers(text, "_s", attributes.strides, 2);
  AddNumbers(text, "_d", attributes.dilations, 2);
  AddNumbers(text, "_p", attributes.pads, 4);
  AddNumbers(text, "_g", &attributes.group, 1);
  return text;
}

std::string MatMulSignature(const OpCall& matmul) {
  const auto& attributes = matmul.AttributesAs<MatMulAttributes>();
  std::string text;
  AddNumbers(text, "a", matmul.Input(0).dims, matmul.Input(0).rank);
  AddNumbers(text, "_b", matmul.Input(1).dims, matmul.Input(1).rank);
  const int32_t transposed[2] = {attributes.transpose_a, attributes.transpose_b};
  AddNumbers(text, "_t", transposed, 2);
  return text;
}

void TuningTable::Parse(const std::string& text) {
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string::npos) end = text.size();
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    size_t at = 0;
    const std::string kind = NextWord(line, &at);
    const std::string signature = NextWord(line, &at);
    const std::string variant = NextWord(line, &at);
    if (kind.empty() || kind[0] == '#') continue;
    const TileShape* shape = FindTile(variant.c_str(), variant.size());
    if (shape != nullptr) choices_[kind + " " + signature] = shape;
  }
}

const TileShape* TuningTable::Find(const char* kind, const std::string& signature) const {
  const auto found = choices_.find(std::string(kind) + " " + signature);
  return found == choices_.end() ? nullptr : found->second;
}

TuningTable ReadTuning() {
  TuningTable table;
  const char* path = std::getenv("TENON_OPENCL_TUNING");
  if (path == nullptr || path[0] == '\0') return table;
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return table;
  std::string text;
  char piece[4096];
  for (size_t got = 0; (got = std::fread(piece, 1, sizeof(piece), file)) > 0;) {
    text.append(piece, got);
  }
  std::fclose(file);
  table.Parse(text);
  return table;
}

}  // namespace tenon::opencl
