#include "sdk/tools/measure_target.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "converter/ir/text.hpp"
#include "sdk/tools/tool.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::tool {
namespace {

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "measure-target-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string File(const std::string& name) const { return (path_ / name).string(); }
  /// A program that does what `script` says.
  [[nodiscard]] std::string Program(const std::string& script) const {
    const std::string path = File("target");
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }

 private:
  std::filesystem::path path_;
};

TargetOptions OptionsFor(const std::string& command, double timeout_seconds = 20) {
  TargetOptions options;
  options.command = command;
  options.timeout_seconds = timeout_seconds;
  return options;
}

Failure FailureOf(const TargetOptions& options, const std::string& plan = "a.tenon") {
  try {
    (void)MeasureOnTarget(options, plan);
  } catch (const Failure& failure) {
    return failure;
  }
  FAIL("the measurement succeeded");
  return {};
}

constexpr const char* kPrintsLatency =
    "echo 'latency ms: for people'; "
    "echo '{\"latency_ms\": {\"min\": 1.5, \"median\": 2.25, \"p99\": 3}}'";

TEST_CASE("The latency that the target prints is read, whatever stands around it") {
  const Folder folder;
  const TargetLatency latency =
      MeasureOnTarget(OptionsFor(folder.Program(kPrintsLatency)), "a.tenon");
  CHECK(latency.min_ms == 1.5);
  CHECK(latency.median_ms == 2.25);
}

TEST_CASE("The target gets the bench command with the plan and the settings") {
  const Folder folder;
  const std::string seen = folder.File("seen");
  TargetOptions options =
      OptionsFor(folder.Program("printf '%s|' \"$@\" > '" + seen + "'; " + kPrintsLatency));
  options.iterations = 7;
  options.warmup = 2;
  options.threads = 3;
  (void)MeasureOnTarget(options, "some plan.tenon");
  std::string arguments;
  std::getline(std::ifstream(seen), arguments);
  CHECK(arguments ==
        "bench|some plan.tenon|--json|/dev/stdout|--iterations|7|--warmup|2|--threads|3|");
}

TEST_CASE("No shell reads the plan's path") {
  const Folder folder;
  const std::string witness = folder.File("witness");
  const std::string program = folder.Program(kPrintsLatency);
  for (const std::string& plan : {"$(touch '" + witness + "')", "`touch " + witness + "`",
                                  "'; touch " + witness + " '", "a\"; touch " + witness + " \"b"}) {
    (void)MeasureOnTarget(OptionsFor(program), plan);
    CHECK_MESSAGE(!std::filesystem::exists(witness), plan);
  }
}

TEST_CASE("A command of several words is the shell's") {
  const Folder folder;
  const TargetOptions options =
      OptionsFor("TARGET_NAME=board sh -c 'test $TARGET_NAME = board && " +
                 folder.Program(kPrintsLatency) + "'");
  CHECK(MeasureOnTarget(options, "a.tenon").min_ms == 1.5);
}

TEST_CASE("A target that fails is a device failure with what it said") {
  const Folder folder;
  const Failure failure =
      FailureOf(OptionsFor(folder.Program("echo first >&2; echo no such board >&2; exit 9")));
  CHECK(failure.exit == kDeviceFailure);
  CHECK(failure.message == "the target failed with exit status 9");
  REQUIRE(failure.details.size() == 2);
  CHECK(failure.details[1] == "no such board");
}

TEST_CASE("A target that a signal ends is a device failure") {
  const Folder folder;
  const Failure failure = FailureOf(OptionsFor("exec " + folder.Program("kill -SEGV $$")));
  CHECK(failure.exit == kDeviceFailure);
  CHECK(failure.message.find("signal 11") != std::string::npos);
}

TEST_CASE("A command that is not there is a device failure that names it") {
  const Failure failure = FailureOf(OptionsFor("/nowhere/at/all"));
  CHECK(failure.exit == kDeviceFailure);
  REQUIRE_FALSE(failure.details.empty());
  CHECK(failure.details[0].find("/nowhere/at/all") != std::string::npos);
}

