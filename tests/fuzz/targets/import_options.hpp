// What every importer's target imports under.
#pragma once

#include "converter/import/import_options.hpp"

namespace tenon::fuzz {

/// A batch of 1, and little enough memory that a bomb of constants shows as a refusal.
inline converter::ImportOptions FuzzImportOptions() {
  converter::ImportOptions options;
  options.batch = 1;
  options.max_memory = int64_t{64} << 20;
  return options;
}

}  // namespace tenon::fuzz
