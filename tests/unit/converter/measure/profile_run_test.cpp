#include "converter/measure/profile_run.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "converter/ir/text.hpp"
#include "converter/measure/profile_sweep.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kGraph = R"(graph g
input %x: f32[1,8,12,12]
const %w: f32[16,8,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%x, %w) {pads=[1,1,1,1]}
%y = binary(%a, %b) {function=mul}
%z = unary(%y) {function=exp}
output %z
)";

PlanToProfile Plan(const std::string& name) {
  const Result<Graph> graph = ParseGraph(kGraph);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  auto conversion = ConvertGraph(*graph, test::OptionsFor());
  REQUIRE_MESSAGE(conversion.ok(), conversion.error().message);
  return {name, false, conversion->plan};
}

Profile Measure(const ProfileOptions& options) {
  Result<Profile> profile =
      MakeProfile(test::OptionsFor().board, {Plan("one"), Plan("two")}, options);
  REQUIRE_MESSAGE(profile.ok(), profile.error().message);
  return std::move(*profile);
}

TEST_CASE("A profile has every op of every plan, with its time and its runs") {
  ProfileOptions options;
  options.iterations = 5;
  options.rounds = 2;
  int turns = 0;
  options.progress = [&](const std::string&, int index, int count) {
    CHECK(index == turns++);
    CHECK(count == 4);
  };
  const Profile profile = Measure(options);
  CHECK(turns == 4);
  REQUIRE(profile.models.size() == 2);
  CHECK(profile.models[0].steps.size() == profile.models[1].steps.size());
  CHECK(profile.models[0].steps.size() >= 3);
  CHECK(profile.models[0].network_bytes > 16 * 8 * 9 * 4);
  std::set<std::string> signatures;
  for (const ProfileEntry& entry : profile.entries) {
    CHECK(signatures.insert(entry.signature).second);
    CHECK(entry.unit == "cpu");
    CHECK(entry.durations.mean_ms > 0);
    CHECK(entry.durations.min_ms <= entry.durations.mean_ms);
    CHECK(entry.durations.runs >= 5 * entry.places);
    CHECK(entry.places % 2 == 0);  // in both plans
  }
  for (const ProfiledModel& model : profile.models) {
    CHECK(model.latency.runs == 5);
    double sum = 0;
    for (const ProfiledModel::Step& step : model.steps) sum += step.mean_ms;
    // Ops are most of a run, and not more than it, but for what disturbs one and not the other.
    CHECK(sum > 0.2 * model.latency.mean_ms);
    CHECK(sum < 3 * model.latency.mean_ms);
  }
  CHECK_FALSE(profile.calibration.models.empty());
  // Subnormal numbers, which are flushed meanwhile, are what they were.
  volatile float small = std::numeric_limits<float>::min();
  CHECK(small / 4 != 0);
}

TEST_CASE("Several threads are measured, too") {
  ProfileOptions options;
  options.iterations = 2;
  options.threads = 2;
  const Profile profile = Measure(options);
  CHECK(profile.threads == 2);
  CHECK(profile.entries[0].signature.find("threads=2") != std::string::npos);
}

TEST_CASE("A plan that does not open here is a backend's error with its name") {
  PlanToProfile broken = Plan("broken one");
  broken.plan.resize(broken.plan.size() / 2);
  const Result<Profile> profile = MakeProfile(test::OptionsFor().board, {broken}, {});
  REQUIRE_FALSE(profile.ok());
  CHECK(profile.error().kind == ErrorKind::kBackend);
  CHECK(profile.error().message.find("broken one") != std::string::npos);
}

TEST_CASE("The sweep's networks are sound, the same every time, and reach the CPU's fast kernels") {
  std::vector<SweepNetwork> networks = SweepNetworks();
  const std::vector<SweepNetwork> again = SweepNetworks();
  REQUIRE(networks.size() == again.size());
  std::set<std::string> names;
  std::set<std::string> kernels;
  for (size_t i = 0; i < networks.size(); ++i) {
    CHECK_MESSAGE(names.insert(networks[i].name).second, networks[i].name);
    const Status status = Verify(networks[i].graph);
    CHECK_MESSAGE(status.ok(), networks[i].name);
    CHECK(PrintGraph(networks[i].graph) == PrintGraph(again[i].graph));
    REQUIRE(ChooseKernels(networks[i].graph, {}).ok());
    for (const OpId id : networks[i].graph.OpOrder()) {
      kernels.insert(networks[i].graph.op(id).kernel);
    }
  }
  for (const cpu::KernelCaps& caps : cpu::Kernels()) {
    const std::string id = caps.id;
    // Each op's best kernel; those behind it run what it refuses.
    if (id.find(".vector") == std::string::npos) continue;
    CHECK_MESSAGE(kernels.contains(id), id);
  }
}

TEST_CASE("The sweep has every op but the suppression of boxes") {
  std::set<OpKind> kinds;
  for (const SweepNetwork& network : SweepNetworks()) {
    for (const OpId id : network.graph.OpOrder()) kinds.insert(network.graph.op(id).kind);
  }
  for (int kind = 0; kind < kOpKindCount; ++kind) {
    const auto op = static_cast<OpKind>(kind);
    // The layout's copies are added to it, and how long boxes take depends on their overlaps.
    if (op == OpKind::kCopy || op == OpKind::kNonMaxSuppression) continue;
    CHECK_MESSAGE(kinds.contains(op), GetOpRow(op).name);
  }
}

}  // namespace
}  // namespace tenon::converter
