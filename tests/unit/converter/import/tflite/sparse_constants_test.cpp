#include "converter/import/tflite/sparse_constants.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using format::DimensionType;
using format::SparseIndexVector;
using Ints = std::vector<int32_t>;

/// A level as it is stored. With segments it is compressed.
struct StoredLevel {
  int32_t size = 0;
  Ints segments;
  Ints indices;
  SparseIndexVector form = SparseIndexVector::Int32Vector;
};

struct Sparse {
  Ints order;
  Ints blocks;
  std::vector<StoredLevel> levels;
  std::vector<uint8_t> values;
};

flatbuffers::Offset<void> IndexVector(flatbuffers::FlatBufferBuilder& flat, SparseIndexVector form,
                                      const Ints& values) {
  if (form == SparseIndexVector::Uint8Vector) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    return format::CreateUint8VectorDirect(flat, &bytes).Union();
  }
  if (form == SparseIndexVector::Uint16Vector) {
    const std::vector<uint16_t> words(values.begin(), values.end());
    return format::CreateUint16VectorDirect(flat, &words).Union();
  }
  return format::CreateInt32VectorDirect(flat, &values).Union();
}

/// The bytes of the tensor, or the error's message.
Result<std::vector<std::byte>> Dense(const Sparse& sparse, const Shape& shape) {
  flatbuffers::FlatBufferBuilder flat;
  std::vector<flatbuffers::Offset<format::DimensionMetadata>> levels;
  for (const StoredLevel& level : sparse.levels) {
    const bool is_sparse = !level.segments.empty();
    const auto segments = IndexVector(flat, level.form, level.segments);
    const auto indices = IndexVector(flat, level.form, level.indices);
    levels.push_back(
        is_sparse ? format::CreateDimensionMetadata(flat, DimensionType::SPARSE_CSR, level.size,
                                                    level.form, segments, level.form, indices)
                  : format::CreateDimensionMetadata(flat, DimensionType::DENSE, level.size));
  }
  flat.Finish(format::CreateSparsityParametersDirect(flat, &sparse.order, &sparse.blocks, &levels));
  const auto* table = flatbuffers::GetRoot<format::SparsityParameters>(flat.GetBufferPointer());
  return tflite::Densified(
      *table, shape, 1,
      {reinterpret_cast<const std::byte*>(sparse.values.data()), sparse.values.size()});
}

