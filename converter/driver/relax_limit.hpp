// Raises a memory limit that cannot be met, where that is asked for.
#pragma once

#include <functional>

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// Converts a model, always the same, with these options.
using ConvertWith = std::function<Result<Conversion>(const ConvertOptions& options)>;

/// Raises the limit of the arena's space by quarters until the model fits, and returns what is made
/// then. `refused`: why it does not fit with `options` as they are. Errors: that refusal, where no
/// limit of that space helps.
[[nodiscard]] Result<Conversion> ConvertRelaxed(ConvertOptions options, Error refused,
                                                const ConvertWith& convert);

}  // namespace tenon::converter
