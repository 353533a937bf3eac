// CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): reflected polynomial 0x82F63B78.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

/// Returns the CRC-32C of `size` bytes; pass an earlier result as `crc` to go on with a longer
/// message.
[[nodiscard]] uint32_t Crc32c(const void* data, size_t size, uint32_t crc = 0);

}  // namespace tenon
