// Keeps built programs on disk, so that the next start need not compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/opencl/device/cache_folder.hpp"
#include "backends/opencl/device/cl_functions.hpp"
#include "backends/opencl/device/device_choice.hpp"
#include "backends/opencl/device/siphash.hpp"
#include "runtime/base/span.hpp"

namespace tenon::opencl {

/// Is the place of one built program in the cache: a file of its own, whose name is a digest of all
/// that the binary depends on (device, driver, source, options). Files may be deleted at any time.
///
/// What a driver is given as a program it trusts, so a file is used only if this user has written
/// it: folder and file are the user's own, nobody else may write them (cache_folder.hpp), and a
/// digest of the binary is right that nobody can make without the user's key. Whatever is wrong
/// with the cache, the program is then built from source as if there were none.
/// (docs/decisions/0017)
class ProgramCache {
 public:
  ProgramCache(const DeviceTraits& traits, const std::string& source, const std::string& options);

  /// Returns the program, ready for kernels; null if the cache does not have it.
  [[nodiscard]] cl_program Load(cl_context context, cl_device_id device,
                                const std::string& options) const;
  /// Stores a program that has been built for one device, if that is possible.
  void Store(cl_program program) const;

  /// Returns the file's name in its folder; empty: there is no cache.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void Digest(Span<const uint8_t> binary, uint8_t (&digest)[kSipBytes]) const;
  /// Returns the binary in the file; empty if it is not to be trusted.
  [[nodiscard]] std::vector<uint8_t> Read() const;

  CacheFolder folder_;
  SipKey key_ = {};
  std::string name_;
};

}  // namespace tenon::opencl
