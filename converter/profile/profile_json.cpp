// Reads and writes profiles as files.
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "converter/board/object_reader.hpp"
#include "converter/board/priority_json.hpp"
#include "converter/json_text.hpp"
#include "converter/profile/profile.hpp"
#include "converter/readable.hpp"
#include "runtime/base/most_threads.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Durations& durations) {
  return {{"runs", durations.runs},
          {"min_ms", durations.min_ms},
          {"mean_ms", durations.mean_ms},
          {"spread", durations.spread}};
}

Json ToJson(const CostTerms& terms) {
  Json amounts = Json::object();
  for (const CostTerm& term : terms.terms) amounts[term.name] = term.amount;
  return {{"model", terms.model}, {"amounts", amounts}};
}

bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

void ReadDurations(ObjectReader& reader, Durations& durations) {
  reader.Required("runs", durations.runs);
  reader.Required("min_ms", durations.min_ms);
  reader.Required("mean_ms", durations.mean_ms);
  reader.Required("spread", durations.spread);
  reader.FailIf(durations.runs < 1, "has 'runs' below 1");
  reader.FailIf(!IsAmount(durations.min_ms) || !IsAmount(durations.mean_ms),
                "has a time below 0 or not finite");
}

void ReadAmounts(ObjectReader& reader, const char* key, std::map<std::string, double>& amounts) {
  reader.Required(key, amounts);
  for (const auto& [name, amount] : amounts) {
    if (!IsAmount(amount)) reader.Fail(fmt::format("has '{}' below 0 or not finite", name));
  }
}

void ReadTerms(ObjectReader& reader, CostTerms& terms) {
  std::map<std::string, double> amounts;
  reader.Required("model", terms.model);
  ReadAmounts(reader, "amounts", amounts);
  for (const auto& [name, amount] : amounts) terms.Add(name, amount);
}

template <typename T, typename Read>
void ReadMember(ObjectReader& reader, const char* key, T& value, const Read& read) {
  bool found = false;
  reader.OptionalObject(key, [&](ObjectReader& member) {
    found = true;
    read(member, value);
  });
  reader.FailIf(!found, fmt::format("lacks the key '{}'", key));
}

void ReadMachine(ObjectReader& reader, MachineFacts& machine) {
  std::vector<int64_t> caches;
  reader.Required("processor", machine.processor);
  reader.Required("processors", machine.processors);
  reader.Required("vector_lanes", machine.vector_lanes);
  reader.Required("cache_bytes", caches);
  reader.FailIf(machine.processors < 1 || machine.vector_lanes < 1,
                "has a number of processors or lanes below 1");
  reader.FailIf(caches.size() != std::size(machine.cache_bytes),
                "has 'cache_bytes' of other than three levels");
  for (size_t i = 0; reader.ok() && i < caches.size(); ++i) {
    reader.FailIf(caches[i] < 1, "has a cache of less than a byte");
    machine.cache_bytes[i] = caches[i];
  }
}

void ReadEntry(ObjectReader& reader, ProfileEntry& entry) {
  reader.Required("signature", entry.signature);
  reader.Required("unit", entry.unit);
  reader.Required("kernel", entry.kernel);
  reader.Required("places", entry.places);
  ReadMember(reader, "durations", entry.durations, ReadDurations);
  ReadMember(reader, "kernel_terms", entry.kernel_terms, ReadTerms);
  ReadMember(reader, "kind_terms", entry.kind_terms, ReadTerms);
  reader.FailIf(entry.places < 1, "has 'places' below 1");
}

void ReadModel(ObjectReader& reader, size_t entries, ProfiledModel& model) {
  std::vector<int32_t> steps;
  std::vector<double> times;
  reader.Required("name", model.name);
  reader.Required("sweep", model.sweep);
  ReadMember(reader, "latency", model.latency, ReadDurations);
  reader.Required("network_bytes", model.network_bytes);
  reader.FailIf(!IsAmount(model.network_bytes), "has a 'network_bytes' below 0 or not finite");
  reader.Required("entries", steps);
  reader.Required("mean_ms", times);
  reader.FailIf(steps.size() != times.size(), "has 'entries' and 'mean_ms' of different lengths");
  for (size_t i = 0; reader.ok() && i < steps.size(); ++i) {
    reader.FailIf(steps[i] < 0 || static_cast<size_t>(steps[i]) >= entries,
                  "has an entry's index that is out of range");
    reader.FailIf(!IsAmount(times[i]), "has a time below 0 or not finite");
    model.steps.push_back({steps[i], times[i]});
  }
}

void ReadFitted(ObjectReader& reader, Calibration& calibration) {
  std::string name;
  FittedModel model;
  reader.Required("model", name);
  reader.Required("samples", model.samples);
  reader.Required("error", model.error);
  ReadAmounts(reader, "ms_per_unit", model.ms_per_unit);
  if (!calibration.models.emplace(name, std::move(model)).second) {
    reader.Fail(fmt::format("describes the model '{}' twice", name));
  }
}

void ReadTuned(ObjectReader& reader, Tuning& tuning) {
  TunedOp row;
  reader.Required("op", row.op);
  reader.Required("unit", row.unit);
  reader.Required("kernel", row.kernel);
  reader.Required("variant", row.variant);
  reader.Required("ms", row.ms);
  reader.Required("default_ms", row.default_ms);
  reader.FailIf(!IsAmount(row.ms) || !IsAmount(row.default_ms), "has a time below 0 or not finite");
  reader.FailIf(reader.ok() && !tuning.Add(std::move(row)),
                "has the same 'op', 'unit' and 'kernel' as a row before it");
}

