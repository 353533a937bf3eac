// Keeps a command from writing over what it reads.
#pragma once

#include <string>
#include <vector>

namespace tenon::tool {

/// Whether both paths name one file, which need not exist yet.
[[nodiscard]] bool IsSameFile(const std::string& a, const std::string& b);

/// Throws Failure (kUsage) if a file that the command writes (-o, --json, --report, --trace) is
/// named by another of its words too: as what it reads, alone or behind a "name=", or as another
/// output. Devices may be named more than once. `words` are those of the command line, without the
/// program's name.
void CheckOutputNames(const std::vector<std::string>& words);

}  // namespace tenon::tool
