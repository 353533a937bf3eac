#include "backends/opencl/device/program_cache.hpp"

#include <cstdio>
#include <cstring>

namespace tenon::opencl {
namespace {

/// How a file begins; the binary follows.
struct Header {
  char magic[8];
  uint8_t digest[kSipBytes];  ///< of the magic, the file's name and the binary
};
constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'C', 'L', 'B', '2'};
/// No driver's binaries of our programs come near; keeps a damaged length from taking the memory.
constexpr size_t kMostBytes = size_t{256} << 20;

/// Adds a text and the NUL that ends it, so that moving a letter to the next changes the digest.
void AddText(SipHash& hash, const std::string& text) { hash.Add(text.c_str(), text.size() + 1); }

}  // namespace

ProgramCache::ProgramCache(const DeviceTraits& traits, const std::string& source,
                           const std::string& options)
    : folder_(CacheFolderPath()) {
  if (!folder_.FindKey(&key_)) return;
  SipHash hash(key_);
  for (const std::string* text :
       {&traits.platform, &traits.name, &traits.version, &traits.driver, &source, &options}) {
    AddText(hash, *text);
  }
  uint8_t digest[kSipBytes];
  hash.Finish(digest);
  name_ = "opencl-";
  for (const uint8_t byte : digest) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    name_ += digits;
  }
  name_ += ".bin";
}

void ProgramCache::Digest(Span<const uint8_t> binary, uint8_t (&digest)[kSipBytes]) const {
  SipHash hash(key_);
  hash.Add(kMagic, sizeof kMagic);
  AddText(hash, name_);
  hash.Add(binary.data(), binary.size());
  hash.Finish(digest);
}

std::vector<uint8_t> ProgramCache::Read() const {
  std::vector<uint8_t> file = folder_.Read(name_, kMostBytes);
  Header header;
  if (file.size() <= sizeof header) return {};
  std::memcpy(&header, file.data(), sizeof header);
  file.erase(file.begin(), file.begin() + sizeof header);
  uint8_t digest[kSipBytes];
  Digest(Span<const uint8_t>(file.data(), file.size()), digest);
  const bool is_ours = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
                       std::memcmp(header.digest, digest, sizeof digest) == 0;
  return is_ours ? file : std::vector<uint8_t>();
}

cl_program ProgramCache::Load(cl_context context, cl_device_id device,
                              const std::string& options) const {
  if (name_.empty()) return nullptr;
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
  if (name_.empty()) return;
  size_t bytes = 0;
  if (Cl().GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr) !=
          CL_SUCCESS ||
      bytes == 0 || bytes > kMostBytes - sizeof(Header)) {
    return;
  }
  std::vector<uint8_t> binary(bytes);
  unsigned char* data = binary.data();
  if (Cl().GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(data), &data, nullptr) !=
      CL_SUCCESS) {
    return;
  }
  const Span<const uint8_t> whole(binary.data(), binary.size());
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  Digest(whole, header.digest);
  folder_.Write(name_, {{reinterpret_cast<const uint8_t*>(&header), sizeof header}, whole});
}

}  // namespace tenon::opencl
