// JSON as text.
#pragma once

#include <string>

namespace tenon {

/// Writes a nlohmann::json value. Names in models, plans and paths may be any bytes, and what is no
/// UTF-8 in them is shown as such (U+FFFD). An indent of -1 writes one line.
template <typename Json>
[[nodiscard]] std::string JsonText(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace tenon
