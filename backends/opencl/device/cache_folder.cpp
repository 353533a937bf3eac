#include "backends/opencl/device/cache_folder.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenon::opencl {
namespace {

constexpr char kKeyName[] = "opencl.key";
constexpr unsigned kOthersWrite = S_IWGRP | S_IWOTH;
constexpr unsigned kOthersTouch = S_IRWXG | S_IRWXO;

/// Makes the folder and those above it; what cannot be made shows when it is opened.
void MakeFolders(const std::string& folder) {
  for (size_t at = 1; at <= folder.size(); ++at) {
    if (at == folder.size() || folder[at] == '/') mkdir(folder.substr(0, at).c_str(), 0700);
  }
}

/// Looks at what is open, not at a name that may stand for something else by then.
bool IsOurs(const struct stat& status, unsigned forbidden) {
  return status.st_uid == geteuid() && (status.st_mode & forbidden) == 0;
}

/// Is a file of the folder, closed at the end.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)Close(); }

  [[nodiscard]] bool ok() const { return descriptor_ >= 0; }
  [[nodiscard]] bool FindStatus(struct stat* status) const {
    return ok() && fstat(descriptor_, status) == 0;
  }
  /// True if exactly these bytes are left to read.
  bool Read(uint8_t* data, size_t bytes) const {
    for (size_t done = 0; done < bytes;) {
      const ssize_t count = read(descriptor_, data + done, bytes - done);
      if (count <= 0) return false;
      done += static_cast<size_t>(count);
    }
    uint8_t more = 0;
    return read(descriptor_, &more, 1) == 0;
  }
  bool Write(Span<const uint8_t> part) const {
    for (size_t done = 0; done < part.size();) {
      const ssize_t count = write(descriptor_, part.data() + done, part.size() - done);
      if (count <= 0) return false;
      done += static_cast<size_t>(count);
    }
    return true;
  }
  bool Close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor < 0 || close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

bool FillByChance(void* data, size_t bytes) {
  return getrandom(data, bytes, 0) == static_cast<ssize_t>(bytes);
}

}  // namespace

std::string CacheFolderPath() {
  const char* named = std::getenv("TENON_CACHE_DIR");
  if (named != nullptr && named[0] != '\0') {
    return std::strcmp(named, "off") == 0 ? std::string() : std::string(named);
  }
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/tenon";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + "/.cache/tenon";
  return {};
}

CacheFolder::CacheFolder(const std::string& path) {
  if (path.empty()) return;
  MakeFolders(path);
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status = {};
  if (fstat(descriptor, &status) == 0 && IsOurs(status, kOthersWrite)) {
    descriptor_ = descriptor;
  } else {
    close(descriptor);
  }
}

CacheFolder::~CacheFolder() {
  if (ok()) close(descriptor_);
}

std::vector<uint8_t> CacheFolder::Read(const std::string& name, size_t most) const {
  return Read(name, most, kOthersWrite);
}

std::vector<uint8_t> CacheFolder::Read(const std::string& name, size_t most,
                                       unsigned forbidden) const {
  if (!ok()) return {};
  // Without waiting for the other end of what is no file.
  const File file(
      openat(descriptor_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status = {};
  if (!file.FindStatus(&status) || !S_ISREG(status.st_mode) || !IsOurs(status, forbidden) ||
      static_cast<uint64_t>(status.st_size) > most) {
    return {};
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  if (!file.Read(bytes.data(), bytes.size())) return {};
  return bytes;
}

bool CacheFolder::Write(const std::string& name,
                        std::initializer_list<Span<const uint8_t>> parts) const {
  uint64_t number = 0;
  if (!ok() || !FillByChance(&number, sizeof number)) return false;
  // Under a name of its own first, so that readers find all of a file or none of it.
  char ending[24];
  std::snprintf(ending, sizeof ending, ".%016llx", static_cast<unsigned long long>(number));
  const std::string temporary = name + ending;
  File file(openat(descriptor_, temporary.c_str(),
                   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.ok()) return false;
  bool written = true;
  for (const Span<const uint8_t> part : parts) written = written && file.Write(part);
  written = file.Close() && written &&
            renameat(descriptor_, temporary.c_str(), descriptor_, name.c_str()) == 0;
  if (!written) unlinkat(descriptor_, temporary.c_str(), 0);
  return written;
}

bool CacheFolder::FindKey(SipKey* key) const {
  for (int round = 0; round < 2; ++round) {
    const std::vector<uint8_t> bytes = Read(kKeyName, sizeof *key, kOthersTouch);
    if (bytes.size() == sizeof *key) {
      std::memcpy(key, bytes.data(), sizeof *key);
      return true;
    }
    // Of processes that do this at once the last one's key stays; what the others have written
    // until then is not taken for theirs, and written again.
    SipKey made;
    if (!FillByChance(&made, sizeof made) ||
        !Write(kKeyName, {Span<const uint8_t>(made.bytes, sizeof made.bytes)})) {
      return false;
    }
  }
  return false;
}

}  // namespace tenon::opencl
