// Words of errors that are composed when they happen.
#pragma once

#include <string>

namespace tenon::fpga {

/// Returns a text equal to `text` that lives as long as the program. Every text is kept once; after
/// a thousand different ones, new ones are one that says so. Any thread may call it.
[[nodiscard]] const char* KeepText(const std::string& text);

}  // namespace tenon::fpga
