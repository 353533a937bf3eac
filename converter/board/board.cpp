#include "converter/board/board.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "converter/board/json_lines.hpp"
#include "converter/board/object_reader.hpp"
#include "converter/board/priority_json.hpp"
#include "converter/did_you_mean.hpp"
#include "converter/readable.hpp"
#include "runtime/base/most_threads.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::json;

void CheckRates(ObjectReader& reader, const char* key, const std::map<std::string, double>& rates) {
  for (const auto& [dtype, rate] : rates) {
    if (!IsDTypeName(dtype)) {
      reader.Fail(fmt::format("has a rate for the unknown dtype '{}' in '{}'", dtype, key));
    }
    if (!(rate > 0)) reader.Fail(fmt::format("has a rate for {} of 0 or less in '{}'", dtype, key));
  }
}

void ReadRates(ObjectReader& reader, Unit& unit) {
  if (unit.IsTransferOnly()) {
    reader.Optional("multiply_accumulates_per_second", unit.multiply_accumulates_per_second);
    reader.Optional("elementary_ops_per_second", unit.elementary_ops_per_second);
  } else {
    reader.Required("multiply_accumulates_per_second", unit.multiply_accumulates_per_second);
    reader.Required("elementary_ops_per_second", unit.elementary_ops_per_second);
    reader.FailIf(!(unit.elementary_ops_per_second > 0),
                  "has an 'elementary_ops_per_second' of 0 or less");
  }
  reader.Optional("portable_multiply_accumulates_per_second",
                  unit.portable_multiply_accumulates_per_second);
  reader.Optional("depthwise_multiply_accumulates_per_second",
                  unit.depthwise_multiply_accumulates_per_second);
  reader.Optional("depthwise_products_per_output", unit.depthwise_products_per_output);
  reader.Optional("depthwise_products_per_row", unit.depthwise_products_per_row);
  CheckRates(reader, "depthwise_products_per_output", unit.depthwise_products_per_output);
  CheckRates(reader, "depthwise_products_per_row", unit.depthwise_products_per_row);
  CheckRates(reader, "multiply_accumulates_per_second", unit.multiply_accumulates_per_second);
  CheckRates(reader, "depthwise_multiply_accumulates_per_second",
             unit.depthwise_multiply_accumulates_per_second);
  CheckRates(reader, "portable_multiply_accumulates_per_second",
             unit.portable_multiply_accumulates_per_second);
  reader.Optional("moved_elements_per_second", unit.moved_elements_per_second);
  reader.FailIf(unit.moved_elements_per_second < 0, "has a 'moved_elements_per_second' below 0");
}

