// Keeps built programs on disk, so that the next start need not compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/device_choice.hpp"

namespace tenon::opencl {

/// Is the place of one built program in the cache: a file of its own, whose name is a hash of all
/// that the binary depends on (device, driver, source, options). The folder is TENON_CACHE_DIR,
/// else XDG_CACHE_HOME/tenon, else HOME/.cache/tenon. With TENON_CACHE_DIR=off, or none of the
/// three, there is no cache. Files may be deleted at any time, and several processes may use one
/// folder.
///
/// A file is used only if its length, magic, key and CRC-32C are right and the driver takes it;
/// whatever is wrong with the cache, the program is then built from source as if there were none.
class ProgramCache {
 public:
  ProgramCache(const DeviceTraits& traits, const std::string& source, const std::string& options);

  /// Returns the program, ready for kernels; null if the cache does not have it.
  [[nodiscard]] cl_program Load(cl_context context, cl_device_id device,
                                const std::string& options) const;
  /// Stores a program that has been built for one device, if that is possible.
  void Store(cl_program program) const;

  /// Returns where the file is or would be; empty: there is no cache.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  /// Returns the binary in the file; empty if it is not to be trusted.
  [[nodiscard]] std::vector<uint8_t> Read() const;

  std::string folder_;
  std::string path_;
  uint64_t key_[2] = {};
};

}  // namespace tenon::opencl
