// Runs a fuzz target without libFuzzer, in every build: on files as they are, and on seeded changes
// of them. usage: X_fuzz [--changes N] [--seed N] [--last FILE] FILE_OR_FOLDER...; FILE gets each
// input before it is tried, and so holds one that ends the program.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" {
int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);
[[gnu::weak]] int LLVMFuzzerInitialize(int* count, char*** arguments);
[[gnu::weak]] size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most,
                                             unsigned seed);
size_t LLVMFuzzerMutate(uint8_t* data, size_t bytes, size_t most);
}

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr size_t kMost = 65536;
std::mt19937 chance(1);

size_t Below(size_t limit) { return limit == 0 ? 0 : chance() % limit; }

Bytes Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<fs::path> FilesIn(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());  // so that every run is the same
  return files;
}

Bytes Changed(const Bytes& file) {
  Bytes changed = file;
  changed.resize(std::max(kMost, file.size()));
  const auto change = LLVMFuzzerCustomMutator != nullptr
                          ? LLVMFuzzerCustomMutator(changed.data(), file.size(), kMost,
                                                    static_cast<unsigned>(chance()))
                          : LLVMFuzzerMutate(changed.data(), file.size(), kMost);
  changed.resize(change);
  return changed;
}

void Try(const Bytes& file, const char* last) {
  if (last != nullptr) {
    std::ofstream(last, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
  }
  LLVMFuzzerTestOneInput(file.data(), file.size());
}

}  // namespace

/// One change of a byte, a word or the length.
size_t LLVMFuzzerMutate(uint8_t* data, size_t bytes, size_t most) {
  constexpr uint32_t kEdges[] = {0, 1, 2, 255, 0x7FFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  if (bytes == 0) return 0;
  switch (chance() % 6) {
    case 0:
      data[Below(bytes)] ^= static_cast<uint8_t>(1U << Below(8));
      return bytes;
    case 1:
      data[Below(bytes)] = static_cast<uint8_t>(chance());
      return bytes;
    case 2:
      if (bytes >= 4) std::memcpy(data + Below(bytes - 3), &kEdges[Below(std::size(kEdges))], 4);
      return bytes;
    case 3:
      return Below(bytes) + 1;
    case 4: {  // a piece twice
      const size_t from = Below(bytes);
      const size_t count = std::min({Below(64) + 1, bytes - from, most - std::min(most, bytes)});
      std::memmove(data + from + count, data + from, bytes - from);
      return bytes + count;
    }
    default: {  // a piece less
      const size_t from = Below(bytes);
      const size_t count = std::min(Below(64) + 1, bytes - from);
      std::memmove(data + from, data + from + count, bytes - from - count);
      return bytes - count;
    }
  }
}

int main(int count, char** arguments) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&count, &arguments);
  size_t changes = 0;
  size_t tries = 0;
  const char* last = nullptr;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--changes") == 0 && i + 1 < count) {
      changes = std::strtoul(arguments[++i], nullptr, 10);
      continue;
    }
    if (std::strcmp(arguments[i], "--seed") == 0 && i + 1 < count) {
      chance.seed(static_cast<unsigned>(std::strtoul(arguments[++i], nullptr, 10)));
      continue;
    }
    if (std::strcmp(arguments[i], "--last") == 0 && i + 1 < count) {
      last = arguments[++i];
      continue;
    }
    for (const fs::path& path : FilesIn(arguments[i])) {
      const Bytes file = Read(path);
      Try(file, last);
      Bytes next = file;
      for (size_t k = 0; k < changes; ++k, ++tries) {
        next = Changed(k % 8 == 0 || next.empty() ? file : next);
        Try(next, last);
      }
      ++tries;
    }
  }
  std::printf("%zu inputs tried\n", tries);
  return tries > 0 ? 0 : 1;
}
