#include "converter/import/tflite/sparse_constants.hpp"

#include <algorithm>
#include <cstring>

#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Ints = std::vector<int64_t>;

/// The elements of a union of vectors of three widths; none of a vector that is not there.
Ints ValuesOf(format::SparseIndexVector type, const void* vector) {
  const auto of = [](const auto* typed) {
    return typed == nullptr || typed->values() == nullptr
               ? Ints()
               : Ints(typed->values()->begin(), typed->values()->end());
  };
  switch (type) {
    case format::SparseIndexVector::Int32Vector:
      return of(static_cast<const format::Int32Vector*>(vector));
    case format::SparseIndexVector::Uint16Vector:
      return of(static_cast<const format::Uint16Vector*>(vector));
    case format::SparseIndexVector::Uint8Vector:
      return of(static_cast<const format::Uint8Vector*>(vector));
    default:
      return {};
  }
}

Ints SegmentsOf(const format::DimensionMetadata& level) {
  return ValuesOf(level.array_segments_type(), level.array_segments());
}

Ints IndicesOf(const format::DimensionMetadata& level) {
  return ValuesOf(level.array_indices_type(), level.array_indices());
}

/// One dimension of the storage.
struct Level {
  int64_t size = 0;    ///< indices that there may be
  int64_t stride = 0;  ///< elements of the whole tensor from one index to the next
  bool is_dense = true;
  Ints segments;  ///< of a compressed level: as many as entries above, and one
  Ints indices;
};

class Reader {
 public:
  Reader(const format::SparsityParameters& sparsity, const Shape& shape)
      : shape_(shape), rank_(static_cast<size_t>(shape.rank)) {
    if (sparsity.traversal_order() != nullptr) {
      order_.assign(sparsity.traversal_order()->begin(), sparsity.traversal_order()->end());
    }
    if (sparsity.block_map() != nullptr) {
      block_map_.assign(sparsity.block_map()->begin(), sparsity.block_map()->end());
    }
    metadata_ = sparsity.dim_metadata();
  }

  Result<std::vector<Level>> Run() {
    TENON_RETURN_IF_ERROR(CheckOrder());
    TENON_RETURN_IF_ERROR(ReadBlocks());
    std::vector<Level> levels;
    int64_t entries = 1;
    for (size_t i = 0; i < order_.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(Level level, ReadLevel(i, entries));
      entries = level.is_dense ? entries * level.size : static_cast<int64_t>(level.indices.size());
      // Levels of a tensor have no more entries than it has elements: nothing overflows.
      if (entries > shape_.Elements()) {
        return InputError("malformed: it stores more elements than it has");
      }
      levels.push_back(std::move(level));
    }
    return levels;
  }

 private:
  Status CheckOrder() const {
    const size_t count = rank_ + block_map_.size();
    if (block_map_.size() > rank_ || order_.size() != count || metadata_ == nullptr ||
        metadata_->size() != count) {
      return InputError("malformed: its sparsity is of other dimensions than the tensor's {}",
                        shape_.rank);
    }
    std::vector<bool> seen(count, false);
    for (size_t i = 0; i < count; ++i) {
      const int64_t dimension = order_[i];
      const int64_t first = i < rank_ ? 0 : shape_.rank;
      const auto end = static_cast<int64_t>(i < rank_ ? rank_ : count);
      if (dimension < first || dimension >= end || seen[static_cast<size_t>(dimension)]) {
        return InputError("malformed: its sparsity's order is none of its dimensions");
      }
      seen[static_cast<size_t>(dimension)] = true;
    }
    for (size_t i = 0; i < block_map_.size(); ++i) {
      const int64_t least = i == 0 ? 0 : block_map_[i - 1] + 1;
      if (block_map_[i] < least || block_map_[i] >= shape_.rank) {
        return InputError("malformed: its blocks are of dimension {}", block_map_[i]);
      }
    }
    return {};
  }

  Status ReadBlocks() {
    block_of_.assign(rank_, 1);
    for (size_t i = rank_; i < order_.size(); ++i) {
      const format::DimensionMetadata* metadata = metadata_->Get(static_cast<uint32_t>(i));
      const auto block = static_cast<size_t>(order_[i]) - rank_;
      const auto dimension = static_cast<size_t>(block_map_[block]);
      const int64_t size = metadata == nullptr ? 0 : metadata->dense_size();
      const int64_t whole = shape_[static_cast<int32_t>(dimension)];
      if (size < 1 || whole % size != 0 || metadata->format() != format::DimensionType::DENSE) {
        return InputError("malformed: blocks of {} do not divide dimension {} of {}", size,
                          dimension, whole);
      }
      block_of_[dimension] = size;
    }
    return {};
  }

  /// Elements from one index of the dimension to the next.
  [[nodiscard]] int64_t StrideOf(size_t dimension) const {
    int64_t stride = 1;
    for (size_t i = dimension + 1; i < rank_; ++i) stride *= shape_[static_cast<int32_t>(i)];
    return stride;
  }

