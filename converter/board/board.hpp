// A board: the description of a target, from a JSON file (schema: sdk/schema/board.schema.json).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

/// Something that executes ops and can run beside the others.
struct Unit {
  std::string name;
  std::string backend;
  std::string kind;  ///< "cpu", ...
  int threads = 1;   ///< the most that a run may use
  bool portable_kernels_only = false;
  double launch_overhead_us = 0;
  /// Multiply-accumulates per second and thread, by dtype name.
  std::map<std::string, double> multiply_accumulates_per_second;
  double elementary_ops_per_second = 0;  ///< per thread
};

struct MemorySpace {
  std::string name;
  int64_t bytes = 0;
  int64_t reserve_bytes = 0;  ///< kept free for others
  double bandwidth_bytes_per_second = 0;
  double latency_ns = 0;
  bool holds_constants = false;
  bool holds_arena = false;
  uint32_t alignment_bytes = 64;

  [[nodiscard]] int64_t usable_bytes() const { return bytes - reserve_bytes; }
};

/// A way between two memory spaces.
struct Link {
  std::string from;
  std::string to;
  double bandwidth_bytes_per_second = 0;
  double latency_ns = 0;
};

/// One row of the mapping list: `op` ("*": every op) on `backend`; 1 is best. An op without a row
/// for a backend is not given to it.
struct Priority {
  std::string backend;
  std::string op;
  int priority = 1;
};

struct Board {
  std::string name;
  std::string description;
  std::string source;  ///< where the figures come from
  std::vector<Unit> units;
  std::vector<MemorySpace> memory_spaces;
  std::vector<Link> links;
  std::vector<Priority> priorities;
  uint64_t fingerprint = 0;  ///< FNV-1a of the canonical JSON

  [[nodiscard]] const MemorySpace* ArenaSpace() const;
  [[nodiscard]] MemorySpace* FindSpace(std::string_view space_name);
};

/// Reads a board; unknown keys, missing ones and wrong types are errors that name the key.
[[nodiscard]] Result<Board> ParseBoard(std::string_view json, std::string_view file_name);

/// A built-in board's name, or else a path to a JSON file. Errors (kUsage): neither; lists names.
[[nodiscard]] Result<Board> LoadBoard(const std::string& name_or_path);

/// The boards that are built in, in order of name.
[[nodiscard]] std::vector<Board> BuiltInBoards();

}  // namespace tenon::converter
