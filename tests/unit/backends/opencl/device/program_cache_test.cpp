#include "backends/opencl/device/program_cache.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "backends/opencl/device/device.hpp"
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

  /// Those of programs; beside them stands the key.
  [[nodiscard]] std::vector<fs::path> Files() const {
    if (!fs::exists(path_)) return {};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".bin") files.push_back(entry.path());
    }
    return files;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] fs::path Key() const { return path_ / "opencl.key"; }

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

/// Builds the program on a device of its own, makes a kernel of it, and tells what of.
CallCounts CountBuilds(const std::string& options = "") {
  const Interception interception;
  Device device;
  REQUIRE(device.Open(1).ok());
  cl_program program = nullptr;
  const Status status = device.FindProgram("lrn.cl", options, &program);
  INFO(Text(status));
  REQUIRE(status.ok());
  Kernel kernel;
  REQUIRE(kernel.Create(program, "lrn").ok());
  return Interception::Take();
}

/// How often source was compiled for that.
int BuiltFromSource(const std::string& options = "") { return CountBuilds(options).built; }

/// As program_cache.cpp writes it.
struct Header {
  char magic[8];
  uint8_t digest[16];
};

/// Writes a file whose digest is right under this key; so much only the key's owner can do.
void WriteSealed(const fs::path& path, const std::vector<char>& key_bytes,
                 const std::vector<char>& binary) {
  SipKey key;
  REQUIRE(key_bytes.size() == sizeof key.bytes);
  std::memcpy(key.bytes, key_bytes.data(), sizeof key.bytes);
  Header header = {{'T', 'E', 'N', 'O', 'C', 'L', 'B', '2'}, {}};
  const std::string name = path.filename().string();
  SipHash hash(key);
  hash.Add(header.magic, sizeof header.magic);
  hash.Add(name.c_str(), name.size() + 1);
  hash.Add(binary.data(), binary.size());
  hash.Finish(header.digest);
  std::vector<char> file(reinterpret_cast<const char*>(&header),
                         reinterpret_cast<const char*>(&header) + sizeof header);
  file.insert(file.end(), binary.begin(), binary.end());
  WriteAll(path, file);
}

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
  for (const size_t place : {size_t{0}, size_t{7}, size_t{8}, size_t{23}, sizeof(Header),
                             sizeof(Header) + 77, good.size() - 1}) {
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
  // Well-formed in every way that this cache can see.
  WriteSealed(path, ReadAll(folder.Key()), std::vector<char>(500, 'x'));
  CHECK(BuiltFromSource() == 1);
  CHECK(BuiltFromSource() == 0);
}

TEST_CASE("OpenCL cache: a file that was sealed without this user's key never reaches the driver") {
  const CacheFolder folder("forged");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  const std::vector<char> good = ReadAll(path);
  const std::vector<char> binary(good.begin() + sizeof(Header), good.end());
  const std::vector<char> key = ReadAll(folder.Key());
  WriteSealed(path, key, binary);
  CHECK(ReadAll(path) == good);  // the seal is what the cache makes
  std::vector<char> other_key = key;
  other_key[3] = static_cast<char>(other_key[3] ^ 1);
  WriteSealed(path, other_key, binary);
  CHECK(CountBuilds().binaries == 0);
  CHECK(ReadAll(path) == good);
  CHECK(CountBuilds().binaries == 1);
}

