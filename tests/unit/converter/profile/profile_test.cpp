#include "converter/profile/profile.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tenon::converter {
namespace {

using Json = nlohmann::json;

ProfileEntry Entry(const std::string& signature, double ms, double work) {
  ProfileEntry entry;
  entry.signature = signature;
  entry.unit = "cpu";
  entry.kernel = "cpu.conv.vector";
  entry.durations = {10, ms * 0.9, ms, 0.05};
  entry.kernel_terms.model = "cpu.conv.vector";
  entry.kernel_terms.Add("start", 1);
  entry.kernel_terms.Add("work", work);
  entry.kind_terms = entry.kernel_terms;
  entry.kind_terms.model = "conv";
  return entry;
}

/// Two models of two ops each, one of them in both.
Profile Sample() {
  Profile profile;
  profile.board = "x86-64";
  profile.threads = 2;
  profile.machine.processor = "a \"quoted\" one";
  for (const char* name : {"one", "two"}) {
    ProfiledModel model;
    model.name = name;
    model.sweep = name == std::string("two");
    model.latency = {10, 2.5, 3, 0.1};
    model.network_bytes = 1000;
    const double own = model.sweep ? 4 : 2;
    model.steps.push_back({profile.AddOp(Entry("shared", 1, 10)), 1});
    model.steps.push_back({profile.AddOp(Entry(std::string("only ") + name, own, own * 10)), own});
    profile.models.push_back(model);
  }
  profile.calibration = Calibrate(CalibrationSamples(profile, {}, true));
  return profile;
}

std::string ErrorOf(const Json& json) {
  const Result<Profile> profile = ParseProfile(json.dump(), "p.json");
  return profile.ok() ? "" : profile.error().message;
}

TEST_CASE("A measured priority table comes back from a profile's file as it went in") {
  Profile profile = Sample();
  CHECK(FormatProfile(profile).find("priorities") == std::string::npos);
  Priority row{"opencl", "conv", 1, {}};
  row.when.min_channels = 8;
  row.when.dtypes = {"f32"};
  profile.priorities = {row, {"cpu", "conv", 2, {}}};
  const Result<Profile> read = ParseProfile(FormatProfile(profile), "p.json");
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  REQUIRE(read->priorities.size() == 2);
  CHECK(read->priorities[0].backend == "opencl");
  CHECK(read->priorities[0].when.min_channels == 8);
  CHECK(read->priorities[0].when.max_channels == INT32_MAX);
  CHECK(read->priorities[0].when.dtypes == std::vector<std::string>{"f32"});
  CHECK(read->priorities[1].priority == 2);
}

TEST_CASE("The mean is that of the faster half, and the spread says how slow the others were") {
  std::vector<double> samples = {9000, 1000, 2000, 3000};
  const Durations durations = Summarise(samples, 1000);
  CHECK(durations.runs == 4);
  CHECK(durations.min_ms == 1);
  CHECK(durations.mean_ms == 1.5);
  CHECK(durations.spread == doctest::Approx(3.75 / 1.5 - 1));
}

TEST_CASE("Of rounds the fastest counts, by the mean of the middle half of its runs") {
  // A first round of a disturbed machine, and a second one whose first and last run stand out.
  std::vector<double> samples = {9000, 7000, 8000, 7000, 1000, 3000, 9000, 2000};
  const Durations durations = SummariseRounds(samples, 2, 1000);
  CHECK(durations.runs == 8);
  CHECK(durations.min_ms == 1);
  CHECK(durations.mean_ms == 2.5);
  CHECK(durations.spread == doctest::Approx(5.75 / 2.5 - 1));
}

TEST_CASE("More rounds than runs are a round for each run") {
  std::vector<double> samples = {5, 4};
  CHECK(SummariseRounds(samples, 3, 1).mean_ms == 4);
  std::vector<double> none;
  CHECK(SummariseRounds(none, 3, 1).runs == 0);
}

TEST_CASE("One run is its own mean") {
  std::vector<double> samples = {5};
  const Durations durations = Summarise(samples, 1);
  CHECK(durations.mean_ms == 5);
  CHECK(durations.spread == 0);
}

TEST_CASE("Ops of one signature on one unit share an entry with the mean over their runs") {
  Profile profile;
  ProfileEntry slow = Entry("s", 4, 1);
  slow.durations.runs = 30;
  CHECK(profile.AddOp(Entry("s", 2, 1)) == 0);
  CHECK(profile.AddOp(Entry("t", 9, 1)) == 1);
  CHECK(profile.AddOp(slow) == 0);
  slow.unit = "another";
  CHECK(profile.AddOp(slow) == 2);
  const ProfileEntry& entry = profile.entries[0];
  CHECK(entry.places == 2);
  CHECK(entry.durations.runs == 40);
  CHECK(entry.durations.mean_ms == doctest::Approx((10 * 2 + 30 * 4) / 40.0));
  CHECK(entry.durations.min_ms == doctest::Approx(1.8));
}

TEST_CASE("Samples are those of the models that are not left out") {
  const Profile profile = Sample();
  CHECK(CalibrationSamples(profile, {}, true).size() == 4);
  CHECK(CalibrationSamples(profile, {}, false).size() == 2);
  const auto left = CalibrationSamples(profile, {true, false}, true);
  REQUIRE(left.size() == 2);
  CHECK(left[1].ms == 4);
}

TEST_CASE("A profile that is written and read is the same") {
  const Profile profile = Sample();
  const std::string text = FormatProfile(profile);
  const Result<Profile> read = ParseProfile(text, "p.json");
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  CHECK(FormatProfile(*read) == text);
  CHECK(read->machine.processor == profile.machine.processor);
  CHECK(read->entries.size() == 3);
  const CostTerms& op = profile.entries[2].kernel_terms;
  CHECK(*read->calibration.models.at("cpu.conv.vector").Predict(op) ==
        doctest::Approx(*profile.calibration.models.at("cpu.conv.vector").Predict(op)));
}

TEST_CASE("What is no profile is refused with the key and its place") {
  const Json sound = Json::parse(FormatProfile(Sample()));
  REQUIRE(ErrorOf(sound).empty());
  const auto with = [&](const char* pointer, const Json& value) {
    Json json = sound;
    json[Json::json_pointer(pointer)] = value;
    return ErrorOf(json);
  };
  CHECK(ErrorOf(Json::array()).find("not an object") != std::string::npos);
  CHECK(with("/tenon_profile", 2).find("version 2") != std::string::npos);
  CHECK(with("/surprise", 1).find("'surprise'") != std::string::npos);
  CHECK(with("/threads", 0).find("'threads'") != std::string::npos);
  CHECK(with("/threads", "two").find("'threads'") != std::string::npos);
  for (const Json& level : {Json(4.1943e19), Json(1.5), Json(true)}) {
    CHECK(with("/machine/cache_bytes", Json::array({32768, level, 4194304}))
              .find("has a 'cache_bytes' with what is not a whole number in range") !=
          std::string::npos);
  }
  CHECK(with("/machine/cache_bytes", Json::array({1, 2})).find("three levels") !=
        std::string::npos);
  CHECK(with("/entries/0/durations/mean_ms", -1).find("entries[0].durations") != std::string::npos);
  CHECK(with("/entries/0/durations/runs", 0).find("'runs'") != std::string::npos);
  CHECK(with("/entries/0/kernel_terms/amounts/work", -3).find("'work'") != std::string::npos);
  CHECK(with("/entries/1/signature", "shared").find("same 'unit' and 'signature'") !=
        std::string::npos);
  CHECK(with("/models/0/entries/0", 3).find("out of range") != std::string::npos);
  CHECK(with("/models/0/entries/0", -1).find("out of range") != std::string::npos);
  CHECK(with("/models/1/mean_ms", Json::array({1})).find("different lengths") != std::string::npos);
  CHECK(with("/calibration/1/model", "conv").find("twice") != std::string::npos);
  for (const char* key : {"board", "threads", "machine", "entries", "models", "calibration"}) {
    Json json = sound;
    json.erase(key);
    CHECK(ErrorOf(json).find(fmt::format("'{}'", key)) != std::string::npos);
  }
}

TEST_CASE("Broken JSON and missing files are refused by name") {
  const Result<Profile> broken = ParseProfile("{\"tenon_profile\": 1", "p.json");
  REQUIRE_FALSE(broken.ok());
  CHECK(broken.error().kind == ErrorKind::kInput);
  CHECK(broken.error().message.find("p.json") != std::string::npos);
  const Result<Profile> missing = LoadProfile("no/such/profile.json");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().message.find("no/such/profile.json") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
