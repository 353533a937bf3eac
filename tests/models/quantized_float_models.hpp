// Float models that are quantized with samples made from the one real input each comes with.
#pragma once

#include <filesystem>
#include <vector>

#include "converter/driver/pipeline.hpp"
#include "tests/support/float_models.hpp"

namespace tenon::test {

/// The real input and what a camera or microphone might have given instead: darker, brighter
/// (quieter, louder), moved, and mirrored if it is an image. f32; in the order of the models'
/// elements.
[[nodiscard]] Arrays Variations(const std::vector<std::byte>& real,
                                const std::vector<int64_t>& shape);

/// Signal to noise, in dB, of f32 elements.
[[nodiscard]] double DecibelOf(const std::vector<std::byte>& wanted,
                               const std::vector<std::byte>& got);

}  // namespace tenon::test