void ReadUnit(ObjectReader& reader, Unit& unit) {
  std::string kernels = "all";
  reader.Required("name", unit.name);
  reader.Required("backend", unit.backend);
  reader.Required("kind", unit.kind);
  reader.Required("threads", unit.threads);
  reader.Optional("kernels", kernels);
  reader.Optional("launch_overhead_us", unit.launch_overhead_us);
  double enqueue = unit.launch_overhead_us;
  reader.Optional("enqueue_overhead_us", enqueue);
  unit.enqueue_overhead_us = enqueue;
  ReadRates(reader, unit);
  reader.Optional("depthwise_fraction", unit.depthwise_fraction);
  reader.Optional("ops", unit.ops);
  reader.Optional("runs_from", unit.runs_from);
  reader.Optional("port_bytes_per_second", unit.port_bytes_per_second);
  reader.Optional("cache_bytes_per_thread", unit.cache_bytes_per_thread);
  reader.Optional("cache_bytes_per_second", unit.cache_bytes_per_second);
  reader.Optional("shared_cache_bytes", unit.shared_cache_bytes);
  reader.Optional("shared_cache_bytes_per_second", unit.shared_cache_bytes_per_second);
  reader.Optional("shared_cache_waits", unit.shared_cache_waits);
  reader.OptionalObject("accelerator", [&](ObjectReader& object) {
    ReadAccelerator(object, unit.accelerator.emplace());
  });
  const bool is_set =
      kernels == "vector" || kernels == "helium" || kernels == "dsp" || kernels == "gpu";
  unit.portable_kernels_only = kernels == "portable" || is_set;
  if (is_set) unit.kernel_set = kernels;
  reader.FailIf(kernels == "gpu" && unit.backend != "opencl",
                "has 'kernels' \"gpu\", which only backend \"opencl\" has");
  reader.FailIf(unit.name.empty(), "has an empty 'name'");
  reader.FailIf(
      !unit.portable_kernels_only && kernels != "all",
      "has 'kernels' other than \"all\", \"portable\", \"vector\", \"helium\", \"dsp\" or \"gpu\"");
  reader.FailIf(unit.threads < 1, "has 'threads' below 1");
  reader.FailIf(unit.threads > kMostThreads,
                fmt::format("has 'threads' above {}, which no run may use", kMostThreads));
  reader.FailIf(unit.launch_overhead_us < 0, "has a 'launch_overhead_us' below 0");
  reader.FailIf(enqueue < 0, "has an 'enqueue_overhead_us' below 0");
  reader.FailIf(enqueue > unit.launch_overhead_us,
                "has an 'enqueue_overhead_us' above its 'launch_overhead_us', which includes it");
  reader.FailIf(!(unit.depthwise_fraction > 0 && unit.depthwise_fraction <= 1),
                "has a 'depthwise_fraction' that is not above 0 and at most 1");
  reader.FailIf(unit.port_bytes_per_second < 0, "has a 'port_bytes_per_second' below 0");
  reader.FailIf(unit.cache_bytes_per_thread < 0, "has 'cache_bytes_per_thread' below 0");
  reader.FailIf(unit.cache_bytes_per_second < 0 ||
                    (unit.cache_bytes_per_second > 0 &&
                     (unit.cache_bytes_per_thread == 0 || unit.shared_cache_bytes == 0)),
                "has a 'cache_bytes_per_second' below 0, or without 'cache_bytes_per_thread' and "
                "'shared_cache_bytes'");
  reader.FailIf(unit.shared_cache_bytes < 0 || unit.shared_cache_bytes_per_second < 0 ||
                    (unit.shared_cache_bytes > 0) != (unit.shared_cache_bytes_per_second > 0),
                "must have both 'shared_cache_bytes' and 'shared_cache_bytes_per_second', above 0, "
                "or neither");
  reader.FailIf(!(unit.shared_cache_waits >= 0 && unit.shared_cache_waits <= 1) ||
                    (unit.shared_cache_waits > 0 && unit.shared_cache_bytes == 0),
                "has a 'shared_cache_waits' that is not from 0 to 1, or without "
                "'shared_cache_bytes'");
  for (const std::string& op : unit.ops) {
    if (FindOpRow(op.c_str()) == nullptr) {
      reader.Fail(fmt::format("has the unknown op kind '{}' in 'ops'", op));
    }
  }
}

