// Options of `tenon convert` that do nothing without another one.
#pragma once

#include "sdk/tools/convert_options.hpp"

namespace CLI {
class App;
}

namespace tenon::tool {

/// Throws Failure where an option was given that would change nothing, and says what it needs.
void CheckNeededOptions(const CLI::App& command, const ConvertCommand& options);

}  // namespace tenon::tool
