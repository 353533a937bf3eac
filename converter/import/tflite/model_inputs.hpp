// Gives every graph input a static shape, and every port a name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converter/import/import_options.hpp"

namespace tenon::converter::tflite {

namespace format {
struct Model;
}

/// Names of the graph's inputs or outputs in order, all different: those of the model's first
/// signature where it names the tensor, else the tensors' names.
[[nodiscard]] std::vector<std::string> PortNames(const format::Model& model, bool outputs);

/// Dims of the graph's inputs in order: `--shape` if it names the input, `--batch` for the first
/// dimension where the model leaves it open, else those in the model.
/// Errors: kUsage for options that name no input, contradict its rank, or have no effect.
[[nodiscard]] Result<std::vector<Shape>> InputShapes(const format::Model& model,
                                                     const std::vector<std::string>& names,
                                                     const ImportOptions& options);

}  // namespace tenon::converter::tflite