void ReadSpace(ObjectReader& reader, MemorySpace& space) {
  reader.Required("name", space.name);
  reader.Required("bytes", space.bytes);
  reader.Optional("reserve_bytes", space.reserve_bytes);
  reader.Optional("bandwidth_bytes_per_second", space.bandwidth_bytes_per_second);
  reader.Optional("latency_ns", space.latency_ns);
  reader.Optional("constants", space.holds_constants);
  reader.Optional("arena", space.holds_arena);
  reader.Optional("spill", space.spill);
  reader.Optional("direct", space.direct);
  reader.Optional("stage_constants", space.stage_constants);
  reader.Optional("shared", space.shared);
  reader.Optional("total_bandwidth_bytes_per_second", space.total_bandwidth_bytes_per_second);
  reader.Optional("largest_allocation_bytes", space.largest_allocation_bytes);
  reader.Optional("alignment_bytes", space.alignment_bytes);
  reader.FailIf(space.name.empty(), "has an empty 'name'");
  reader.FailIf(space.bytes < 0 || space.reserve_bytes < 0, "has a size below 0");
  reader.FailIf(space.bytes == 0, "has 'bytes' of 0");
  reader.FailIf(
      space.reserve_bytes >= space.bytes,
      fmt::format("has 'reserve_bytes' that leave nothing of its {} 'bytes'", space.bytes));
  reader.FailIf(space.bandwidth_bytes_per_second < 0, "has a 'bandwidth_bytes_per_second' below 0");
  reader.FailIf(space.latency_ns < 0, "has a 'latency_ns' below 0");
  reader.FailIf(space.total_bandwidth_bytes_per_second < 0,
                "has a 'total_bandwidth_bytes_per_second' below 0");
  reader.FailIf(space.largest_allocation_bytes < 0, "has 'largest_allocation_bytes' below 0");
  reader.FailIf(space.spill && space.holds_arena,
                "has \"spill\": true, but ops run from where the arena is");
  reader.FailIf(space.direct && space.holds_arena,
                "has \"direct\": true, but ops run from where the arena is anyway");
  reader.FailIf(space.direct && space.spill,
                "has \"direct\": true and \"spill\": true: ops either work there or do not");
  reader.FailIf(space.direct && !(space.bandwidth_bytes_per_second > 0),
                "has \"direct\": true without a 'bandwidth_bytes_per_second' above 0");
  reader.FailIf(space.stage_constants && !space.holds_constants,
                "has \"stage_constants\": true without \"constants\": true");
  reader.FailIf(space.stage_constants && space.holds_arena,
                "has \"stage_constants\": true, but ops run from where the arena is");
  const uint32_t alignment = space.alignment_bytes;
  reader.FailIf(alignment == 0 || (alignment & (alignment - 1)) != 0,
                "has an 'alignment_bytes' that is not a power of two");
  constexpr uint32_t kLeastAlignment = 8;         // elements of 64 bits
  constexpr uint32_t kMostAlignment = 2U << 20U;  // a huge page
  reader.FailIf(alignment < kLeastAlignment || alignment > kMostAlignment,
                fmt::format("has an 'alignment_bytes' that is not between {} and {}",
                            kLeastAlignment, kMostAlignment));
  reader.FailIf(alignment > space.bytes, "has an 'alignment_bytes' of more than its 'bytes'");
}

void ReadLink(ObjectReader& reader, Link& link) {
  reader.Required("from", link.from);
  reader.Required("to", link.to);
  reader.Optional("unit", link.unit);
  reader.Required("bandwidth_bytes_per_second", link.bandwidth_bytes_per_second);
  reader.Optional("latency_ns", link.latency_ns);
  reader.FailIf(!(link.bandwidth_bytes_per_second > 0),
                "has a 'bandwidth_bytes_per_second' of 0 or less");
  reader.FailIf(link.latency_ns < 0, "has a 'latency_ns' below 0");
  reader.FailIf(link.from == link.to, "has the same space in 'from' and 'to'");
}

void ReadSplitting(ObjectReader& reader, SplittingLimits& splitting) {
  reader.Optional("most_parts", splitting.most_parts);
  reader.Optional("smallest_part_rows", splitting.smallest_part_rows);
  reader.Optional("channel_multiple", splitting.channel_multiple);
  reader.FailIf(splitting.most_parts < 1, "has 'most_parts' below 1");
  reader.FailIf(splitting.smallest_part_rows < 1, "has 'smallest_part_rows' below 1");
  reader.FailIf(splitting.channel_multiple < 1, "has a 'channel_multiple' below 1");
}

/// Returns the name that two of `elements` have, or null.
template <typename Element>
const std::string* FindTwice(const std::vector<Element>& elements) {
  std::set<std::string_view> names;
  for (const Element& element : elements) {
    if (!names.insert(element.name).second) return &element.name;
  }
  return nullptr;
}

