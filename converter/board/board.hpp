// Describes a target as a board, read from a JSON file (schema:
// sdk/schema/board.schema.json.in).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converter/board/accelerator.hpp"
#include "converter/status.hpp"
#include "runtime/base/span.hpp"

namespace tenon::converter {

/// A unit executes ops and can run in parallel with the others.
struct Unit {
  std::string name;
  std::string backend;
  std::string kind;  ///< "cpu", ...
  int threads = 1;   ///< the most that a run may use
  bool portable_kernels_only = false;
  /// Kernels for this instruction set run here, too: "helium", "dsp"; empty: only portable ones.
  std::string kernel_set;
  double launch_overhead_us = 0;  ///< of one start: a segment's, or an op's if each is started
  /// Overhead of every op of a segment in addition to its work; a start costs launch_overhead_us
  /// minus this once more. None: as much as a launch, that is, every op is a start.
  std::optional<double> enqueue_overhead_us = {};
  /// Multiply-accumulates per second and thread, by dtype name.
  /// A dtype that is missing has the rate of f32 (u8 first that of i8), or without one half the
  /// elementary rate.
  std::map<std::string, double> multiply_accumulates_per_second;
  /// Rates of portable kernels on a unit that has faster ones, for ops that use a portable kernel
  /// nevertheless. A dtype that is missing has the rate above.
  std::map<std::string, double> portable_multiply_accumulates_per_second = {};
  double elementary_ops_per_second = 0;  ///< per thread
  /// Elements per second that an op only moves (copy, slice, concat...); 0: elementary ops.
  double moved_elements_per_second = 0;
  /// Rate of depthwise convolutions as a fraction of the rate of others.
  double depthwise_fraction = 1;
  /// Rates of depthwise convolutions, by dtype name, where that fraction does not hold.
  std::map<std::string, double> depthwise_multiply_accumulates_per_second = {};
  /// What each output, and each row of 16 channels of outputs, costs beside its taps, in
  /// multiply-accumulates of a depthwise convolution, by dtype name.
  std::map<std::string, double> depthwise_products_per_output = {};
  std::map<std::string, double> depthwise_products_per_row = {};
  /// The last cache before memory, as one thread finds it: what is used again in the next run stays
  /// there as far as it fits, and is read and written at this rate. 0: none.
  int64_t shared_cache_bytes = 0;
  double shared_cache_bytes_per_second = 0;
  /// Share of the last cache's reading that arithmetic waits for, 0 to 1.
  double shared_cache_waits = 0;
  /// Op kinds that run here ("conv", "matmul", ...); empty: every kind. An op runs on the first
  /// unit of its backend that lists it. A unit of kind "dma" runs copies between memory spaces
  /// only.
  std::vector<std::string> ops;
  /// Memory space that ops run from; empty: the arena's.
  std::string runs_from;
  /// Bandwidth of this unit to `runs_from`; 0: the memory space's bandwidth.
  double port_bytes_per_second = 0;
  /// Cache that each thread has of its own: an op that touches less takes no part of the bandwidth
  /// that threads share. 0: none.
  int64_t cache_bytes_per_thread = 0;
  /// At which it is read and written; 0: as the last cache.
  double cache_bytes_per_second = 0;
  /// Of a unit whose segments are code that one start runs; none: kernels run op by op.
  std::optional<Accelerator> accelerator = {};

  [[nodiscard]] bool IsTransferOnly() const { return kind == "dma"; }
  [[nodiscard]] double op_overhead_us() const {
    return enqueue_overhead_us.value_or(launch_overhead_us);
  }
  /// Returns the overhead of starting a segment, in addition to what each of its ops costs.
  [[nodiscard]] double start_overhead_us() const { return launch_overhead_us - op_overhead_us(); }
};

struct MemorySpace {
  std::string name;
  int64_t bytes = 0;
  int64_t reserve_bytes = 0;  ///< kept free for others
  double bandwidth_bytes_per_second = 0;
  double latency_ns = 0;
  bool holds_constants = false;
  bool holds_arena = false;
  /// The space stores tensors that do not fit where ops run from: ops do not run from here.
  bool spill = false;
  /// Ops read and write tensors here in place too, where the arena's space is too small for all.
  bool direct = false;
  /// Constants that live here are copied to where ops run from before they are used; otherwise ops
  /// read them in place.
  bool stage_constants = false;
  /// The bandwidth is divided among the units that use it at the same time.
  bool shared = false;
  /// What all threads and units get together, where one alone gets less; 0: each gets all of the
  /// bandwidth, whatever the others do.
  double total_bandwidth_bytes_per_second = 0;
  /// The most that the device gives in one piece (CL_DEVICE_MAX_MEM_ALLOC_SIZE); 0: no limit. An
  /// arena that needs more becomes several.
  int64_t largest_allocation_bytes = 0;
  uint32_t alignment_bytes = 64;

