#include "converter/driver/relax_limit.hpp"

#include <algorithm>

#include "converter/driver/fit_ways.hpp"
#include "converter/driver/refusal.hpp"

namespace tenon::converter {

/// Steps below what the refusal offers are known to be too small. Where it offers no limit of that
/// space, because another is short of bytes, say, a conversion without one tells whether to go on.
Result<Conversion> ConvertRelaxed(ConvertOptions options, Error refused,
                                  const ConvertWith& convert) {
  MemorySpace& space = *options.board.FindSpace(options.board.ArenaSpace()->name);
  bool exists = false;
  while (true) {
    int64_t usable = std::max<int64_t>(space.usable_bytes(), 0);
    const int64_t offered = OfferedLimit(refused, space.name);
    if (offered <= usable && !exists) {
      ConvertOptions unlimited = options;
      unlimited.board = WithLimit(options.board, kUnlimited);
      Result<Conversion> conversion = convert(unlimited);
      if (!conversion.ok()) return IsTooLarge(conversion.error()) ? refused : conversion.error();
      exists = true;
    }
    do {
      usable += std::max(usable / 4, kStorageAlignment);
    } while (usable < offered);
    space.bytes = usable + space.reserve_bytes;
    Result<Conversion> conversion = convert(options);
    if (conversion.ok()) conversion->relaxed_limit = usable;
    if (conversion.ok() || !IsTooLarge(conversion.error()) || usable >= kUnlimited) {
      return conversion;
    }
    refused = conversion.error();
  }
}

}  // namespace tenon::converter
