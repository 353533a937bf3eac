// Damaged and hostile ONNX files through the whole converter: a plan or an error comes back, never
// a crash or an exception, soon, and without memory that the file does not account for. The models
// are the shipped one and, where the shared folder is there, one small file per operator.
#include <doctest/doctest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>

#include "tests/support/convert_and_run.hpp"
#include "tests/support/shared_folder.hpp"

using namespace tenon::test;  // NOLINT
namespace fs = std::filesystem;

namespace {
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> peak_bytes{0};

void* Counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const int64_t now = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  if (now > peak_bytes) peak_bytes = now;
  return memory;
}

void Release(void* memory) {
  live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace

// Not inlined, or the compiler sees malloc in one and delete in the other and warns.
[[gnu::noinline]] void* operator new(size_t size) {
  return Counted(std::malloc(size == 0 ? 1 : size));
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  void* memory = std::malloc(size == 0 ? 1 : size);
  return memory == nullptr ? nullptr : Counted(memory);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { Release(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { Release(memory); }

namespace {

constexpr double kMostSeconds = 30;
constexpr int64_t kMostBytes = int64_t{1} << 30;

using Bytes = std::vector<char>;

Bytes Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::vector<Bytes> Models() {
  std::vector<Bytes> models;
  const char* source = std::getenv("TENON_SOURCE_DIR");
  models.push_back(
      Read(fs::path(source != nullptr ? source : ".") / "sdk/models/digits/digits.onnx"));
  REQUIRE(models[0].size() > 1000);
  const fs::path shared = SharedPath("conformance");
  if (shared.empty()) return models;
  constexpr uintmax_t kSmall = 4096;
  for (const auto& entry : fs::recursive_directory_iterator(shared)) {
    if (entry.path().extension() == ".onnx" && entry.file_size() < kSmall) {
      models.push_back(Read(entry.path()));
    }
  }
  // The order of a folder is no order.
  std::sort(models.begin() + 1, models.end());
  return models;
}

void Mutate(Bytes& file, const Bytes& other, std::mt19937& random) {
  if (file.empty()) return;
  const size_t at = random() % file.size();
  switch (random() % 7) {
    case 0:
      file[at] = static_cast<char>(file[at] ^ (1 << (random() % 8)));
      break;
    case 1:
      file[at] = static_cast<char>(random());
      break;
    case 2:
      file.resize(at);
      break;
    case 3: {  // a small number in another's place: dims, axes and types are one byte
      constexpr char kValues[] = {0, 1, 2, 3, 5, 7, 8, 11, 16, 64, 127};
      file[at] = kValues[random() % std::size(kValues)];
      break;
    }
    case 4: {  // a part of the file again, or none of it
      const size_t count = std::min<size_t>(random() % 32, file.size() - at);
      if (random() % 2 == 0) {
        file.erase(file.begin() + static_cast<ptrdiff_t>(at),
                   file.begin() + static_cast<ptrdiff_t>(at + count));
      } else {
        const Bytes part(file.begin() + static_cast<ptrdiff_t>(at),
                         file.begin() + static_cast<ptrdiff_t>(at + count));
        file.insert(file.begin() + static_cast<ptrdiff_t>(at), part.begin(), part.end());
      }
      break;
    }
    case 5:  // messages of the same kind may be joined: two graphs in one
      file.insert(file.end(), other.begin(), other.end());
      break;
    default: {  // one letter of a name: other operators, attributes, references
      for (size_t i = at; i < file.size(); ++i) {
        if (std::isalpha(static_cast<unsigned char>(file[i])) == 0) continue;
        file[i] = static_cast<char>('A' + random() % 58);
        break;
      }
      break;
    }
  }
}

class Converter {
 public:
  Converter() : folder_(fs::temp_directory_path() / ("onnx_mutation_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    options_ = OptionsFor();
    options_.model = folder_ / "model.onnx";
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
  ~Converter() { fs::remove_all(folder_); }

  /// True if it converts.
  bool Try(const Bytes& file) {
    std::ofstream(options_.model, std::ios::binary)
        .write(file.data(), static_cast<std::streamsize>(file.size()));
    peak_bytes = live_bytes.load();
    const int64_t before = live_bytes;
    const auto start = std::chrono::steady_clock::now();
    bool converted = false;
    std::string message;
    try {
      const auto conversion = tenon::converter::Convert(options_);
      converted = conversion.ok();
      if (!converted) message = conversion.error().message;
      if (!converted) CHECK(conversion.error().kind != tenon::converter::ErrorKind::kInternal);
    } catch (const std::exception& exception) {
      message = exception.what();
      FAIL_CHECK("an exception came out: " << message);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    CAPTURE(message);
    CHECK(elapsed.count() < kMostSeconds);
    CHECK(peak_bytes - before < kMostBytes);
    CHECK(converted == message.empty());
    return converted;
  }

 private:
  fs::path folder_;
  tenon::converter::ConvertOptions options_;
};

}  // namespace

TEST_CASE("ONNX mutation: whatever the file holds, a plan or an error comes back") {
  const std::vector<Bytes> models = Models();
  Converter converter;
  std::mt19937 random(21);
  int converted = 0;
  constexpr int kRounds = 6000;
  for (int i = 0; i < kRounds; ++i) {
    CAPTURE(i);
    Bytes file = models[random() % models.size()];
    const Bytes& other = models[random() % models.size()];
    for (size_t k = 1 + random() % 2; k > 0; --k) Mutate(file, other, random);
    converted += converter.Try(file) ? 1 : 0;
  }
  MESSAGE(converted << " of " << kRounds << " still convert");
  CHECK(converted > 100);
}

TEST_CASE("ONNX mutation: a file cut anywhere is refused") {
  Converter converter;
  const Bytes model = Models()[0];
  std::mt19937 random(22);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    CHECK_FALSE(
        converter.Try(Bytes(model.begin(), model.begin() + random() % (model.size() - 64))));
  }
}
