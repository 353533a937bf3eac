#include "converter/split/patch_samples.hpp"

#include <algorithm>

#include "runtime/base/round_up.hpp"

namespace tenon::converter {

std::vector<int32_t> SampledParts(int32_t parts, int32_t steps) {
  constexpr int32_t kMost = 12;
  const int32_t shares = CeilDiv(parts, steps);
  std::vector<int32_t> sample;
  const auto add = [&](int32_t share) {
    for (int32_t part = share * steps; part < std::min((share + 1) * steps, parts); ++part) {
      sample.push_back(part);
    }
  };
  if (shares <= kMost) {
    for (int32_t share = 0; share < shares; ++share) add(share);
    return sample;
  }
  for (int32_t i = 0; i < 4; ++i) add(i);
  for (int32_t i = 1; i <= 4; ++i) add(static_cast<int32_t>(3 + int64_t{shares - 7} * i / 5));
  for (int32_t i = 4; i > 0; --i) add(shares - i);
  return sample;
}

std::vector<int32_t> SampledTiles(int32_t tiles) {
  std::vector<int32_t> sample;
  for (const int32_t tile : {0, 1, tiles / 2, tiles - 2, tiles - 1}) {
    if (tile >= 0 && tile < tiles && (sample.empty() || sample.back() < tile)) {
      sample.push_back(tile);
    }
  }
  return sample;
}

}  // namespace tenon::converter
