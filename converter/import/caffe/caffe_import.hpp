// Reads a Caffe model (.prototxt and .caffemodel) into a Graph.
#pragma once

#include <filesystem>

#include "converter/import/import_options.hpp"

namespace tenon::converter {

/// Loads the network's text at `path` and its weights, from ImportOptions::caffemodel or, if that
/// is empty, from the file beside it with the extension .caffemodel; lowers it to Tenon's ops as it
/// computes in phase TEST. Outputs are the blobs that no layer reads, by name.
/// Errors (kInput): unreadable or malformed files; fields and layers that are not known, all of the
/// latter at once; weights that are missing or do not fit. kUsage: options that do not fit the
/// model's inputs.
[[nodiscard]] Result<Graph> ImportCaffe(const std::filesystem::path& path,
                                        const ImportOptions& options);

}  // namespace tenon::converter