void CheckLinks(ObjectReader& reader, const Board& board) {
  for (size_t i = 0; i < board.links.size(); ++i) {
    const Link& link = board.links[i];
    for (const auto& [key, name] : {std::pair("from", &link.from), std::pair("to", &link.to)}) {
      if (board.FindSpace(*name) == nullptr) {
        reader.Fail(
            fmt::format("links[{}] has '{}' of '{}', which is no memory space", i, key, *name));
      }
    }
    const Unit* unit = board.FindUnit(link.unit);
    if (!link.unit.empty() && (unit == nullptr || !unit->IsTransferOnly())) {
      reader.Fail(fmt::format("links[{}] has 'unit' of '{}', which is no unit of kind \"dma\"", i,
                              link.unit));
    }
    if (board.FindLink(link.from, link.to) != &link) {
      reader.Fail(fmt::format("links[{}] goes from '{}' to '{}', as another one does", i, link.from,
                              link.to));
    }
  }
}

void CheckUnits(ObjectReader& reader, const Board& board) {
  reader.FailIf(board.units.empty(), "has no units");
  reader.FailIf(std::all_of(board.units.begin(), board.units.end(),
                            [](const Unit& unit) { return unit.IsTransferOnly(); }),
                "has no unit but those of kind \"dma\", which run no ops");
  for (size_t i = 0; i < board.units.size(); ++i) {
    const std::string& name = board.units[i].runs_from;
    if (name.empty()) continue;
    const MemorySpace* space = board.FindSpace(name);
    if (space == nullptr) {
      reader.Fail(
          fmt::format("units[{}] has 'runs_from' of '{}', which is no memory space", i, name));
    } else if (space->spill) {
      reader.Fail(fmt::format(
          "units[{}] has 'runs_from' of '{}', which has \"spill\": true: ops do not run from there",
          i, name));
    }
  }
}

void CheckSpaces(ObjectReader& reader, const Board& board) {
  const auto count = [&](bool MemorySpace::*flag) {
    return std::count_if(board.memory_spaces.begin(), board.memory_spaces.end(),
                         [flag](const MemorySpace& space) { return space.*flag; });
  };
  if (const auto arenas = count(&MemorySpace::holds_arena); arenas != 1) {
    reader.Fail(fmt::format("has {} memory spaces with \"arena\": true, one is needed", arenas));
    return;
  }
  reader.FailIf(count(&MemorySpace::holds_constants) == 0,
                "has no memory space with \"constants\": true, one is needed");
  if (const auto spills = count(&MemorySpace::spill); spills > 1) {
    reader.Fail(fmt::format("has {} memory spaces with \"spill\": true, one at most", spills));
  }
  const std::string& arena = board.ArenaSpace()->name;
  for (const MemorySpace& space : board.memory_spaces) {
    const Link* there = board.FindLink(arena, space.name);
    const Link* back = board.FindLink(space.name, arena);
    if (space.spill && !(there != nullptr && back != nullptr)) {
      reader.Fail(fmt::format("has \"spill\": true for '{}' without links from and to '{}'",
                              space.name, arena));
    } else if (space.spill && (there->unit.empty() || back->unit.empty())) {
      reader.Fail(
          fmt::format("has \"spill\": true for '{}', but its links name no 'unit' of kind "
                      "\"dma\" that moves tensors",
                      space.name));
    }
    if (space.stage_constants && back == nullptr) {
      reader.Fail(fmt::format("has \"stage_constants\": true for '{}' without a link to '{}'",
                              space.name, arena));
    }
  }
}

/// Lets ops find tensors in either of two spaces only where one unit runs them all.
void CheckDirect(ObjectReader& reader, const Board& board) {
  const MemorySpace* direct = board.DirectSpace();
  if (direct == nullptr) return;
  const auto spaces = std::count_if(board.memory_spaces.begin(), board.memory_spaces.end(),
                                    [](const MemorySpace& space) { return space.direct; });
  if (spaces > 1) {
    reader.Fail(fmt::format("has {} memory spaces with \"direct\": true, one at most", spaces));
  }
  if (board.units.size() != 1 || board.units[0].backend != "cpu") {
    reader.Fail(fmt::format(
        "has \"direct\": true for '{}', which is for boards of one unit, of backend \"cpu\"",
        direct->name));
  }
  if (!board.units[0].runs_from.empty() && board.units[0].runs_from != board.ArenaSpace()->name) {
    reader.Fail(
        fmt::format("has \"direct\": true for '{}', but its unit runs from elsewhere than the "
                    "arena's space",
                    direct->name));
  }
}