TEST_CASE("OpenCL cache: names and seals are those of the key, which is a user's own") {
  const CacheFolder folder("key");
  REQUIRE(BuiltFromSource() == 1);
  const std::vector<char> key = ReadAll(folder.Key());
  CHECK(key.size() == 16);
  CHECK((fs::status(folder.Key()).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
  CHECK((fs::status(folder.path()).permissions() & fs::perms::mask) == fs::perms::owner_all);
  REQUIRE(BuiltFromSource() == 0);
  fs::remove(folder.Key());
  CHECK(BuiltFromSource() == 1);
  CHECK(ReadAll(folder.Key()) != key);
  CHECK(folder.Files().size() == 2);
}

TEST_CASE("OpenCL cache: a key that others may read, or a damaged one, is replaced") {
  const CacheFolder folder("open_key");
  REQUIRE(BuiltFromSource() == 1);
  const std::vector<char> key = ReadAll(folder.Key());
  fs::permissions(folder.Key(), fs::perms::others_read, fs::perm_options::add);
  CHECK(BuiltFromSource() == 1);
  CHECK(ReadAll(folder.Key()) != key);
  WriteAll(folder.Key(), std::vector<char>(3, 'k'));
  CHECK(BuiltFromSource() == 1);
  CHECK(ReadAll(folder.Key()).size() == 16);
}

TEST_CASE("OpenCL cache: a folder that others may write is neither read nor written") {
  const CacheFolder folder("open_folder");
  REQUIRE(BuiltFromSource() == 1);
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder.path(), fs::perms::owner_all | others);
    CHECK(BuiltFromSource() == 1);
    CHECK(BuiltFromSource("-DOTHER") == 1);
    CHECK(folder.Files().size() == 1);
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
  CHECK(BuiltFromSource() == 0);
}

TEST_CASE("OpenCL cache: a file that others may write is made anew") {
  const CacheFolder folder("open_file");
  REQUIRE(BuiltFromSource() == 1);
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder.Files().at(0), others, fs::perm_options::add);
    CHECK(BuiltFromSource() == 1);
    CHECK(BuiltFromSource() == 0);
  }
}

TEST_CASE("OpenCL cache: what is no plain file is not read") {
  const CacheFolder folder("no_file");
  REQUIRE(BuiltFromSource() == 1);
  const fs::path path = folder.Files().at(0);
  const fs::path elsewhere = folder.path() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  CHECK(BuiltFromSource() == 1);
  CHECK(!fs::is_symlink(path));
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);  // reading it would wait for a writer
  CHECK(BuiltFromSource() == 1);
  CHECK(fs::is_regular_file(path));
}

TEST_CASE("OpenCL cache: another user's folder and files are not used") {
  if (geteuid() != 0) {
    MESSAGE("skipped: only root can give a file to another user");
    return;
  }
  const CacheFolder folder("foreign_user");
  REQUIRE(BuiltFromSource() == 1);
  constexpr uid_t kOther = 12345;
  REQUIRE(chown(folder.Files().at(0).c_str(), kOther, kOther) == 0);
  CHECK(BuiltFromSource() == 1);
  CHECK(BuiltFromSource() == 0);
  REQUIRE(chown(folder.path().c_str(), kOther, kOther) == 0);
  CHECK(BuiltFromSource() == 1);
  CHECK(BuiltFromSource() == 1);
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
  const Variable home("HOME", "/a");
  const Variable xdg("XDG_CACHE_HOME", "/b");
  const Variable own("TENON_CACHE_DIR", "/c");
  CHECK(CacheFolderPath() == "/c");
  const Variable no_own("TENON_CACHE_DIR", nullptr);
  CHECK(CacheFolderPath() == "/b/tenon");
  const Variable no_xdg("XDG_CACHE_HOME", nullptr);
  CHECK(CacheFolderPath() == "/a/.cache/tenon");
  const Variable no_home("HOME", nullptr);
  CHECK(CacheFolderPath().empty());
}

TEST_CASE("OpenCL cache: everything that the binary depends on is in the name") {
  const CacheFolder folder("names");
  DeviceTraits traits;
  traits.name = "name";
  const std::string name = ProgramCache(traits, "source", "options").name();
  CHECK(!name.empty());
  CHECK(name == ProgramCache(traits, "source", "options").name());
  CHECK(name != ProgramCache(traits, "source2", "options").name());
  CHECK(name != ProgramCache(traits, "source", "options2").name());
  CHECK(name != ProgramCache(traits, "sourceo", "ptions").name());
  for (std::string DeviceTraits::*text : {&DeviceTraits::name, &DeviceTraits::version,
                                          &DeviceTraits::driver, &DeviceTraits::platform}) {
    DeviceTraits other = traits;
    other.*text += "x";
    CHECK(name != ProgramCache(other, "source", "options").name());
  }
}

}  // namespace tenon::opencl::testing
