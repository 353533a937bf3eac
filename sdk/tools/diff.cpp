// tenon diff: where two plans, a plan and its model, or a plan and arrays part, op by op.
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "sdk/tools/diff_values.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/temporary_folder.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {
namespace {

using Json = nlohmann::ordered_json;

struct DiffOptions {
  std::string a;
  std::string b;
  std::vector<std::string> inputs;
  std::vector<std::string> arrays;
  double snr_db = 80;
  bool all = false;
  bool portable = false;
  std::string json;
};

/// How far a tensor is from what it should be.
struct Distance {
  double snr_db = INFINITY;  ///< infinite: equal
  size_t worst = 0;          ///< index of the element with the largest difference
  double got = 0;
  double expected = 0;
  size_t different = 0;  ///< elements
};

Distance Compare(const std::vector<double>& got, const std::vector<double>& expected) {
  Distance distance;
  double signal = 0;
  double noise = 0;
  double largest = -1;
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    const double raw = same ? 0 : std::abs(got[i] - expected[i]);
    const double difference = std::isnan(raw) ? INFINITY : raw;
    if (std::isfinite(expected[i])) signal += expected[i] * expected[i];
    noise += difference * difference;
    distance.different += same ? 0 : 1;
    if (difference <= largest) continue;
    largest = difference;
    distance.worst = i;
    distance.got = got[i];
    distance.expected = expected[i];
  }
  if (noise > 0) distance.snr_db = signal > 0 ? 10 * std::log10(signal / noise) : -INFINITY;
  return distance;
}

struct Row {
  std::string tensor;
  std::optional<size_t> op;  ///< of plan A; none: an output that no op seen has written
  Distance distance;
  bool parts = false;
};

/// Integers have one right value; floats depend on the order of sums.
bool Parts(const SeenTensor& tensor, const Distance& distance, const DiffOptions& options) {
  if (tensor.dtype > TENON_F64) return distance.different > 0;
  return distance.snr_db < options.snr_db;
}

std::optional<Row> RowOf(const SeenTensor& got, const SeenTensor& expected,
                         const DiffOptions& options) {
  if (got.dtype != expected.dtype || got.shape != expected.shape) return std::nullopt;
  Row row{got.name, got.op, {}, false};
  row.distance = Compare(ToDoubles(got.dtype, got.bytes.data(), got.bytes.size()),
                         ToDoubles(expected.dtype, expected.bytes.data(), expected.bytes.size()));
  row.parts = Parts(got, row.distance, options);
  return row;
}

struct Comparison {
  std::vector<Row> rows;    ///< in the order in which plan A writes them
  size_t not_compared = 0;  ///< tensors of A that B has not, or in another type or shape
};

Comparison CompareAll(const SeenRun& a, const std::map<std::string, SeenTensor>& expected,
                      const std::map<std::string, SeenTensor>& expected_outputs,
                      const DiffOptions& options) {
  Comparison comparison;
  const auto add = [&](const SeenTensor& tensor, const std::map<std::string, SeenTensor>& others,
                       bool is_output) {
    const auto found = others.find(tensor.name);
    std::optional<Row> row;
    if (found != others.end()) row = RowOf(tensor, found->second, options);
    if (!row) {
      ++comparison.not_compared;
      return;
    }
    if (is_output) row->op.reset();
    comparison.rows.push_back(std::move(*row));
  };
  for (const SeenTensor& tensor : a.tensors) add(tensor, expected, false);
  for (const SeenTensor& tensor : a.outputs) add(tensor, expected_outputs, true);
  return comparison;
}

std::map<std::string, SeenTensor> ByName(const std::vector<SeenTensor>& tensors) {
  std::map<std::string, SeenTensor> by_name;
  for (const SeenTensor& tensor : tensors) by_name[tensor.name] = tensor;
  return by_name;
}

/// By its name too, so that a damaged plan is not read as a model.
bool IsPlan(const std::string& path) {
  const std::vector<uint8_t> file = ReadFile(path);
  if (std::filesystem::path(path).extension() == ".tenon") return true;
  return file.size() > 8 && std::string(file.begin() + 4, file.begin() + 8) == "TNON";
}

/// The model as a plan of this machine in the model's own order, with the shapes of plan A.
std::vector<uint8_t> ReferencePlan(const DiffOptions& options) {
  const auto inspection = InspectPlan(ReadFile(options.a));
  if (!inspection) FailWith(inspection.error(), options.a);
  const Json plan = Json::parse(inspection->json);
  ConvertRequest request;
  request.model = options.b;
  request.board = "x86-64";
  request.order = ConvertRequest::Order::kSource;
  request.split = false;
  request.reports = false;
  request.parallel.fuse_branches = false;
  request.fuse = plan["options"].value("fuse", "on") == "on";
  for (const Json& input : plan["inputs"]) {
    request.shapes[input["name"].get<std::string>()] = input["shape"].get<std::vector<int64_t>>();
  }
  auto converted = Convert(request);
  if (!converted) FailWith(converted.error());
  return (*std::move(converted)).bytes;
}