  [[nodiscard]] int64_t usable_bytes() const { return bytes - reserve_bytes; }
};

/// Describes a link between two memory spaces, and the unit (kind "dma") that moves bytes over it;
/// without one, the unit that runs the op moves them.
struct Link {
  std::string unit;
  std::string from;
  std::string to;
  double bandwidth_bytes_per_second = 0;
  double latency_ns = 0;
};

/// Conditions that an op must meet for a row of the mapping list to apply. All must be met, and
/// bounds are inclusive.
struct PriorityConstraints {
  std::vector<std::string> dtypes;  ///< of input 0, by name; empty: any
  int32_t rank = -1;                ///< of input 0; -1: any
  int32_t min_kernel = 0;           ///< longer side of a convolution's or pooling's window
  int32_t max_kernel = INT32_MAX;
  int32_t min_channels = 0;  ///< dimension 1 of input 0, if it has one
  int32_t max_channels = INT32_MAX;
  int64_t min_elements = 0;  ///< of output 0
  int64_t max_elements = INT64_MAX;
};

/// Describes one row of the mapping list: `op` ("*": every op without a row of its own) on
/// `backend`; 1 is best. The first of an op's rows whose conditions are met counts; an op without
/// one is not given to the backend.
struct Priority {
  std::string backend;
  std::string op;
  int priority = 1;
  PriorityConstraints when = {};
};

/// Limits what the splitter may do.
struct SplittingLimits {
  int32_t most_parts = 256;        ///< of one op or chain
  int32_t smallest_part_rows = 1;  ///< of an image tensor
  int32_t channel_multiple = 1;    ///< parts of channels are multiples of this, but for the last
};

/// What a board may call its processor. "cortex-m" has no operating system that could run the
/// command: it is here for boards to say what they are.
inline constexpr const char* kArchitectures[] = {"x86-64", "aarch64", "arm", "riscv64", "cortex-m"};

struct Board {
  std::string name;
  std::string description;
  std::string source;  ///< where the figures come from
  /// Of the processor: one of kArchitectures. Empty: the board does not say.
  std::string architecture;
  std::vector<Unit> units;
  std::vector<MemorySpace> memory_spaces;
  std::vector<Link> links;
  std::vector<Priority> priorities;
  SplittingLimits splitting;
  std::string preferred_layout = "channels_last";  ///< or "row_major"
  /// FNV-1a of the canonical JSON without `architecture`, which changes neither a plan nor what a
  /// profile is worth.
  uint64_t fingerprint = 0;

  [[nodiscard]] const MemorySpace* ArenaSpace() const;
  /// Returns the space other than the arena's that ops work in too; null if there is none.
  [[nodiscard]] const MemorySpace* DirectSpace() const;
  /// Finds a space by name; returns null if there is none.
  [[nodiscard]] const MemorySpace* FindSpace(std::string_view space_name) const;
  [[nodiscard]] MemorySpace* FindSpace(std::string_view space_name);
  [[nodiscard]] const Unit* FindUnit(std::string_view unit_name) const;
  [[nodiscard]] const Link* FindLink(std::string_view from, std::string_view to) const;

  /// Returns the space that ops run from on `unit`.
  [[nodiscard]] const MemorySpace* SpaceOf(const Unit& unit) const;
  /// Returns the bandwidth between `unit` and that space; 0: the board does not say.
  [[nodiscard]] double PortBytesPerSecond(const Unit& unit) const;
};

/// Returns the first unit of backend "cpu" that runs ops; null if there is none.
[[nodiscard]] const Unit* ComputeUnit(const Board& board);

/// Returns the unit whose segments are code; null if there is none.
[[nodiscard]] const Unit* AcceleratorUnit(const Board& board);

/// True of processors with instructions for products of bytes, as their rates say: such make more
/// than two of them in the time of one of floats, which is what products of 16-bit numbers take.
[[nodiscard]] bool MultipliesBytes(const Unit& unit);

/// Returns the backends of the units that run ops, each once, in the order of the units.
[[nodiscard]] std::vector<std::string> BackendsOfUnits(const Board& board);

/// Reads a board; unknown keys, missing ones and wrong types are errors that name the key.
[[nodiscard]] Result<Board> ParseBoard(std::string_view json, std::string_view file_name);

/// Loads a built-in board by name, or else reads the JSON file at this path. Errors (kUsage):
/// neither exists; the message lists the names.
[[nodiscard]] Result<Board> LoadBoard(const std::string& name_or_path);

/// Returns the built-in boards, in order of name.
[[nodiscard]] std::vector<Board> BuiltInBoards();

// These are the board files of sdk/boards, compiled in. CMake generates the definition.

struct BuiltInBoard {
  std::string_view name;
  std::string_view json;
};

/// The list is in order of name.
extern const Span<const BuiltInBoard> kBuiltInBoards;

}  // namespace tenon::converter