std::vector<int> Numbers8(const Result<std::vector<std::byte>>& bytes) {
  REQUIRE_MESSAGE(bytes.ok(), (bytes.ok() ? "" : bytes.error().message));
  std::vector<int> numbers;
  for (const std::byte byte : *bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

// The matrix of the format's own description, by rows and by columns: 6 0 9 8 / 0 0 0 0 / 5 0 0 7.
const std::vector<int> kMatrix = {6, 0, 9, 8, 0, 0, 0, 0, 5, 0, 0, 7};
const Sparse kByRows = {
    {0, 1}, {}, {{3, {}, {}}, {4, {0, 3, 3, 5}, {0, 2, 3, 0, 3}}}, {6, 9, 8, 5, 7}};
const Sparse kByColumns = {
    {1, 0}, {}, {{4, {}, {}}, {3, {0, 2, 2, 3, 5}, {0, 2, 0, 0, 2}}}, {6, 5, 9, 8, 7}};
// In blocks of 1x2; the first dimension compressed too.
const Sparse kInBlocks = {{0, 1, 2},
                          {1},
                          {{3, {0, 2}, {0, 2}}, {2, {0, 2, 4}, {0, 1, 0, 1}}, {2, {}, {}}},
                          {6, 0, 9, 8, 5, 0, 0, 7}};

TEST_CASE("TFLite sparse constants: rows, columns, and blocks of compressed dimensions") {
  for (const SparseIndexVector form :
       {SparseIndexVector::Int32Vector, SparseIndexVector::Uint16Vector,
        SparseIndexVector::Uint8Vector}) {
    for (Sparse sparse : {kByRows, kByColumns, kInBlocks}) {
      for (StoredLevel& level : sparse.levels) level.form = form;
      CHECK(Numbers8(Dense(sparse, Shape({3, 4}))) == kMatrix);
    }
  }
}

TEST_CASE("TFLite sparse constants: blocks of several dimensions are inside, in any order") {
  // 4x4 in blocks of 2x2, whose columns come first: only the block at the lower left is there.
  const Sparse sparse = {{1, 0, 3, 2},
                         {0, 1},
                         {{2, {}, {}}, {2, {0, 1, 1}, {1}}, {2, {}, {}}, {2, {}, {}}},
                         {1, 2, 3, 4}};
  CHECK(Numbers8(Dense(sparse, Shape({4, 4}))) ==
        std::vector<int>{0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 2, 4, 0, 0});
}

TEST_CASE("TFLite sparse constants: nothing stored is all zeros, and no elements are none") {
  const Sparse none = {{0, 1}, {}, {{3, {}, {}}, {4, {0, 0, 0, 0}, {}}}, {}};
  CHECK(Numbers8(Dense(none, Shape({3, 4}))) == std::vector<int>(12));
  const Sparse empty = {{0}, {}, {{0, {}, {}}}, {}};
  CHECK(Numbers8(Dense(empty, Shape({0}))).empty());
}

TEST_CASE("TFLite sparse constants: what does not fit is refused in words") {
  const auto refused = [](const Sparse& sparse) {
    const auto dense = Dense(sparse, Shape({3, 4}));
    return dense.ok() ? std::string("accepted") : dense.error().message;
  };
  Sparse bad = kByRows;
  bad.order = {0, 0};
  CHECK(refused(bad) == "malformed: its sparsity's order is none of its dimensions");
  bad = kByRows;
  bad.levels.pop_back();
  CHECK(refused(bad) == "malformed: its sparsity is of other dimensions than the tensor's 2");
  bad = kByRows;
  bad.levels[0].size = 4;
  CHECK(refused(bad) == "malformed: a dense dimension of 3 is stored as one of 4");
  bad = kByRows;
  bad.levels[1].segments = {0, 3, 2, 5};
  CHECK(refused(bad) == "malformed: segments of a sparse dimension do not fit its indices");
  bad = kByRows;
  bad.levels[1].indices[2] = 4;
  CHECK(refused(bad) == "malformed: index 4 of a sparse dimension of 4 is out of order");
  bad = kByRows;
  bad.levels[1].indices[1] = 0;
  CHECK(refused(bad) == "malformed: index 0 of a sparse dimension of 4 is out of order");
  bad = kByRows;
  bad.values.pop_back();
  CHECK(refused(bad) == "it has 4 bytes of data, its sparsity wants 5");
  bad = kInBlocks;
  bad.blocks = {2};
  CHECK(refused(bad) == "malformed: its blocks are of dimension 2");
  bad = kInBlocks;
  bad.levels[2].size = 3;
  CHECK(refused(bad) == "malformed: blocks of 3 do not divide dimension 1 of 4");
}

void Mutate(Sparse& sparse, std::mt19937& random) {
  const auto change = [&](Ints& values) {
    const size_t kind = random() % 3;
    if (kind == 0) values.push_back(static_cast<int32_t>(random() % 7) - 1);
    if (values.empty()) return;
    if (kind == 1) values.pop_back();
    if (kind == 2) values[random() % values.size()] = static_cast<int32_t>(random() % 9) - 2;
  };
  StoredLevel& level = sparse.levels[random() % sparse.levels.size()];
  switch (random() % 6) {
    case 0:
      return change(sparse.order);
    case 1:
      return change(sparse.blocks);
    case 2:
      return change(level.segments);
    case 3:
      return change(level.indices);
    case 4:
      level.size = random() % 4 == 0 ? 2147483647 : static_cast<int32_t>(random() % 6) - 1;
      return;
    default:
      sparse.values.resize(random() % 12);
  }
}

TEST_CASE("TFLite sparse constants: whatever is stored is refused or gives the tensor's elements") {
  std::mt19937 random(3);
  int accepted = 0;
  for (int i = 0; i < 30000; ++i) {
    const Sparse* const originals[] = {&kByRows, &kByColumns, &kInBlocks};
    Sparse sparse = *originals[random() % 3];
    for (size_t k = 1 + random() % 3; k > 0; --k) Mutate(sparse, random);
    const auto dense = Dense(sparse, Shape({3, 4}));
    if (!dense.ok()) {
      CHECK(!dense.error().message.empty());
      continue;
    }
    ++accepted;
    CHECK(dense->size() == 12);
  }
  CHECK(accepted > 300);
}

}  // namespace
}  // namespace tenon::converter::test
