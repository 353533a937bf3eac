// Which kernels each backend has for each op of a plan, for people: from the backends' own tables.
#pragma once

#include <string>

namespace tenon::converter {

/// A row for each op, a column for each backend of this build, as a table in Markdown.
[[nodiscard]] std::string KernelTable();
/// The same as JSON: {"kernels": [{"op": ..., "kernels": {backend: [name, ...], ...}}, ...]}.
[[nodiscard]] std::string KernelJson();

}  // namespace tenon::converter
