// Inputs for runs whose values do not matter.
#pragma once

#include <cstddef>
#include <vector>

#include "tenon/tenon.h"

namespace tenon::tool {

/// Numbers of ordinary size: zeros or denormals would time something else. The same for ports of
/// the same type and size.
[[nodiscard]] std::vector<std::byte> RandomInput(const tenon_port_info& port);

}  // namespace tenon::tool
