// Reads and replaces f32 constants that passes fold into convolutions and matrix products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Returns the constant's values per channel; none if it varies along other dimensions.
[[nodiscard]] std::optional<std::vector<double>> PerChannel(const Tensor& constant,
                                                            const Shape& output,
                                                            int32_t channel_axis);

/// Gives the op a new f32 constant; the one it had, shared perhaps, is erased once unread.
void ReplaceConstant(Graph& graph, OpId id, size_t index, std::string_view wanted,
                     const Shape& shape, const std::vector<double>& values);

/// Gives the convolution or matrix product a bias, unless it has none and needs none.
void ReplaceBias(Graph& graph, OpId main, const std::vector<double>& bias);

}  // namespace tenon::converter