void CheckArchitecture(ObjectReader& reader, const std::string& architecture) {
  if (architecture.empty() || std::find(std::begin(kArchitectures), std::end(kArchitectures),
                                        architecture) != std::end(kArchitectures)) {
    return;
  }
  reader.Fail(fmt::format("has an 'architecture' of '{}', which is none of {}", architecture,
                          fmt::join(kArchitectures, ", ")));
}

/// Checks what one object alone cannot tell: references by name to other objects, and counts.
void CheckWhole(ObjectReader& reader, const Board& board) {
  reader.FailIf(board.name.empty(), "has an empty name");
  CheckArchitecture(reader, board.architecture);
  if (const std::string* name = FindTwice(board.units)) {
    reader.Fail(fmt::format("has two units called '{}'", *name));
  }
  if (const std::string* name = FindTwice(board.memory_spaces)) {
    reader.Fail(fmt::format("has two memory spaces called '{}'", *name));
  }
  CheckUnits(reader, board);
  CheckSpaces(reader, board);
  if (reader.ok()) CheckDirect(reader, board);
  CheckLinks(reader, board);
  for (size_t i = 0; i < board.priorities.size(); ++i) {
    const std::string& backend = board.priorities[i].backend;
    if (std::none_of(board.units.begin(), board.units.end(),
                     [&](const Unit& unit) { return unit.backend == backend; })) {
      reader.Fail(
          fmt::format("priorities[{}] has 'backend' of '{}', which no unit has", i, backend));
    }
  }
  reader.FailIf(board.preferred_layout != "channels_last" && board.preferred_layout != "row_major",
                "has a 'preferred_layout' other than \"channels_last\" or \"row_major\"");
}

uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

const MemorySpace* Board::ArenaSpace() const {
  for (const MemorySpace& space : memory_spaces) {
    if (space.holds_arena) return &space;
  }
  return nullptr;
}

const MemorySpace* Board::DirectSpace() const {
  for (const MemorySpace& space : memory_spaces) {
    if (space.direct) return &space;
  }
  return nullptr;
}

const MemorySpace* Board::FindSpace(std::string_view space_name) const {
  for (const MemorySpace& space : memory_spaces) {
    if (space.name == space_name) return &space;
  }
  return nullptr;
}

MemorySpace* Board::FindSpace(std::string_view space_name) {
  return const_cast<MemorySpace*>(std::as_const(*this).FindSpace(space_name));
}

const Unit* Board::FindUnit(std::string_view unit_name) const {
  for (const Unit& unit : units) {
    if (unit.name == unit_name) return &unit;
  }
  return nullptr;
}

const Link* Board::FindLink(std::string_view from, std::string_view to) const {
  for (const Link& link : links) {
    if (link.from == from && link.to == to) return &link;
  }
  return nullptr;
}

const MemorySpace* Board::SpaceOf(const Unit& unit) const {
  return unit.runs_from.empty() ? ArenaSpace() : FindSpace(unit.runs_from);
}

double Board::PortBytesPerSecond(const Unit& unit) const {
  if (unit.port_bytes_per_second > 0) return unit.port_bytes_per_second;
  const MemorySpace* space = SpaceOf(unit);
  return space == nullptr ? 0 : space->bandwidth_bytes_per_second;
}

const Unit* ComputeUnit(const Board& board) {
  for (const Unit& unit : board.units) {
    if (unit.backend == "cpu" && !unit.IsTransferOnly()) return &unit;
  }
  return nullptr;
}

