#include "backends/opencl/device/program_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/base/crc32c.hpp"

namespace tenon::opencl {
namespace {

/// How a file begins; the binary follows. In the byte order of the machine that wrote it: another's
/// fails the check.
struct Header {
  char magic[8];
  uint64_t key[2];
  uint64_t bytes;
  uint32_t crc;  ///< of the binary
  uint32_t header_crc;
};
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'C', 'L', 'B', '1'};
/// No driver's binaries of our programs come near; keeps a damaged length from taking the memory.
constexpr uint64_t kMostBytes = uint64_t{256} << 20;

uint32_t HeaderCrc(const Header& header) { return Crc32c(&header, offsetof(Header, header_crc)); }

/// FNV-1a over texts, each ended by a NUL so that moving a letter to the next changes the hash.
uint64_t Hash(uint64_t hash, const std::string& text) {
  for (size_t i = 0; i <= text.size(); ++i) {
    hash = (hash ^ static_cast<uint8_t>(text.c_str()[i])) * 1099511628211U;
  }
  return hash;
}

std::string Folder() {
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

/// Makes the folder and those above it; what cannot be made shows when the file is opened.
void MakeFolders(const std::string& folder) {
  for (size_t at = 1; at <= folder.size(); ++at) {
    if (at == folder.size() || folder[at] == '/') mkdir(folder.substr(0, at).c_str(), 0700);
  }
}

class File {
 public:
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {}
  /// Takes over a descriptor to write to; a negative one gives a file that is not ok.
  explicit File(int descriptor) : file_(descriptor < 0 ? nullptr : fdopen(descriptor, "wb")) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { (void)Close(); }

  [[nodiscard]] bool ok() const { return file_ != nullptr; }
  bool Read(void* data, size_t bytes) { return std::fread(data, 1, bytes, file_) == bytes; }
  bool Write(const void* data, size_t bytes) { return std::fwrite(data, 1, bytes, file_) == bytes; }
  bool AtEnd() { return std::fgetc(file_) == EOF; }
  bool Close() {
    if (file_ == nullptr) return true;
    std::FILE* file = file_;
    file_ = nullptr;
    return std::fclose(file) == 0;
  }

 private:
  std::FILE* file_;
};

}  // namespace

ProgramCache::ProgramCache(const DeviceTraits& traits, const std::string& source,
                           const std::string& options)
    : folder_(Folder()) {
  constexpr uint64_t kStart[2] = {14695981039346656037U, 1099511628211U * 7919U};
  for (int i = 0; i < 2; ++i) {
    uint64_t hash = kStart[i];
    for (const std::string* text :
         {&traits.platform, &traits.name, &traits.version, &traits.driver, &source, &options}) {
      hash = Hash(hash, *text);
    }
    key_[i] = hash;
  }
  if (folder_.empty()) return;
  char name[64];
  std::snprintf(name, sizeof(name), "/opencl-%016llx%016llx.bin",
                static_cast<unsigned long long>(key_[0]), static_cast<unsigned long long>(key_[1]));
  path_ = folder_ + name;
}

std::vector<uint8_t> ProgramCache::Read() const {
  File file(path_);
  Header header;
  if (!file.ok() || !file.Read(&header, sizeof(header))) return {};
  const bool is_ours = std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 &&
                       header.header_crc == HeaderCrc(header) && header.key[0] == key_[0] &&
                       header.key[1] == key_[1] && header.bytes <= kMostBytes;
  if (!is_ours) return {};
  std::vector<uint8_t> binary(static_cast<size_t>(header.bytes));
  if (!file.Read(binary.data(), binary.size()) || !file.AtEnd()) return {};
  if (Crc32c(binary.data(), binary.size()) != header.crc) return {};
  return binary;
}

cl_program ProgramCache::Load(cl_context context, cl_device_id device,
                              const std::string& options) const {
  if (path_.empty()) return nullptr;
  const std::vector<uint8_t> binary = Read();
  if (binary.empty()) return nullptr;
  const unsigned char* data = binary.data();
  const size_t bytes = binary.size();
  cl_int device_code = CL_SUCCESS;
  cl_int code = CL_SUCCESS;
  cl_program program =
      Cl().CreateProgramWithBinary(context, 1, &device, &bytes, &data, &device_code, &code);
  if (program == nullptr) return nullptr;
  if (code == CL_SUCCESS && device_code == CL_SUCCESS &&
      Cl().BuildProgram(program, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS) {
    return program;
  }
  Cl().ReleaseProgram(program);
  return nullptr;
}

void ProgramCache::Store(cl_program program) const {
  if (path_.empty()) return;
  size_t bytes = 0;
  if (Cl().GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr) !=
          CL_SUCCESS ||
      bytes == 0 || bytes > kMostBytes) {
    return;
  }
  std::vector<uint8_t> binary(bytes);
  unsigned char* data = binary.data();
  if (Cl().GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) !=
      CL_SUCCESS) {
    return;
  }
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.key[0] = key_[0];
  header.key[1] = key_[1];
  header.bytes = bytes;
  header.crc = Crc32c(binary.data(), binary.size());
  header.header_crc = HeaderCrc(header);
  MakeFolders(folder_);
  // Under a name of its own first, so that readers find all of a file or none of it.
  std::string temporary = path_ + ".XXXXXX";
  File file(mkstemp(temporary.data()));
  if (!file.ok()) return;
  bool written = file.Write(&header, sizeof(header)) && file.Write(binary.data(), binary.size());
  written = file.Close() && written;
  if (!written || std::rename(temporary.c_str(), path_.c_str()) != 0) {
    std::remove(temporary.c_str());
  }
}

}  // namespace tenon::opencl