TEST_CASE("A target that hangs is ended with its children when the time is over") {
  const Folder folder;
  const std::string witness = folder.File("witness");
  // The grandchild holds the output open, and would leave a witness.
  const std::string program =
      folder.Program("(sleep 2; touch '" + witness + "') & echo waiting >&2; sleep 30");
  const auto start = std::chrono::steady_clock::now();
  const Failure failure = FailureOf(OptionsFor(program, 0.3));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  CHECK(failure.exit == kDeviceFailure);
  CHECK(failure.message.find("took longer than 0.3 s") != std::string::npos);
  REQUIRE_FALSE(failure.details.empty());
  CHECK(failure.details[0] == "waiting");
  CHECK(spent.count() < 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  CHECK_FALSE(std::filesystem::exists(witness));
}

TEST_CASE("A target that closes its output and stays is ended, too") {
  const Folder folder;
  const Failure failure = FailureOf(OptionsFor(folder.Program("exec >&- 2>&-; sleep 30"), 0.3));
  CHECK(failure.message.find("took longer") != std::string::npos);
}

TEST_CASE("Output that is no bench report is a device failure") {
  const Folder folder;
  for (const char* script :
       {"true", "echo hello", "echo '{'", "echo '{}'", "echo '{\"latency_ms\": 3}'",
        "echo '{\"latency_ms\": {\"min\": \"fast\", \"median\": 1}}'",
        "echo '{\"latency_ms\": {\"min\": -1, \"median\": 1}}'",
        "echo '{\"latency_ms\": {\"min\": 2, \"median\": 1}}'", "echo '}{'"}) {
    const Failure failure = FailureOf(OptionsFor(folder.Program(script)));
    CHECK_MESSAGE(failure.exit == kDeviceFailure, script);
    CHECK_MESSAGE(failure.message.find("latency") != std::string::npos, script);
  }
}

TEST_CASE("Endless output does not fill the memory") {
  const Folder folder;
  const Failure failure =
      FailureOf(OptionsFor(folder.Program("head -c 30000000 /dev/zero; exit 4")));
  CHECK(failure.message == "the target failed with exit status 4");
}

/// A small plan in `folder`, and the path of the built command; empty if that was not built.
std::string WritePlan(const Folder& folder, std::string& plan) {
  const char* binary = std::getenv("TENON_BINARY_DIR");
  const std::filesystem::path program =
      std::filesystem::path(binary != nullptr ? binary : ".") / "bin/tenon";
  if (!std::filesystem::exists(program)) return {};
  const auto graph = converter::ParseGraph(R"(graph g
input %x: f32[1,16,12,12]
const %w: f32[16,16,3,3] = random(1)
%y = conv(%x, %w) {pads=[1,1,1,1]}
output %y
)");
  REQUIRE(graph.ok());
  const auto conversion = converter::ConvertGraph(*graph, tenon::test::OptionsFor());
  REQUIRE(conversion.ok());
  plan = folder.File("a 'small' plan.tenon");
  std::ofstream(plan, std::ios::binary)
      .write(reinterpret_cast<const char*>(conversion->plan.data()),
             static_cast<std::streamsize>(conversion->plan.size()));
  return program.string();
}

TEST_CASE("The command itself is a target") {
  const Folder folder;
  std::string plan;
  const std::string program = WritePlan(folder, plan);
  if (program.empty()) {
    MESSAGE("skipped: the command is not built");
    return;
  }
  const TargetLatency latency = MeasureOnTarget(OptionsFor("'" + program + "'"), plan);
  CHECK(latency.min_ms > 0);
  CHECK(latency.min_ms < 100);
  const Failure failure = FailureOf(OptionsFor("'" + program + "'"), folder.File("none.tenon"));
  CHECK(failure.message == "the target failed with exit status 3");
  REQUIRE_FALSE(failure.details.empty());
  CHECK(failure.details[0].find("none.tenon") != std::string::npos);
}

TEST_CASE("An emulated processor is a target") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  MESSAGE("skipped: an emulator has no room for what sanitizers note of memory");
  return;
#endif
  if (std::system("command -v qemu-x86_64 > /dev/null") != 0) {
    MESSAGE("skipped: qemu-x86_64 is not installed");
    return;
  }
  const Folder folder;
  std::string plan;
  const std::string program = WritePlan(folder, plan);
  if (program.empty()) {
    MESSAGE("skipped: the command is not built");
    return;
  }
  TargetOptions options = OptionsFor("qemu-x86_64 '" + program + "'", 120);
  options.iterations = 2;
  options.warmup = 0;
  CHECK(MeasureOnTarget(options, plan).min_ms > 0);
}

}  // namespace
}  // namespace tenon::tool
