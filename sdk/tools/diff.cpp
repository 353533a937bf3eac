// tenon diff: where two plans, a plan and its model, or a plan and arrays part, op by op.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "converter/json_text.hpp"
#include "sdk/tools/backend_files.hpp"
#include "sdk/tools/diff_compare.hpp"
#include "sdk/tools/files.hpp"
#include "sdk/tools/json.hpp"
#include "sdk/tools/temporary_folder.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/inspect.hpp"

namespace tenon::tool {
namespace {

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

/// By its name too, so that a damaged plan is not read as a model.
bool IsPlan(const std::string& path) {
  const std::vector<uint8_t> file = ReadFile(path);
  if (std::filesystem::path(path).extension() == ".tenon") return true;
  return file.size() > 8 && std::string(file.begin() + 4, file.begin() + 8) == "TNON";
}

/// The values of an option that the plan was converted with.
std::vector<std::string> OptionsOf(const Json& plan, const char* name) {
  const Json values = plan["options"].value(name, Json::array());
  if (values.is_string()) return {values.get<std::string>()};
  return values.get<std::vector<std::string>>();
}

/// What the plan's ports and states are of the model's.
void TakePorts(const Json& plan, ConvertRequest& request) {
  for (const std::string& name : OptionsOf(plan, "freeze")) {
    Fail(kUsage,
         "the plan has a constant where the model has the input '{}' (--freeze): compare it with "
         "another plan",
         name);
  }
  for (const std::string& tie : OptionsOf(plan, "state")) {
    request.states.push_back(SplitAssignment(tie, "--state"));
  }
  for (const std::string& format : OptionsOf(plan, "input-format")) {
    request.input_formats.push_back(SplitAssignment(format, "--input-format"));
  }
  for (const std::string& format : OptionsOf(plan, "output-format")) {
    request.output_formats.push_back(SplitAssignment(format, "--output-format"));
  }
  for (const std::string& corners : OptionsOf(plan, "align-corners")) {
    request.align_corners = corners;
  }
  for (const Json& input : plan["inputs"]) {
    const auto name = input["name"].get<std::string>();
    request.shapes[name] = input["shape"].get<std::vector<int64_t>>();
  }
  const bool model_has_channels_last =
      std::filesystem::path(request.model).extension() == ".tflite";
  for (const auto& [name, format] : request.input_formats) {
    const auto found = request.shapes.find(name);
    if (found == request.shapes.end() || found->second.size() != 4) continue;
    std::vector<int64_t>& shape = found->second;  // sizes are given in the model's own order
    const bool moves = format.find(model_has_channels_last ? "nchw" : "nhwc") != std::string::npos;
    if (!moves) continue;
    const auto first = shape.begin() + 1;
    std::rotate(first, model_has_channels_last ? first + 1 : shape.end() - 1, shape.end());
  }
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
  TakePorts(plan, request);
  auto converted = Convert(request);
  if (!converted) FailWith(converted.error());
  return (*std::move(converted)).bytes;
}

RunToSee RunOf(const std::string& plan, const DiffOptions& options) {
  RunToSee run{plan, options.inputs, RunToSee::Kernels::kPlanned, {}};
  if (options.portable) run.kernels = RunToSee::Kernels::kPortable;
  return run;
}

/// Plan B, the model, or, without either, plan A by the reference kernels.
SeenRun RunOther(const DiffOptions& options) {
  if (options.b.empty()) {
    return RunAndSee({options.a, options.inputs, RunToSee::Kernels::kReference, {}});
  }
  if (IsPlan(options.b)) return RunAndSee(RunOf(options.b, options));
  const TemporaryFolder folder;
  const std::vector<uint8_t> plan = ReferencePlan(options);
  return RunAndSee({folder.Write(0, plan.data(), plan.size()),
                    options.inputs,
                    RunToSee::Kernels::kPortable,
                    {}});
}

std::vector<SeenTensor> ReadArrays(const DiffOptions& options) {
  std::vector<SeenTensor> tensors;
  for (const std::string& argument : options.arrays) {
    const auto [name, file] = SplitFileAssignment(argument, "--expect");
    NpyArray array = ReadNpy(file);
    tensors.push_back({name, array.dtype, array.shape, std::move(array.bytes), 0});
  }
  return tensors;
}

/// Each array must be compared: one that is not would be taken for equal.
void RequireCounterparts(const SeenRun& run, const std::vector<SeenTensor>& arrays) {
  for (const SeenTensor& array : arrays) {
    const SeenTensor* other = nullptr;  // of the same name, and of another type or shape
    bool is_there = false;
    for (const auto* tensors : {&run.outputs, &run.tensors}) {
      for (const SeenTensor& tensor : *tensors) {
        if (tensor.name != array.name) continue;
        const bool alike = tensor.dtype == array.dtype && tensor.shape == array.shape;
        is_there |= alike;
        if (!alike) other = &tensor;
      }
    }
    if (is_there) continue;
    if (other == nullptr)
      Fail(kUsage, "nothing to compare with '{}': no tensor that is seen has this name",
           array.name);
    Fail(kInputRefused, "'{}' is {}, its array holds {}", array.name,
         DescribeArray(other->dtype, other->shape), DescribeArray(array.dtype, array.shape));
  }
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

Json ToJson(const SeenRun& run, const Comparison& comparison) {
  const Row* first = comparison.First();
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

Comparison CompareRuns(const SeenRun& a, const DiffOptions& options) {
  if (!options.arrays.empty()) {
    const std::vector<SeenTensor> arrays = ReadArrays(options);
    RequireCounterparts(a, arrays);
    return CompareAll(a, arrays, arrays, options.snr_db);
  }
  const SeenRun b = RunOther(options);
  return CompareAll(a, b.tensors, b.outputs, options.snr_db);
}

void Diff(const DiffOptions& options) {
  if (!options.b.empty() && !options.arrays.empty()) {
    Fail(kUsage, "compare with one thing: a second plan, a model, or --expect NAME=FILE.npy");
  }
  const SeenRun a = RunAndSee(RunOf(options.a, options));
  const Comparison comparison = CompareRuns(a, options);
  if (comparison.rows.empty()) Fail(kUsage, "nothing to compare: no tensor has the same name");
  for (const Row& row : comparison.rows) {
    if (row.parts || options.all) std::cout << Describe(a, row) << '\n';
  }
  std::cout << fmt::format("{} tensors compared, {} without a counterpart", comparison.rows.size(),
                           comparison.not_compared);
  if (a.unseen > 0) {
    std::cout << fmt::format(
        "; {} ops inside segments that a device runs as one are not seen (convert with "
        "--aggregate=off)",
        a.unseen);
  }
  std::cout << '\n';
  if (!options.json.empty()) {
    WriteFile(options.json, JsonText(ToJson(a, comparison)) + "\n");
  }
  const Row* first = comparison.First();
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
      "kernels, the model's order), with arrays or, alone, with the same plan run by the portable "
      "CPU kernels; names the first op that parts.");
  command->add_option("A", options->a, "Plan file (.tenon)")->required();
  command->add_option("B", options->b,
                      "Plan file or model to compare with; none: A by the portable kernels");
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
  AddBackendOption(*command);
  command->callback([options] { Diff(*options); });
}

}  // namespace tenon::tool