void ReadProfile(ObjectReader& reader, Profile& profile) {
  int version = 0;
  reader.Required("tenon_profile", version);
  if (reader.ok() && version != kProfileVersion) {
    reader.Fail(fmt::format("has version {}, {} is known: make the profile again", version,
                            kProfileVersion));
  }
  reader.Required("board", profile.board);
  reader.Required("threads", profile.threads);
  reader.FailIf(profile.threads < 1 || profile.threads > kMostThreads,
                fmt::format("has 'threads' outside of 1 to {}", kMostThreads));
  ReadMember(reader, "machine", profile.machine, ReadMachine);
  std::set<std::string> signatures;
  reader.Array("entries", [&](ObjectReader& element) {
    ProfileEntry entry;
    ReadEntry(element, entry);
    if (element.ok() && !signatures.insert(entry.unit + " " + entry.signature).second) {
      element.Fail("has the same 'unit' and 'signature' as an entry before it");
    }
    profile.entries.push_back(std::move(entry));
  });
  reader.Array("models", [&](ObjectReader& element) {
    ReadModel(element, profile.entries.size(), profile.models.emplace_back());
  });
  reader.Array("calibration",
               [&](ObjectReader& element) { ReadFitted(element, profile.calibration); });
  if (reader.Has("priorities")) {
    reader.Array("priorities", [&](ObjectReader& element) {
      ReadPriority(element, profile.priorities.emplace_back());
    });
  }
  if (reader.Has("tuning")) {
    reader.Array("tuning", [&](ObjectReader& element) { ReadTuned(element, profile.tuning); });
  }
  reader.RefuseOthers();
}

Json ToJson(const TunedOp& row) {
  return {{"op", row.op},           {"unit", row.unit}, {"kernel", row.kernel},
          {"variant", row.variant}, {"ms", row.ms},     {"default_ms", row.default_ms}};
}

Json ToJson(const ProfiledModel& model) {
  Json entries = Json::array();
  Json times = Json::array();
  for (const ProfiledModel::Step& step : model.steps) {
    entries.push_back(step.entry);
    times.push_back(step.mean_ms);
  }
  return {{"name", model.name},
          {"sweep", model.sweep},
          {"latency", ToJson(model.latency)},
          {"network_bytes", model.network_bytes},
          {"entries", entries},
          {"mean_ms", times}};
}

/// Writes one element per line, so that people can read and compare the files.
void AppendArray(std::string& text, const char* key, const std::vector<Json>& elements) {
  text += fmt::format(",\n\"{}\": [", key);
  for (size_t i = 0; i < elements.size(); ++i) {
    text += fmt::format("{}\n{}", i == 0 ? "" : ",", JsonText(elements[i], -1));
  }
  text += "]";
}

}  // namespace

std::string FormatProfile(const Profile& profile) {
  const MachineFacts& machine = profile.machine;
  const Json facts = {{"processor", machine.processor},
                      {"processors", machine.processors},
                      {"vector_lanes", machine.vector_lanes},
                      {"cache_bytes", machine.cache_bytes}};
  std::string text =
      fmt::format("{{\"tenon_profile\": {},\n\"board\": {},\n\"threads\": {}", kProfileVersion,
                  JsonText(Json(profile.board), -1), profile.threads);
  text += fmt::format(",\n\"machine\": {}", JsonText(facts, -1));
  std::vector<Json> entries;
  for (const ProfileEntry& entry : profile.entries) {
    entries.push_back({{"signature", entry.signature},
                       {"unit", entry.unit},
                       {"kernel", entry.kernel},
                       {"places", entry.places},
                       {"durations", ToJson(entry.durations)},
                       {"kernel_terms", ToJson(entry.kernel_terms)},
                       {"kind_terms", ToJson(entry.kind_terms)}});
  }
  AppendArray(text, "entries", entries);
  std::vector<Json> models;
  for (const ProfiledModel& model : profile.models) models.push_back(ToJson(model));
  AppendArray(text, "models", models);
  std::vector<Json> fitted;
  for (const auto& [name, model] : profile.calibration.models) {
    fitted.push_back({{"model", name},
                      {"samples", model.samples},
                      {"error", model.error},
                      {"ms_per_unit", model.ms_per_unit}});
  }
  AppendArray(text, "calibration", fitted);
  if (!profile.priorities.empty()) {
    std::vector<Json> rows;
    for (const Priority& row : profile.priorities) rows.push_back(ToJson(row));
    AppendArray(text, "priorities", rows);
  }
  if (!profile.tuning.rows().empty()) {
    std::vector<Json> rows;
    for (const TunedOp& row : profile.tuning.rows()) rows.push_back(ToJson(row));
    AppendArray(text, "tuning", rows);
  }
  return text + "}\n";
}

Result<Profile> ParseProfile(std::string_view json, const std::string& file_name) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (parsed.is_discarded()) return InputError("{}: not a JSON file", file_name);
  Profile profile;
  ObjectReader reader(parsed, fmt::format("{}: profile", file_name));
  ReadProfile(reader, profile);
  if (!reader.ok()) return InputError("{}", reader.problem());
  AddNeighbours(CalibrationSamples(profile, {}, true), profile.calibration);
  return profile;
}

Result<Profile> LoadProfile(const std::string& path) {
  std::string text;
  if (const auto reason = ReadToEnd(path, text)) return InputError("{}", *reason);
  return ParseProfile(text, path);
}

}  // namespace tenon::converter
