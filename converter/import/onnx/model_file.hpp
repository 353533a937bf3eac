// Reads the protobuf of a model.
#pragma once

#include <filesystem>
#include <memory>

#include "converter/status.hpp"

namespace onnx {
class ModelProto;
}

namespace tenon::converter {

/// Errors (kInput): unreadable, empty, over 2 GB (protobuf's own limit), not a protobuf of this
/// kind, truncated. Prints nothing.
[[nodiscard]] Result<std::shared_ptr<onnx::ModelProto>> ReadModel(
    const std::filesystem::path& path);

}  // namespace tenon::converter
