// The folder of cached files, which only its owner may write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "backends/opencl/device/siphash.hpp"
#include "runtime/base/span.hpp"

namespace tenon::opencl {

/// Returns TENON_CACHE_DIR, else XDG_CACHE_HOME/tenon, else HOME/.cache/tenon. Empty with
/// TENON_CACHE_DIR=off, or with none of the three: there is no cache then.
[[nodiscard]] std::string CacheFolderPath();

/// Is an open folder that belongs to the user whose rights the process has, and that nobody else
/// may write; so no other user can put a file there, nor take one away. It is made if need be.
/// Names are those of files in it. Several processes may use one folder.
class CacheFolder {
 public:
  explicit CacheFolder(const std::string& path);
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder();

  /// False: there is no such folder, or others may write there.
  [[nodiscard]] bool ok() const { return descriptor_ >= 0; }

  /// Returns the bytes of a file; empty if it has more than `most`, belongs to another user, may
  /// be written by others, or is no plain file.
  [[nodiscard]] std::vector<uint8_t> Read(const std::string& name, size_t most) const;
  /// Writes a file that only its owner may read or write. Readers find all of it, or what was there
  /// before.
  bool Write(const std::string& name, std::initializer_list<Span<const uint8_t>> parts) const;
  /// Finds this user's key for digests, made by chance when there is none yet. False: there is none
  /// to be had.
  bool FindKey(SipKey* key) const;

 private:
  [[nodiscard]] std::vector<uint8_t> Read(const std::string& name, size_t most,
                                          unsigned forbidden) const;

  int descriptor_ = -1;
};

}  // namespace tenon::opencl
