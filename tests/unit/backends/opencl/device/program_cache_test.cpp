#include "backends/opencl/device/program_cache.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "backends/opencl/device/device.hpp"
#include "runtime/base/crc32c.hpp"
#include "tests/unit/backends/opencl/opencl_environment.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

namespace fs = std::filesystem;

/// A cache folder of the test's own, empty at first.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& name)
      : path_(fs::path(std::getenv("TENON_BINARY_DIR")) / "opencl_cache" / name),
        variable_("TENON_CACHE_DIR", path_.c_str()) {
    fs::remove_all(path_);
  }
  ~CacheFolder() { fs::remove_all(path_); }

  [[nodiscard]] std::vector<fs::path> Files() const {
    if (!fs::exists(path_)) return {};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      files.push_back(entry.path());
    }
    return files;
  }

 private:
  fs::path path_;
  Variable variable_;
};

std::vector<char> ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void WriteAll(const fs::path& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Builds the program on a device of its own, makes a kernel of it, and tells how often source was
/// compiled.
int BuiltFromSource(const std::string& options = "") {
  const Interception interception;
  Device device;
  REQUIRE(device.Open(1).ok());
  cl_program program = nullptr;
  const Status status = device.FindProgram("lrn.cl", options, &program);
  INFO(Text(status));
  REQUIRE(status.ok());
  Kernel kernel;
  REQUIRE(kernel.Create(program, "lrn").ok());
  return Interception::Take().built;
}

/// As program_cache.cpp writes it.
struct Header {
  char magic[8];
  uint64_t key[2];
  uint64_t bytes;
  uint32_t crc;
  uint32_t header_crc;
};

}  // namespace

TEST_CASE("OpenCL cache: a program is compiled once, however often a device is opened") {
  const CacheFolder folder("once");
  CHECK(BuiltFromSource() == 1);
  CHECK(folder.Files().size() == 1);
  CHECK(BuiltFromSource() == 0);
  CHECK(BuiltFromSource("-DOTHER") == 1);
  CHECK(folder.Files().size() == 2);
}

TEST_CASE("OpenCL cache: a damaged file is compiled anew and mended") {
  const CacheFolder folder("damaged");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  const std::vector<char> good = ReadAll(path);
  REQUIRE(good.size() > sizeof(Header) + 100);
  for (const size_t place : {size_t{0}, size_t{9}, size_t{25}, size_t{33}, size_t{37},
                             sizeof(Header), sizeof(Header) + 77, good.size() - 1}) {
    CAPTURE(place);
    std::vector<char> bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 0x10);
    WriteAll(path, bad);
    CHECK(BuiltFromSource() == 1);
    CHECK(BuiltFromSource() == 0);
  }
}

TEST_CASE("OpenCL cache: a file that was cut short or is too long is not used") {
  const CacheFolder folder("cut");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  const std::vector<char> good = ReadAll(path);
  for (const size_t size :
       {size_t{0}, size_t{5}, sizeof(Header), good.size() - 1, good.size() + 1}) {
    CAPTURE(size);
    std::vector<char> bad = good;
    bad.resize(size);
    WriteAll(path, bad);
    CHECK(BuiltFromSource() == 1);
  }
}

TEST_CASE("OpenCL cache: another program's file under this name is not used") {
  const CacheFolder folder("foreign");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  REQUIRE(BuiltFromSource("-DOTHER") == 1);
  for (const fs::path& file : folder.Files()) {
    if (file != path) fs::copy_file(file, path, fs::copy_options::overwrite_existing);
  }
  CHECK(BuiltFromSource() == 1);
}

TEST_CASE("OpenCL cache: a binary that the driver rejects is compiled anew") {
  const CacheFolder folder("rejected");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  std::vector<char> file = ReadAll(path);
  Header header;
  std::memcpy(&header, file.data(), sizeof(header));
  // Well-formed in every way that this cache can see.
  const std::vector<char> binary(500, 'x');
  header.bytes = binary.size();
  header.crc = Crc32c(binary.data(), binary.size());
  header.header_crc = Crc32c(&header, offsetof(Header, header_crc));
  file.assign(reinterpret_cast<const char*>(&header),
              reinterpret_cast<const char*>(&header) + sizeof(header));
  file.insert(file.end(), binary.begin(), binary.end());
  WriteAll(path, file);
  CHECK(BuiltFromSource() == 1);
  CHECK(BuiltFromSource() == 0);
}

TEST_CASE("OpenCL cache: a folder that cannot be written, or none, does no harm") {
  for (const char* folder : {"/dev/null/cache", "off"}) {
    const Variable variable("TENON_CACHE_DIR", folder);
    CHECK(BuiltFromSource() == 1);
    CHECK(BuiltFromSource() == 1);
  }
  CHECK(!fs::exists("off"));
}

TEST_CASE("OpenCL cache: where it stands follows from the environment") {
  const DeviceTraits traits;
  const Variable home("HOME", "/a");
  const Variable xdg("XDG_CACHE_HOME", "/b");
  const Variable own("TENON_CACHE_DIR", "/c");
  const auto folder = [&] {
    return fs::path(ProgramCache(traits, "source", "options").path()).parent_path().string();
  };
  CHECK(folder() == "/c");
  const Variable no_own("TENON_CACHE_DIR", nullptr);
  CHECK(folder() == "/b/tenon");
  const Variable no_xdg("XDG_CACHE_HOME", nullptr);
  CHECK(folder() == "/a/.cache/tenon");
  const Variable no_home("HOME", nullptr);
  CHECK(folder().empty());
}

TEST_CASE("OpenCL cache: everything that the binary depends on is in the name") {
  const Variable own("TENON_CACHE_DIR", "/c");
  DeviceTraits traits;
  traits.name = "name";
  const std::string path = ProgramCache(traits, "source", "options").path();
  CHECK(path != ProgramCache(traits, "source2", "options").path());
  CHECK(path != ProgramCache(traits, "source", "options2").path());
  CHECK(path != ProgramCache(traits, "sourceo", "ptions").path());
  for (std::string DeviceTraits::*text : {&DeviceTraits::name, &DeviceTraits::version,
                                          &DeviceTraits::driver, &DeviceTraits::platform}) {
    DeviceTraits other = traits;
    other.*text += "x";
    CHECK(path != ProgramCache(other, "source", "options").path());
  }
}

}  // namespace tenon::opencl::testing