bool MultipliesBytes(const Unit& unit) {
  constexpr double kMostOfWords = 2;  // as many products of 16-bit numbers as of floats
  const auto rate = [&](const char* dtype) {
    const auto found = unit.multiply_accumulates_per_second.find(dtype);
    return found == unit.multiply_accumulates_per_second.end() ? 0.0 : found->second;
  };
  return rate("i8") > kMostOfWords * rate("f32");
}

const Unit* AcceleratorUnit(const Board& board) {
  for (const Unit& unit : board.units) {
    if (unit.accelerator.has_value()) return &unit;
  }
  return nullptr;
}

Result<Board> ParseBoard(std::string_view text, std::string_view file_name) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return UsageError("board '{}' {}", file_name, WhyNoJson(text));
  }
  Board board;
  const std::string where = fmt::format("board '{}':", file_name);
  ObjectReader reader(json, where);
  reader.Required("name", board.name);
  reader.Optional("description", board.description);
  reader.Optional("source", board.source);
  reader.Optional("architecture", board.architecture);
  reader.Array("units", [&](ObjectReader& unit) { ReadUnit(unit, board.units.emplace_back()); });
  reader.Array("memory_spaces",
               [&](ObjectReader& space) { ReadSpace(space, board.memory_spaces.emplace_back()); });
  reader.Array("links", [&](ObjectReader& link) { ReadLink(link, board.links.emplace_back()); });
  reader.Array("priorities",
               [&](ObjectReader& row) { ReadPriority(row, board.priorities.emplace_back()); });
  reader.OptionalObject("splitting",
                        [&](ObjectReader& object) { ReadSplitting(object, board.splitting); });
  reader.Optional("preferred_layout", board.preferred_layout);
  reader.RefuseOthers();
  if (reader.ok()) CheckWhole(reader, board);
  if (!reader.ok()) {
    const int line = JsonLines(text).LineOfProblem(reader.problem(), where);
    return UsageError("{}{}", reader.problem(), line > 0 ? fmt::format(" (line {})", line) : "");
  }
  json.erase("architecture");
  board.fingerprint = Fnv1a(json.dump());
  return board;
}

std::vector<std::string> BackendsOfUnits(const Board& board) {
  std::vector<std::string> backends;
  for (const Unit& unit : board.units) {
    if (unit.IsTransferOnly()) continue;
    if (std::find(backends.begin(), backends.end(), unit.backend) == backends.end()) {
      backends.push_back(unit.backend);
    }
  }
  return backends;
}

static std::vector<std::string> BoardNames() {
  std::vector<std::string> names;
  for (const BuiltInBoard& board : kBuiltInBoards) names.emplace_back(board.name);
  return names;
}

Result<Board> LoadBoard(const std::string& name_or_path) {
  std::string names;
  for (const BuiltInBoard& built_in : kBuiltInBoards) {
    if (built_in.name == name_or_path) return ParseBoard(built_in.json, built_in.name);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", built_in.name);
  }
  if (const auto reason = WhyUnreadable(name_or_path)) {
    // What looks like a path was meant as one.
    std::error_code ignored;  // a name may be too long for a file's
    const bool is_path = name_or_path.find('/') != std::string::npos ||
                         name_or_path.ends_with(".json") ||
                         std::filesystem::exists(name_or_path, ignored);
    if (is_path) return UsageError("{}", *reason);
    return UsageError("no board '{}': {}give one of {}, or the path of a board file", name_or_path,
                      DidYouMean(name_or_path, BoardNames()), names);
  }
  std::string text;
  if (const auto reason = ReadToEnd(name_or_path, text)) return UsageError("{}", *reason);
  return ParseBoard(text, name_or_path);
}

std::vector<Board> BuiltInBoards() {
  std::vector<Board> boards;
  for (const BuiltInBoard& built_in : kBuiltInBoards) {
    Result<Board> board = ParseBoard(built_in.json, built_in.name);
    if (board.ok()) boards.push_back(std::move(*board));
  }
  return boards;
}

}  // namespace tenon::converter
