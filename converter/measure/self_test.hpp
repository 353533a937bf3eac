// The bring-up test of a board: every op that a backend runs, one by one, against the portable
// kernels of the CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/status.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

/// A graph of one op on random data, taken from the networks that are profiled.
struct SingleOp {
  OpKind kind = OpKind::kCopy;
  std::string name;  ///< "quantized_conv 3", for messages
  Graph graph;
};

/// At most `each` ops of every kind, of different attributes and shapes, the smallest ones of every
/// rank first; the same every time.
[[nodiscard]] std::vector<SingleOp> SelfTestOps(size_t each);

/// How far two runs of one op lie apart.
struct OpComparison {
  bool is_equal = false;     ///< integers in every bit, floats within the tolerance
  double worst_error = 0;    ///< of floats: over the largest magnitude of the output
  double worst_integer = 0;  ///< of integers: the largest difference
};

/// Runs `plan` with every backend of this build, `reference` with portable kernels, on the same
/// inputs. Errors (kBackend): a run's.
[[nodiscard]] Result<OpComparison> CompareRuns(
    const std::vector<uint8_t>& plan, const std::vector<uint8_t>& reference,
    const std::string& backend, std::vector<std::pair<std::string, uint64_t>>* counters);

/// What the walk through a backend's memory found.
struct MemoryWalk {
  size_t bytes = 0;
  uint64_t wrong_bytes = 0;
  uint64_t first_wrong = 0;
  double write_bytes_per_s = 0;
  double read_bytes_per_s = 0;
};

/// Errors (kBackend): there is no such backend or device, or it failed.
[[nodiscard]] Result<MemoryWalk> WalkMemory(const std::string& backend, size_t bytes);

}  // namespace tenon::converter
