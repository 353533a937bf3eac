#include "converter/profile/tuning.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "converter/ir/text.hpp"
#include "converter/profile/profile.hpp"

namespace tenon::converter {
namespace {

/// A convolution that makes `%y`, with what is given behind its operands.
Graph Conv(const std::string& x, const std::string& behind) {
  auto graph =
      ParseGraph(fmt::format("graph g\ninput %x: {}\nconst %w: f32[4,3,3,3] = random(7)\n%y = "
                             "conv(%x, %w) {}\noutput %y\n",
                             x, behind));
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  return std::move(*graph);
}

const Op& OpOf(const Graph& graph) {
  return graph.op(graph.tensor(graph.FindTensor("y")).producer);
}

std::string KeyOf(const Graph& graph) {
  return TuningKey(ProfileOperands(graph, OpOf(graph), nullptr));
}

Unit UnitCalled(const char* name) {
  Unit unit;
  unit.name = name;
  return unit;
}

constexpr const char* kSmall = "f32[1,3,8,8]";
constexpr const char* kPlain = "@opencl/opencl.conv.tile";

Tuning OneRow() {
  Tuning tuning;
  CHECK(tuning.Add({KeyOf(Conv(kSmall, kPlain)), "gpu", "opencl.conv.tile", "7x32", 1.5, 2}));
  return tuning;
}

TEST_CASE("A tuning's key is the op: neither its kernel, nor a variant, nor places in memory") {
  const std::string key = KeyOf(Conv(kSmall, kPlain));
  CHECK(key == "conv (f32[1,3,8,8], f32[4,3,3,3]) -> f32[1,4,6,6]");
  CHECK(KeyOf(Conv(kSmall, "@opencl/opencl.conv.tile:7x16")) == key);
  CHECK(KeyOf(Conv(kSmall, "@cpu/cpu.conv.vector")) == key);
  CHECK(KeyOf(Conv("f32[1,3,8,8] channels_last", kPlain)) == key);
  CHECK(KeyOf(Conv("f32[1,3,8,9]", kPlain)) != key);
  CHECK(KeyOf(Conv(kSmall, "{activation=relu} @opencl/opencl.conv.tile")) ==
        key + " {activation=1}");
}

TEST_CASE("Signatures leave variants out: what was measured of an op is of the op, tuned") {
  const Graph plain = Conv(kSmall, kPlain);
  const Graph tuned = Conv(kSmall, "@opencl/opencl.conv.tile:7x16");
  const ProfileOperands operands(tuned, OpOf(tuned), nullptr);
  CHECK(operands.kernel() == "opencl.conv.tile");
  CHECK(ProfileSignature(operands, 1) ==
        ProfileSignature(ProfileOperands(plain, OpOf(plain), nullptr), 1));
}

TEST_CASE("A row is found for its op, unit and kernel only, whatever variant the op has") {
  const Tuning tuning = OneRow();
  const Unit gpu = UnitCalled("gpu");
  const auto variant = [&](const Graph& graph, const Unit& unit) {
    return tuning.VariantOf(graph, OpOf(graph), unit);
  };
  CHECK(variant(Conv(kSmall, kPlain), gpu) == "7x32");
  CHECK(variant(Conv(kSmall, "@opencl/opencl.conv.tile:1x64"), gpu) == "7x32");
  CHECK(variant(Conv("f32[1,3,9,8]", kPlain), gpu).empty());
  CHECK(variant(Conv(kSmall, "@opencl/opencl.conv.first"), gpu).empty());
  CHECK(variant(Conv(kSmall, kPlain), UnitCalled("other")).empty());
  const Graph graph = Conv(kSmall, kPlain);
  CHECK(Tuning().VariantOf(graph, OpOf(graph), gpu).empty());
}

TEST_CASE("An op has one row per unit and kernel") {
  Tuning tuning = OneRow();
  TunedOp row = tuning.rows()[0];
  CHECK_FALSE(tuning.Add(row));
  row.kernel = "opencl.conv.first";
  CHECK(tuning.Add(row));
  row.unit = "other";
  CHECK(tuning.Add(row));
  CHECK(tuning.rows().size() == 3);
}

Profile TunedProfile() {
  Profile profile;
  profile.board = "a board";
  profile.tuning = OneRow();
  return profile;
}

TEST_CASE("Tuning comes back from a profile's file as it went in; without rows it is left out") {
  CHECK(FormatProfile(Profile()).find("tuning") == std::string::npos);
  const Profile profile = TunedProfile();
  const std::string text = FormatProfile(profile);
  const Result<Profile> read = ParseProfile(text, "p.json");
  REQUIRE_MESSAGE(read.ok(), read.error().message);
  REQUIRE(read->tuning.rows().size() == 1);
  const TunedOp& row = read->tuning.rows()[0];
  CHECK(row.op == profile.tuning.rows()[0].op);
  CHECK(row.unit == "gpu");
  CHECK(row.kernel == "opencl.conv.tile");
  CHECK(row.variant == "7x32");
  CHECK(row.ms == 1.5);
  CHECK(row.default_ms == 2);
  CHECK(FormatProfile(*read) == text);
}

TEST_CASE("Rows of a tuning that make no sense are refused by the key that is wrong") {
  const nlohmann::json json = nlohmann::json::parse(FormatProfile(TunedProfile()));
  const auto error_with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json broken = json;
    broken["tuning"][0][key] = value;
    const Result<Profile> profile = ParseProfile(broken.dump(), "p.json");
    return profile.ok() ? std::string() : profile.error().message;
  };
  CHECK(error_with("variant", 7).find("variant") != std::string::npos);
  CHECK(error_with("ms", -1).find("below 0") != std::string::npos);
  CHECK(error_with("spare", 1).find("spare") != std::string::npos);
  nlohmann::json twice = json;
  twice["tuning"].push_back(twice["tuning"][0]);
  const Result<Profile> profile = ParseProfile(twice.dump(), "p.json");
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.error().message.find("as a row before it") != std::string::npos);
}

}  // namespace
}  // namespace tenon::converter
