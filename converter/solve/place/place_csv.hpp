// Reads and writes placement problems as CSV text, in the form of the MiniMalloc benchmarks:
//
//   id,lower,upper,size
//   b1,0,3,4
//
// Columns may come in any order; `alignment` and `offset` (fixed where not empty) are optional,
// other columns are ignored. Fields may be quoted; blank lines and carriage returns are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/solve/place/place.hpp"
#include "converter/status.hpp"

namespace tenon::converter {

/// Lists buffers and their names in the order of the file.
struct BufferTable {
  std::vector<std::string> ids;
  std::vector<Buffer> buffers;
};

/// Errors: kInput with the line number for a missing or repeated column, a wrong number of fields,
/// a field that is no whole number of 64 bits, a repeated id, a negative size, offset or step
/// range, an alignment below 1, or a fixed offset that is not a multiple of its alignment.
[[nodiscard]] Result<BufferTable> ParseBufferCsv(std::string_view text);

/// Writes the table with an `offset` for each buffer: id,lower,upper,size,offset, with `alignment`
/// before the offset if any buffer has one. `offsets` has one entry per buffer.
[[nodiscard]] std::string FormatPlacementCsv(const BufferTable& table,
                                             const std::vector<int64_t>& offsets);

}  // namespace tenon::converter
