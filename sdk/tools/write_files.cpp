#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <optional>
#include <string>

#include "sdk/tools/files.hpp"
#include "sdk/tools/pending_signal.hpp"
#include "sdk/tools/tool.hpp"

namespace tenon::tool {
namespace {

namespace fs = std::filesystem;

/// What ends a write because a signal wants the process to end: nobody reads these words.
[[noreturn]] void Stop() { Fail(kDeviceFailure, "interrupted"); }

[[noreturn]] void FailToWrite(const fs::path& path, int error) {
  Fail(kDeviceFailure, "cannot write '{}': {}", path.string(), std::strerror(error));
}

/// Looks for signals now and then: a disk can be slow.
bool WriteAll(int file, std::string_view data) {
  constexpr size_t kMostAtOnce = size_t{1} << 20;
  while (!data.empty()) {
    if (PendingSignal::IsNoted()) Stop();
    const ssize_t written = write(file, data.data(), std::min(data.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool WriteAll(int to, const NewFile& file) {
  return WriteAll(to, file.bytes) && WriteAll(to, file.rest);
}

/// The open file that the path is a name of: replacing "/dev/stdout" by a file would be fatal.
std::optional<int> DescriptorOf(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int descriptor = -1;
    const char* end = path.data() + path.size();
    const auto [rest, error] = std::from_chars(path.data() + folder.size(), end, descriptor);
    if (error == std::errc() && rest == end && descriptor >= 0) return descriptor;
  }
  return std::nullopt;
}

/// Permissions of a new file under the process's mask.
mode_t NewFileMode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (file_ >= 0) close(file_);
  }
  [[nodiscard]] int get() const { return file_; }

 private:
  int file_;
};

/// True if `path` is a regular file, or nothing yet: what can be replaced.
bool CanBeReplaced(const fs::path& path) {
  struct stat info {};
  if (DescriptorOf(path.string())) return false;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return true;
  if (S_ISDIR(info.st_mode)) FailToWrite(path, EISDIR);
  return false;
}

void WriteDirectly(const NewFile& file) {
  if (const std::optional<int> descriptor = DescriptorOf(file.path.string())) {
    std::cout.flush();
    if (!WriteAll(*descriptor, file)) FailToWrite(file.path, errno);
    return;
  }
  const Descriptor to(open(file.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (to.get() < 0 || !WriteAll(to.get(), file)) FailToWrite(file.path, errno);
}

/// A name beside `path` that nothing has, for a link or a rename.
std::string FreeName(const fs::path& path) {
  std::string name = path.string() + ".XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) FailToWrite(path, errno);
  close(file);
  unlink(name.c_str());
  return name;
}

/// A file's new bytes on the disk, which have not got the file's name yet; and the old ones, once
/// they have.
class Staged {
 public:
  explicit Staged(const NewFile& file) : path_(file.path) {
    const fs::path folder = path_.has_parent_path() ? path_.parent_path() : fs::path(".");
    // Without /proc such a file could not get a name.
    if (access("/proc/self/fd", X_OK) == 0) {
      file_ = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    }
    if (file_ < 0) {  // not every file system has such files, and not every folder is one
      temporary_ = path_.string() + ".XXXXXX";
      file_ = mkstemp(temporary_.data());
      if (file_ < 0) {
        temporary_.clear();
        FailToWrite(path_, errno);
      }
    }
    try {
      if (!WriteAll(file_, file) || fsync(file_) != 0 || fchmod(file_, NewFileMode()) != 0) {
        FailToWrite(path_, errno);
      }
    } catch (...) {
      Discard();
      throw;
    }
  }
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() { Discard(); }

  /// Gives the file a name beside its path, so that renaming it needs no more room.
  void Name() {
    if (!temporary_.empty()) return;
    const std::string name = FreeName(path_);
    const std::string from = "/proc/self/fd/" + std::to_string(file_);
    if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
      FailToWrite(path_, errno);
    }
    temporary_ = name;
  }

  /// Keeps the old file under another name, and gives its own to the new one.
  void Replace() {
    struct stat info {};
    if (lstat(path_.c_str(), &info) == 0) {
      const std::string name = FreeName(path_);
      // Where there are no links the path has no file for a moment.
      if (link(path_.c_str(), name.c_str()) != 0 && std::rename(path_.c_str(), name.c_str()) != 0) {
        FailToWrite(path_, errno);
      }
      old_ = name;
    }
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      Restore();
      FailToWrite(path_, error);
    }
    temporary_.clear();
    replaced_ = true;
  }

  /// Takes Replace back.
  void Restore() {
    if (!old_.empty()) {
      std::rename(old_.c_str(), path_.c_str());
      unlink(old_.c_str());  // renaming one link of a file to another does nothing
    } else if (replaced_) {
      unlink(path_.c_str());
    }
    old_.clear();
    replaced_ = false;
  }

  /// Forgets the old file.
  void Keep() {
    if (!old_.empty()) unlink(old_.c_str());
    old_.clear();
  }

 private:
  void Discard() {
    if (file_ >= 0) close(file_);
    file_ = -1;
    if (!temporary_.empty()) unlink(temporary_.c_str());
    temporary_.clear();
  }

  fs::path path_;
  int file_ = -1;
  std::string temporary_;  ///< empty while the file has no name
  std::string old_;
  bool replaced_ = false;
};

void Commit(std::deque<Staged>& staged) {
  for (Staged& file : staged) file.Name();
  try {
    for (Staged& file : staged) file.Replace();
  } catch (...) {
    for (Staged& file : staged) file.Restore();
    throw;
  }
  for (Staged& file : staged) file.Keep();
}

}  // namespace

void WriteFiles(const std::vector<NewFile>& files) {
  const PendingSignal pending;
  std::deque<Staged> staged;
  std::vector<const NewFile*> others;
  for (const NewFile& file : files) {
    CanBeReplaced(file.path) ? void(staged.emplace_back(file)) : others.push_back(&file);
  }
  for (const NewFile* file : others) WriteDirectly(*file);
  if (PendingSignal::IsNoted()) Stop();
  Commit(staged);
}

void WriteFile(const fs::path& path, const void* data, size_t bytes) {
  WriteFiles({{path, std::string_view(static_cast<const char*>(data), bytes)}});
}

void WriteFile(const fs::path& path, std::string_view text) { WriteFiles({{path, text}}); }

}  // namespace tenon::tool