  Result<Level> ReadLevel(size_t index, int64_t entries) const {
    const format::DimensionMetadata* metadata = metadata_->Get(static_cast<uint32_t>(index));
    if (metadata == nullptr) return InputError("malformed: its sparsity lacks a dimension");
    Level level;
    const bool is_block = index >= rank_;
    const auto stored = static_cast<size_t>(order_[index]);
    const auto dimension = is_block ? static_cast<size_t>(block_map_[stored - rank_]) : stored;
    const int64_t block = block_of_[dimension];
    level.size = is_block ? block : shape_[static_cast<int32_t>(dimension)] / block;
    level.stride = StrideOf(dimension) * (is_block ? 1 : block);
    level.is_dense = metadata->format() == format::DimensionType::DENSE;
    if (level.is_dense) {
      if (metadata->dense_size() == level.size) return level;
      return InputError("malformed: a dense dimension of {} is stored as one of {}", level.size,
                        metadata->dense_size());
    }
    if (metadata->format() != format::DimensionType::SPARSE_CSR) {
      return InputError("its sparsity has a dimension of format {}, which is not known",
                        static_cast<int>(metadata->format()));
    }
    level.segments = SegmentsOf(*metadata);
    level.indices = IndicesOf(*metadata);
    TENON_RETURN_IF_ERROR(CheckCompressed(level, entries));
    return level;
  }

  static Status CheckCompressed(const Level& level, int64_t entries) {
    const auto count = static_cast<int64_t>(level.indices.size());
    const bool fits = static_cast<int64_t>(level.segments.size()) == entries + 1 &&
                      level.segments.front() == 0 && level.segments.back() == count &&
                      std::is_sorted(level.segments.begin(), level.segments.end());
    if (!fits)
      return InputError("malformed: segments of a sparse dimension do not fit its indices");
    for (size_t entry = 0; entry + 1 < level.segments.size(); ++entry) {
      int64_t least = 0;
      for (int64_t i = level.segments[entry]; i < level.segments[entry + 1]; ++i) {
        const int64_t index = level.indices[static_cast<size_t>(i)];
        if (index < least || index >= level.size) {
          return InputError("malformed: index {} of a sparse dimension of {} is out of order",
                            index, level.size);
        }
        least = index + 1;
      }
    }
    return {};
  }

  const Shape& shape_;
  size_t rank_;
  Ints order_;
  Ints block_map_;
  Ints block_of_;  ///< for each dimension; 1: none
  const flatbuffers::Vector<flatbuffers::Offset<format::DimensionMetadata>>* metadata_ = nullptr;
};

/// Copies every element that is stored to its place.
class Writer {
 public:
  Writer(const std::vector<Level>& levels, size_t element_bytes, const std::byte* from,
         std::byte* to)
      : levels_(levels), element_bytes_(element_bytes), from_(from), to_(to) {}

  /// Of entry `entry` of the level above, which begins at `place`. As deep as a tensor has
  /// dimensions, twice.
  void Run(size_t at, int64_t entry, int64_t place) {
    if (at == levels_.size()) {
      std::memcpy(to_ + static_cast<size_t>(place) * element_bytes_, from_, element_bytes_);
      from_ += element_bytes_;
      return;
    }
    const Level& level = levels_[at];
    if (level.is_dense) {
      for (int64_t i = 0; i < level.size; ++i) {
        Run(at + 1, entry * level.size + i, place + i * level.stride);
      }
      return;
    }
    const auto first = static_cast<size_t>(entry);
    for (int64_t i = level.segments[first]; i < level.segments[first + 1]; ++i) {
      Run(at + 1, i, place + level.indices[static_cast<size_t>(i)] * level.stride);
    }
  }

 private:
  const std::vector<Level>& levels_;
  size_t element_bytes_;
  const std::byte* from_;
  std::byte* to_;
};

}  // namespace

Result<std::vector<std::byte>> Densified(const format::SparsityParameters& sparsity,
                                         const Shape& shape, int64_t element_bytes,
                                         Span<const std::byte> stored) {
  TENON_ASSIGN_OR_RETURN(const std::vector<Level> levels, Reader(sparsity, shape).Run());
  int64_t entries = 1;
  for (const Level& level : levels) {
    entries = level.is_dense ? entries * level.size : static_cast<int64_t>(level.indices.size());
  }
  if (static_cast<int64_t>(stored.size()) != entries * element_bytes) {
    return InputError("it has {} bytes of data, its sparsity wants {}", stored.size(),
                      entries * element_bytes);
  }
  std::vector<std::byte> dense(static_cast<size_t>(shape.Elements() * element_bytes));
  Writer(levels, static_cast<size_t>(element_bytes), stored.data(), dense.data()).Run(0, 0, 0);
  return dense;
}

}  // namespace tenon::converter::tflite