SeenRun RunOther(const DiffOptions& options) {
  if (IsPlan(options.b)) return RunAndSee(options.b, {options.inputs}, options.portable);
  const TemporaryFolder folder;
  const std::vector<uint8_t> plan = ReferencePlan(options);
  return RunAndSee(folder.Write(0, plan.data(), plan.size()), {options.inputs}, /*portable=*/true);
}

std::vector<SeenTensor> ReadArrays(const DiffOptions& options) {
  std::vector<SeenTensor> tensors;
  for (const std::string& argument : options.arrays) {
    const auto [name, file] = SplitAssignment(argument, "--expect");
    NpyArray array = ReadNpy(file);
    tensors.push_back({name, array.dtype, array.shape, std::move(array.bytes), 0});
  }
  return tensors;
}

std::string Describe(const SeenRun& run, const Row& row) {
  const Distance& d = row.distance;
  const std::string writer =
      row.op ? fmt::format("{} ({}, {} on {})", run.ops[*row.op].name, run.ops[*row.op].kind,
                           run.ops[*row.op].kernel, run.ops[*row.op].backend)
             : "output";
  const std::string snr =
      std::isinf(d.snr_db) && d.snr_db > 0 ? "equal" : fmt::format("{:.1f} dB", d.snr_db);
  if (d.different == 0) return fmt::format("{}: {}: {}", writer, row.tensor, snr);
  return fmt::format("{}: {}: {}, {} elements differ, worst [{}]: {:.9g}, expected {:.9g}", writer,
                     row.tensor, snr, d.different, d.worst, d.got, d.expected);
}

Json ToJson(const SeenRun& run, const Comparison& comparison, const Row* first) {
  Json json;
  json["first"] = first == nullptr || !first->op ? Json(nullptr) : Json(run.ops[*first->op].name);
  json["unseen_ops"] = run.unseen;
  json["not_compared"] = comparison.not_compared;
  json["tensors"] = Json::array();
  for (const Row& row : comparison.rows) {
    json["tensors"].push_back(
        {{"name", row.tensor},
         {"op", row.op ? Json(run.ops[*row.op].name) : Json(nullptr)},
         {"snr_db", std::isfinite(row.distance.snr_db) ? Json(row.distance.snr_db) : Json(nullptr)},
         {"different", row.distance.different},
         {"worst", row.distance.worst},
         {"parts", row.parts}});
  }
  return json;
}

void Diff(const DiffOptions& options) {
  if (options.b.empty() == options.arrays.empty()) {
    Fail(kUsage, "compare with one thing: a second plan, a model, or --expect NAME=FILE.npy");
  }
  const SeenRun a = RunAndSee(options.a, {options.inputs}, options.portable);
  Comparison comparison;
  if (!options.b.empty()) {
    const SeenRun b = RunOther(options);
    comparison = CompareAll(a, ByName(b.tensors), ByName(b.outputs), options);
  } else {
    const auto arrays = ByName(ReadArrays(options));
    comparison = CompareAll(a, arrays, arrays, options);
  }
  if (comparison.rows.empty()) Fail(kUsage, "nothing to compare: no tensor has the same name");
  const Row* first = nullptr;
  for (const Row& row : comparison.rows) {
    if (row.parts && first == nullptr) first = &row;
    if (row.parts || options.all) std::cout << Describe(a, row) << '\n';
  }
  std::cout << fmt::format("{} tensors compared, {} without a counterpart", comparison.rows.size(),
                           comparison.not_compared);
  if (a.unseen > 0) std::cout << fmt::format("; {} ops on devices are not seen", a.unseen);
  std::cout << '\n';
  if (!options.json.empty()) {
    WriteFile(
        options.json,
        ToJson(a, comparison, first).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  if (first == nullptr) return;
  std::cout << (first->op ? "first to part: op " : "first to part: ") << Describe(a, *first)
            << '\n';
  Fail(kNo, "the two part");
}

}  // namespace

void AddDiff(CLI::App& app) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand(
      "diff",
      "Runs a plan and compares what its ops compute with another plan, with its model (portable "
      "kernels, the model's order), or with arrays; names the first op that parts.");
  command->add_option("A", options->a, "Plan file (.tenon)")->required();
  command->add_option("B", options->b, "Plan file or model to compare with");
  command
      ->add_option("--input", options->inputs,
                   "NAME=FILE.npy; inputs that are not given are made, the same for both")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  command
      ->add_option("--expect", options->arrays,
                   "NAME=FILE.npy: a tensor or output as it should be, instead of B")
      ->allow_extra_args(false);
  command
      ->add_option("--snr", options->snr_db,
                   "Floats part below so many dB of signal to noise; integers where any differs")
      ->check(Between(-1000, 1000))
      ->capture_default_str();
  command->add_flag("--all", options->all, "Print every tensor, not only those that part");
  command->add_flag("--portable", options->portable, "Run plans with the portable kernels");
  command->add_option("--json", options->json, "Write every tensor's figures there");
  command->callback([options] { Diff(*options); });
}

}  // namespace tenon::tool
