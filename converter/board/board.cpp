#include "converter/board/board.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>
#include <utility>

#include "converter/board/built_in_boards.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::json;

/// Reads the members of one JSON object and remembers what went wrong first.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) Fail("is not an object");
  }

  template <typename T>
  void Required(const char* key, T& value) {
    known_.insert(key);
    if (!ok()) return;
    if (!object_.contains(key)) {
      Fail(fmt::format("lacks the key '{}'", key));
      return;
    }
    Read(key, value);
  }
  template <typename T>
  void Optional(const char* key, T& value) {
    known_.insert(key);
    if (ok() && object_.contains(key)) Read(key, value);
  }
  /// Calls `read` for each object in the array `key`.
  template <typename Function>
  void Array(const char* key, const Function& read) {
    known_.insert(key);
    if (!ok()) return;
    if (!object_.contains(key) || !object_[key].is_array()) {
      Fail(fmt::format("lacks the array '{}'", key));
      return;
    }
    size_t index = 0;
    for (const Json& element : object_[key]) {
      ObjectReader reader(element, fmt::format("{}.{}[{}]", where_, key, index++));
      if (reader.ok()) read(reader);
      reader.RefuseOthers();
      if (!reader.ok()) {
        problem_ = reader.problem_;
        return;
      }
    }
  }
  void RefuseOthers() {
    if (!ok()) return;
    for (const auto& [key, value] : object_.items()) {
      if (!known_.contains(key)) {
        Fail(fmt::format("has the unknown key '{}'", key));
        return;
      }
    }
  }
  void Fail(const std::string& what) { problem_ = fmt::format("{} {}", where_, what); }
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  void Read(const char* key, T& value) {
    const Json& member = object_[key];
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (!IsWholeNumber<T>(member)) {
        Fail(fmt::format("has a '{}' that is not a whole number in range", key));
        return;
      }
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!member.is_number()) {
        Fail(fmt::format("has a '{}' that is not a number", key));
        return;
      }
    }
    try {
      value = member.get<T>();
    } catch (const Json::exception&) {
      Fail(fmt::format("has a '{}' of the wrong type", key));
    }
  }

  /// The library would cut off fractions and wrap what is out of range.
  template <typename T>
  static bool IsWholeNumber(const Json& member) {
    if (member.is_number_unsigned()) return std::in_range<T>(member.get<uint64_t>());
    return member.is_number_integer() && std::in_range<T>(member.get<int64_t>());
  }

  const Json& object_;
  std::string where_;
  std::string problem_;
  std::set<std::string> known_;
};

void ReadUnit(ObjectReader& reader, Unit& unit) {
  std::string kernels = "all";
  reader.Required("name", unit.name);
  reader.Required("backend", unit.backend);
  reader.Required("kind", unit.kind);
  reader.Required("threads", unit.threads);
  reader.Optional("kernels", kernels);
  reader.Optional("launch_overhead_us", unit.launch_overhead_us);
  reader.Required("multiply_accumulates_per_second", unit.multiply_accumulates_per_second);
  reader.Required("elementary_ops_per_second", unit.elementary_ops_per_second);
  unit.portable_kernels_only = kernels == "portable";
  if (reader.ok() && kernels != "portable" && kernels != "all") {
    reader.Fail("has 'kernels' other than \"all\" or \"portable\"");
  }
  if (reader.ok() && unit.threads < 1) reader.Fail("has 'threads' below 1");
  for (const auto& [dtype, rate] : unit.multiply_accumulates_per_second) {
    if (reader.ok() && !(rate > 0))
      reader.Fail(fmt::format("has a rate for {} of 0 or less", dtype));
  }
  if (reader.ok() && !(unit.elementary_ops_per_second > 0)) {
    reader.Fail("has an 'elementary_ops_per_second' of 0 or less");
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
  reader.Optional("alignment_bytes", space.alignment_bytes);
  if (reader.ok() && (space.bytes < 0 || space.reserve_bytes < 0)) {
    reader.Fail("has a size below 0");
  }
  if (reader.ok() && space.reserve_bytes > space.bytes) {
    reader.Fail("has 'reserve_bytes' of more than its 'bytes'");
  }
  const uint32_t alignment = space.alignment_bytes;
  if (reader.ok() && (alignment == 0 || (alignment & (alignment - 1)) != 0)) {
    reader.Fail("has an 'alignment_bytes' that is not a power of two");
  }
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

MemorySpace* Board::FindSpace(std::string_view space_name) {
  for (MemorySpace& space : memory_spaces) {
    if (space.name == space_name) return &space;
  }
  return nullptr;
}

Result<Board> ParseBoard(std::string_view text, std::string_view file_name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return UsageError("board '{}' is not valid JSON", file_name);
  Board board;
  ObjectReader reader(json, fmt::format("board '{}':", file_name));
  reader.Required("name", board.name);
  reader.Optional("description", board.description);
  reader.Optional("source", board.source);
  reader.Array("units", [&](ObjectReader& unit) { ReadUnit(unit, board.units.emplace_back()); });
  reader.Array("memory_spaces",
               [&](ObjectReader& space) { ReadSpace(space, board.memory_spaces.emplace_back()); });
  reader.Array("links", [&](ObjectReader& object) {
    Link& link = board.links.emplace_back();
    object.Required("from", link.from);
    object.Required("to", link.to);
    object.Required("bandwidth_bytes_per_second", link.bandwidth_bytes_per_second);
    object.Optional("latency_ns", link.latency_ns);
  });
  reader.Array("priorities", [&](ObjectReader& object) {
    Priority& row = board.priorities.emplace_back();
    object.Required("backend", row.backend);
    object.Required("op", row.op);
    object.Required("priority", row.priority);
  });
  reader.RefuseOthers();
  if (reader.ok() && board.units.empty()) reader.Fail("has no units");
  const auto arenas = std::count_if(board.memory_spaces.begin(), board.memory_spaces.end(),
                                    [](const MemorySpace& space) { return space.holds_arena; });
  if (reader.ok() && arenas != 1) {
    reader.Fail(fmt::format("has {} memory spaces with \"arena\": true, one is needed", arenas));
  }
  if (reader.ok() && board.name.empty()) reader.Fail("has an empty name");
  if (!reader.ok()) return UsageError("{}", reader.problem());
  board.fingerprint = Fnv1a(json.dump());
  return board;
}

Result<Board> LoadBoard(const std::string& name_or_path) {
  std::string names;
  for (const BuiltInBoard& built_in : kBuiltInBoards) {
    if (built_in.name == name_or_path) return ParseBoard(built_in.json, built_in.name);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", built_in.name);
  }
  std::ifstream file(name_or_path, std::ios::binary);
  std::error_code ignored;
  if (!file || !std::filesystem::is_regular_file(name_or_path, ignored)) {
    return UsageError("no board '{}': give one of {}, or the path of a board file", name_or_path,
                      names);
  }
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
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
