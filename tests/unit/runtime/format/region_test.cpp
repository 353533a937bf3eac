#include "runtime/format/region.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <set>
#include <vector>

using namespace tenon;  // NOLINT

namespace {

struct Window {
  uint64_t offset = 0;
  std::vector<int32_t> dims;
  std::vector<int32_t> strides;
  DType dtype = DType::kU8;

  [[nodiscard]] TensorInfo Info() const {
    return {"",
            dtype,
            0,
            0,
            static_cast<PlanBytes>(offset),
            Span<const int32_t>(dims.data(), dims.size()),
            Span<const int32_t>(strides.data(), strides.size())};
  }
  /// Every byte of every element, one by one; `twice` says that some byte came again.
  [[nodiscard]] std::set<uint64_t> Bytes(bool* twice) const {
    std::set<uint64_t> bytes;
    *twice = false;
    int64_t elements = 1;
    for (const int32_t dim : dims) elements *= dim;
    for (int64_t e = 0; e < elements; ++e) {
      int64_t rest = e;
      int64_t at = 0;
      for (size_t k = dims.size(); k > 0; --k) {
        at += rest % dims[k - 1] * strides[k - 1];
        rest /= dims[k - 1];
      }
      for (int b = 0; b < DTypeBytes(dtype); ++b) {
        const auto byte = offset + static_cast<uint64_t>(at * DTypeBytes(dtype) + b);
        *twice |= !bytes.insert(byte).second;
      }
    }
    return bytes;
  }
};

Window RandomWindow(std::mt19937& random) {
  Window window;
  const size_t rank = random() % 4;
  window.dtype = random() % 2 == 0 ? DType::kU8 : DType::kF32;
  window.offset = random() % 8 * 4;
  for (size_t i = 0; i < rank; ++i) {
    window.dims.push_back(static_cast<int32_t>(random() % 5));
    constexpr int32_t kStrides[] = {0, 1, 2, 3, 4, 8, 12, 16, 32};
    window.strides.push_back(kStrides[random() % 9]);
  }
  return window;
}

}  // namespace

TEST_CASE("Region: a contiguous tensor is one run, whatever its dims") {
  const Window window{8, {2, 3, 4}, {12, 4, 1}, DType::kF32};
  const Region region = MakeRegion(window.Info());
  CHECK(region.levels == 1);
  CHECK(region.bytes == 96);
  CHECK(region.end == 104);
  CHECK(region.distinct);
}

TEST_CASE("Region: a channel part of a channels-last tensor is rows with gaps") {
  // [1, 4 of 16, 5, 5] f32: 25 rows of 16 bytes, 64 apart.
  const Window window{32, {1, 4, 5, 5}, {400, 1, 80, 16}, DType::kF32};
  const Region region = MakeRegion(window.Info());
  CHECK(region.levels == 2);
  CHECK(region.count[0] == 16);
  CHECK(region.pitch[1] == 64);
  CHECK(region.bytes == 400);
}

TEST_CASE("Region: a tensor without elements repeats none, in whatever order its dims stand") {
  for (const std::vector<int32_t>& dims : {std::vector<int32_t>{2, 0}, {0, 2}}) {
    const Window window{0, dims, {0, 0}};
    const Region region = MakeRegion(window.Info());
    CHECK(region.distinct);
    CHECK(region.bytes == 0);
  }
}

TEST_CASE("Region: says of random windows what listing their bytes says") {
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    const Window window = RandomWindow(random);
    const Region region = MakeRegion(window.Info());
    bool twice = false;
    const std::set<uint64_t> bytes = window.Bytes(&twice);
    if (twice) CHECK_FALSE(region.distinct);
    if (region.distinct) CHECK(region.bytes == bytes.size());
    CHECK(region.bytes >= bytes.size());
    if (!bytes.empty()) {
      CHECK(region.offset == *bytes.begin());
      CHECK(region.end == *bytes.rbegin() + 1);
    }
  }
}

TEST_CASE("Region: overlaps of random windows are exact or unknown") {
  std::mt19937 random(4);
  int known = 0;
  for (int i = 0; i < 50000; ++i) {
    const Window a = RandomWindow(random);
    const Window b = RandomWindow(random);
    const Region in_a = MakeRegion(a.Info());
    const Region in_b = MakeRegion(b.Info());
    bool twice_a = false;
    bool twice_b = false;
    const auto bytes_a = a.Bytes(&twice_a);
    const auto bytes_b = b.Bytes(&twice_b);
    if (!in_a.distinct || !in_b.distinct) continue;
    uint64_t common = 0;
    for (const uint64_t byte : bytes_a) common += bytes_b.count(byte);
    const uint64_t overlap = OverlapBytes(in_a, in_b);
    if (overlap == kUnknownOverlap) continue;
    ++known;
    CHECK(overlap == common);
  }
  CHECK(known > 10000);
}

TEST_CASE("Region: interleaved columns share nothing, a column and all rows share the column") {
  const Window left{0, {5, 3}, {8, 1}, DType::kF32};
  const Window right{12, {5, 5}, {8, 1}, DType::kF32};
  const Window all{0, {40}, {1}, DType::kF32};
  CHECK(OverlapBytes(MakeRegion(left.Info()), MakeRegion(right.Info())) == 0);
  CHECK(OverlapBytes(MakeRegion(left.Info()), MakeRegion(all.Info())) == 60);
}
