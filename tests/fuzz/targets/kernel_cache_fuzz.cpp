// Files of the cache of OpenCL programs, and the user's key beside them: what nobody has made with
// that key is never given to a driver.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "backends/opencl/device/program_cache.hpp"

namespace {

/// The cache's folder, which goes with the process.
class Folder {
 public:
  Folder() : name_("/tmp/tenon-fuzz-XXXXXX") {
    if (mkdtemp(name_.data()) == nullptr) std::abort();
    setenv("TENON_CACHE_DIR", name_.c_str(), 1);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(name_, error);
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
};

void Put(const std::string& path, const uint8_t* data, size_t bytes) {
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (file < 0 || write(file, data, bytes) != static_cast<ssize_t>(bytes)) std::abort();
  close(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static const Folder made;
  const std::string& folder = made.name();
  if (bytes == 0) return 0;
  const bool is_key = data[0] % 2 != 0;
  const tenon::opencl::ProgramCache cache({}, "source", "options");
  if (cache.name().empty()) std::abort();
  if (is_key) {
    // Whatever has the key's name: another is made, or there is no cache.
    DIR* list = opendir(folder.c_str());
    while (const dirent* entry = readdir(list)) {
      if (entry->d_name[0] != '.') Put(folder + "/" + entry->d_name, data + 1, bytes - 1);
    }
    closedir(list);
    const tenon::opencl::ProgramCache again({}, "source", "options");
    (void)again.Load(nullptr, nullptr, "options");
    list = opendir(folder.c_str());
    while (const dirent* entry = readdir(list)) {
      if (entry->d_name[0] != '.') unlink((folder + "/" + entry->d_name).c_str());
    }
    closedir(list);
    return 0;
  }
  Put(folder + "/" + cache.name(), data + 1, bytes - 1);
  if (cache.Load(nullptr, nullptr, "options") != nullptr) std::abort();
  return 0;
}
