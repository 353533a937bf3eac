// Plan files with their record of decisions as `tenon inspect`, `explain`, `report` and `diff` read
// them: each is shown, or refused in words. Anything else would end the command with an internal
// error.
#define DOCTEST_CONFIG_IMPLEMENT
#include <nlohmann/json.hpp>

#include "converter/emit/decisions_record.hpp"
#include "sdk/tools/diff_compare.hpp"
#include "sdk/tools/diff_values.hpp"
#include "sdk/tools/report.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"
#include "tests/fuzz/plan_attempt.hpp"
#include "tests/fuzz/targets/abort_on_check.hpp"
#include "tests/fuzz/targets/fuzz_file.hpp"
#include "tests/fuzz/targets/json_changes.hpp"
#include "tests/fuzz/targets/plan_file_changes.hpp"

namespace {

using tenon::fuzz::AbortWith;
using tenon::tool::RunToSee;
using tenon::tool::SeenRun;

/// What a command does; its Failures are answers.
template <typename Command>
void Try(const Command& command) {
  try {
    command();
  } catch (const tenon::tool::Failure&) {
    return;
  } catch (const std::exception& error) {
    AbortWith(std::string("internal: ") + error.what());
  }
}

/// Runs take what plans ask for, which may be anything.
bool IsAffordable(const std::vector<uint8_t>& file) {
  constexpr uint64_t kMostBytes = uint64_t{16} << 20;
  constexpr int64_t kMostOps = 10'000'000;
  const tenon::fuzz::AlignedCopy copy(file.data(), file.size());
  const auto plan = tenon::PlanView::Open(copy.span());
  const tenon::ProgramView program = plan->program(0);
  for (size_t i = 0; i < program.arena_count(); ++i) {
    if (program.arena(i).bytes > kMostBytes) return false;
  }
  return tenon::test::WorkOf(program) <= kMostOps;
}

void Compare(const std::string& path) {
  const SeenRun a =
      tenon::tool::RunAndSee({path, {}, RunToSee::Kernels::kPlanned, {tenon_backend_cpu()}});
  const SeenRun b = tenon::tool::RunAndSee({path, {}, RunToSee::Kernels::kReference, {}});
  (void)tenon::tool::CompareAll(a, b.tensors, b.outputs, 80);
}

std::string RecordOf(const uint8_t* data, size_t bytes) {
  const tenon::fuzz::AlignedCopy copy(data, bytes);
  const auto plan = tenon::PlanView::Open(copy.span());
  if (!plan.ok()) return "";
  const auto record = tenon::converter::ReadDecisions(*plan);
  return record.ok() ? *record : "";
}

/// The file with this record instead of its own; as it is where it is no plan.
std::vector<uint8_t> WithRecord(std::vector<uint8_t> file, const std::string& record) {
  if (!record.empty()) (void)tenon::converter::AppendDecisions(record, file);
  return file;
}

std::string ChangedRecord(const std::string& record, std::mt19937& random) {
  auto json = nlohmann::ordered_json::parse(record, nullptr, false);
  if (json.is_discarded() || random() % 8 == 0) {
    std::string text = record;
    tenon::fuzz::ChangeBytes(text, random);
    return text;
  }
  for (size_t count = 1 + random() % 3; count > 0; --count) {
    tenon::fuzz::JsonMutator(random).Change(json);
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tenon::fuzz::AbortOnFailedChecks();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  if (bytes == 0) return 0;
  const std::vector<uint8_t> file(data, data + bytes);
  const auto inspection = tenon::InspectPlan(file);
  if (!inspection) {
    if (inspection.error().kind == tenon::ConvertError::Kind::kInternal) {
      AbortWith(inspection.error().message);
    }
    return 0;
  }
  const tenon::fuzz::FuzzFile on_disk(data, bytes);
  Try([&] { (void)tenon::tool::ReportPage(file, "plan"); });  // explains every op
  if (IsAffordable(file)) Try([&] { Compare(on_disk.path()); });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t bytes, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  const std::string record = RecordOf(data, bytes);
  std::vector<uint8_t> changed;
  if (record.empty() || random() % 2 == 0) {
    changed = WithRecord(tenon::fuzz::ChangedPlan(data, bytes, random), record);
  } else {
    changed = WithRecord({data, data + bytes}, ChangedRecord(record, random));
  }
  const size_t stored = tenon::fuzz::Store(changed, data, most);
  return stored > 0 ? stored : tenon::fuzz::MutateBytes(data, bytes, most);
}

/// Both plans in one with the second's record, which tells of half of its ops.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_bytes,
                                            const uint8_t* second, size_t second_bytes,
                                            uint8_t* out, size_t most, unsigned /*seed*/) {
  constexpr size_t kMostJoined = 32768;
  return tenon::fuzz::Store(
      WithRecord(tenon::fuzz::JoinedPlans(first, first_bytes, second, second_bytes),
                 RecordOf(second, second_bytes)),
      out, std::min(most, kMostJoined));
}
