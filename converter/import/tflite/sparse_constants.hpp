// Constants of which the file holds only some elements: TFLite's SparsityParameters.
//
// Elements are stored level by level, in an order of dimensions of their own. A level is dense, and
// then every index is there, or compressed, and then it lists for each entry of the level above the
// indices that are. Dimensions may be cut into blocks, which are further levels, all dense and
// inside. What is not stored is 0.
#pragma once

#include <cstddef>
#include <vector>

#include "converter/import/tflite/model_tensors.hpp"
#include "converter/status.hpp"

namespace tenon::converter::tflite {

namespace format {
struct SparsityParameters;
}  // namespace format

/// All elements of the constant, row-major, of `element_bytes` each. Takes no more memory than
/// these and what is stored. Errors: what `sparsity` says does not fit the dims or the data.
[[nodiscard]] Result<std::vector<std::byte>> Densified(const format::SparsityParameters& sparsity,
                                                       const Shape& shape, int64_t element_bytes,
                                                       Span<const std::byte> stored);

}  // namespace tenon::converter::tflite
