// What readers of files are given: the input as a file that has no name on any disk.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace tenon::fuzz {

class FuzzFile {
 public:
  FuzzFile(const uint8_t* data, size_t bytes) : file_(memfd_create("input", 0)) {
    if (file_ < 0 || write(file_, data, bytes) != static_cast<ssize_t>(bytes)) std::abort();
  }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;
  ~FuzzFile() { close(file_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace tenon::fuzz
