#include "converter/report/inspect_plan.hpp"

#include <algorithm>
#include <cstring>

#include "converter/aligned_bytes.hpp"
#include "converter/cost/instruction_bound.hpp"
#include "converter/emit/decisions_record.hpp"
#include "runtime/format/plan_check.hpp"
#include "runtime/format/plan_view.hpp"
#include "runtime/ops/host/op_table.hpp"

namespace tenon::converter {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLayouts[] = {"row_major", "channels_last", "strided"};

/// The first and last step that touch a storage.
struct Lifetime {
  int64_t first = -1;
  int64_t last = -1;
};

class Inspector {
 public:
  Inspector(const PlanView& plan, size_t program) : plan_(plan), program_(plan.program(program)) {
    MeasureLifetimes();
    bound_ = BoundInstructions(plan, program_);
  }

  /// Describes the file and its first program.
  Json Run() {
    Json json;
    json["board"] = plan_.board();
    json["format_version"] = fmt::format("{}.{}", plan_.version_major(), plan_.version_minor());
    json["producer"] = plan_.producer();
    uint64_t constants = 0;
    for (size_t i = 0; i < plan_.section_count(); ++i) constants += plan_.section(i).bytes;
    json["constants_bytes"] = constants;
    json["file_bytes"] = plan_.file().size();
    json["inputs"] = Ports(true);
    json["outputs"] = Ports(false);
    json["states"] = States();
    json.update(ProgramJson());
    json["programs"] = Json::array();
    for (size_t i = 0; i < plan_.program_count(); ++i) {
      Json program = {{"name", plan_.program(i).name()}, {"mode", ModeName(plan_.program(i))}};
      if (i > 0)
        program.update(Inspector(plan_, i).ProgramJson());  // the first program is at the top level
      json["programs"].push_back(std::move(program));
    }
    json["options"] = Json::object();
    for (size_t i = 0; i < plan_.option_count(); ++i) {
      Json& values = json["options"][plan_.option_name(i)];
      if (values.is_null()) {
        values = plan_.option_value(i);
        continue;
      }
      if (!values.is_array()) values = Json::array({values});
      values.push_back(plan_.option_value(i));
    }
    return json;
  }

 private:
  static const char* ModeName(const ProgramView& program) {
    constexpr const char* kModes[] = {"sequential", "pipeline", "replicas", "fallback"};
    return kModes[std::min<size_t>(program.mode(), 3)];
  }

  static const char* UseName(ArenaUse use) {
    constexpr const char* kUses[] = {"planned", "input", "rows"};
    return kUses[std::min<size_t>(static_cast<size_t>(use), 2)];
  }

  [[nodiscard]] Json ProgramJson() const {
    Json json;
    json["arenas"] = Json::array();
    for (size_t i = 0; i < program_.arena_count(); ++i) {
      const ArenaInfo arena = program_.arena(i);
      json["arenas"].push_back({{"space", plan_.space_name(arena.space)},
                                {"bytes", arena.bytes},
                                {"lower_bound", arena.lower_bound},
                                {"slots", arena.slots},
                                {"use", UseName(program_.arena_use(i))}});
    }
    json["tensors"] = Json::array();
    for (size_t i = 0; i < program_.tensor_count(); ++i) json["tensors"].push_back(TensorJson(i));
    json["ops"] = Ops();
    if (bound_) {
      json["instructions"] = {{"most", bound_->most ? Json(*bound_->most) : Json(nullptr)},
                              {"unknown", bound_->unknown},
                              {"text", Describe(*bound_)}};
    }
    json["workers"] = Workers();
    json["segments"] = Segments();
    json["channels"] = Channels();
    json["stages"] = Json::array();
    for (size_t i = 0; i < program_.stage_count(); ++i) {
      Json workers = Json::array();
      for (size_t worker = 0; worker < program_.worker_count(); ++worker) {
        if (!IsPipeline() ? worker == i : StageOf(worker) == i) workers.push_back(worker);
      }
      json["stages"].push_back({{"worker", program_.stage_worker(i)}, {"workers", workers}});
    }
    return json;
  }

  void Touch(int64_t tensor, int64_t step) {
    if (tensor < 0) return;
    Lifetime& life = lifetimes_[program_.tensor(static_cast<size_t>(tensor)).storage];
    if (life.first < 0) life.first = step;
    life.last = std::max(life.last, step);
  }

  [[nodiscard]] bool IsPipeline() const {
    return program_.mode() == static_cast<uint8_t>(ProgramMode::kPipeline);
  }

  /// The stage that a worker works for (sdk/schema/plan.fbs, Stage); what is no pipeline is one.
  [[nodiscard]] size_t StageOf(size_t worker) const {
    if (!IsPipeline()) return 0;
    if (worker < program_.stage_count() || program_.step_count(worker) == 0) return worker;
    const uint32_t first = program_.step(worker, 0).op;
    for (size_t i = 0; i < program_.segment_count(); ++i) {
      const SegmentInfo segment = program_.segment(i);
      if (std::find(segment.ops.begin(), segment.ops.end(), first) != segment.ops.end()) {
        return segment.stage;
      }
    }
    return worker;
  }

  /// Returns ops in the order in which one thread runs them: those of one stage after those of
  /// another; its workers take turns, and each continues as far as its waits allow.
  [[nodiscard]] std::vector<uint32_t> OrderOfSteps() const {
    std::vector<uint32_t> order;
    std::vector<size_t> done(program_.worker_count(), 0);
    const size_t stages = IsPipeline() ? program_.stage_count() : 1;
    for (size_t stage = 0; stage < stages; ++stage) {
      for (size_t before = SIZE_MAX; before != order.size();) {
        before = order.size();
        for (size_t worker = 0; worker < done.size(); ++worker) {
          if (StageOf(worker) != stage) continue;
          while (done[worker] < program_.step_count(worker) && MayRun(worker, done)) {
            order.push_back(program_.step(worker, done[worker]++).op);
          }
        }
      }
    }
    return order;
  }

  [[nodiscard]] bool MayRun(size_t worker, const std::vector<size_t>& done) const {
    const size_t step = done[worker];
    for (size_t i = 0; i < program_.step(worker, step).wait_count; ++i) {
      const WaitInfo wait = program_.wait(worker, step, i);
      if (wait.step >= done[wait.worker]) return false;
    }
    return true;
  }

  void MeasureLifetimes() {
    lifetimes_.resize(program_.storage_count());
    for (size_t i = 0; i < program_.input_count(); ++i) Touch(program_.input(i).tensor, 0);
    const std::vector<uint32_t> order = OrderOfSteps();
    const size_t steps = order.size();
    for (size_t step = 0; step < steps; ++step) {
      const OpInfo op = program_.op(order[step]);
      for (const int32_t tensor : op.inputs) Touch(tensor, static_cast<int64_t>(step));
      for (const int32_t tensor : op.outputs) Touch(tensor, static_cast<int64_t>(step));
      Touch(op.workspace, static_cast<int64_t>(step));
    }
    for (size_t i = 0; i < program_.output_count(); ++i) {
      Touch(program_.output(i).tensor, static_cast<int64_t>(steps) - 1);
    }
    for (size_t i = 0; i < program_.state_count(); ++i) {
      Touch(program_.state(i).read, 0);
      Touch(program_.state(i).read, static_cast<int64_t>(steps) - 1);
      Touch(program_.state(i).write, static_cast<int64_t>(steps) - 1);
    }
  }

  /// Of what stays inside a device, the device's backend.
  [[nodiscard]] std::string SpaceOf(const StorageInfo& storage) const {
    if (storage.home == StorageHome::kDevice) {
      return plan_.backend(program_.segment(storage.index).backend);
    }
    return plan_.space_name(storage.home == StorageHome::kSection
                                ? plan_.section(storage.index).space
                                : program_.arena(storage.index).space);
  }

  [[nodiscard]] static int64_t BytesOf(const TensorInfo& tensor) {
    int64_t bytes = DTypeBytes(tensor.dtype);
    for (const int32_t dim : tensor.dims) bytes *= dim;
    return bytes;
  }

  [[nodiscard]] Json TensorJson(size_t index) const {
    const TensorInfo tensor = program_.tensor(index);
    const StorageInfo storage = program_.storage(tensor.storage);
    const bool constant = storage.home == StorageHome::kSection;
    const bool in_device = storage.home == StorageHome::kDevice;
    Json json;
    json["name"] = tensor.name;
    json["dtype"] = DTypeName(tensor.dtype);
    json["shape"] = std::vector<int32_t>(tensor.dims.begin(), tensor.dims.end());
    json["layout"] = kLayouts[std::min<size_t>(tensor.layout, 2)];
    json["strides"] = std::vector<int32_t>(tensor.strides.begin(), tensor.strides.end());
    json["space"] = SpaceOf(storage);
    json["constant"] = constant;
    if (!constant && !in_device) json["arena"] = storage.index;
    json["storage"] = tensor.storage;
    json["offset"] = storage.offset + tensor.offset;
    json["bytes"] = BytesOf(tensor);
    json["first_step"] = lifetimes_[tensor.storage].first;
    json["last_step"] = lifetimes_[tensor.storage].last;
    return json;
  }

  [[nodiscard]] std::vector<std::string> Names(Span<const int32_t> tensors) const {
    std::vector<std::string> names;
    for (const int32_t tensor : tensors) {
      names.emplace_back(tensor < 0 ? "" : program_.tensor(static_cast<size_t>(tensor)).name);
    }
    return names;
  }

  /// Adds the bound of one op, and what it is made of.
  static void AddInstructions(const InstructionBound::Op& op, Json& json) {
    if (!op.terms) return;
    Json& entry = json["instructions"];
    entry["most"] = op.most ? Json(*op.most) : Json(nullptr);
    entry["model"] = op.terms->model;
    for (const CostTerm& term : op.terms->terms) entry["terms"][term.name] = term.amount;
  }

  [[nodiscard]] Json Ops() const {
    std::vector<size_t> segment_of(program_.op_count(), 0);
    for (size_t s = 0; s < program_.segment_count(); ++s) {
      for (const uint32_t op : program_.segment(s).ops) segment_of[op] = s;
    }
    Json ops = Json::array();
    for (size_t i = 0; i < program_.op_count(); ++i) {
      const OpInfo op = program_.op(i);
      Json json;
      json["name"] = op.name;
      json["kind"] = GetOpRow(static_cast<OpKind>(op.kind)).name;
      json["backend"] = plan_.backend(program_.segment(segment_of[i]).backend);
      json["kernel"] = plan_.kernel(op.kernel);
      json["segment"] = segment_of[i];
      json["inputs"] = Names(op.inputs);
      json["outputs"] = Names(op.outputs);
      if (op.in_place >= 0) json["in_place"] = op.in_place;
      if (const OpCondition condition = program_.op_condition(i); condition.IsGiven()) {
        const auto tensor = static_cast<size_t>(condition.tensor);
        json["condition"] = {{"tensor", program_.tensor(tensor).name},
                             {"runs_if", condition.runs_if}};
      }
      if (op.workspace >= 0) {
        json["workspace_bytes"] = BytesOf(program_.tensor(static_cast<size_t>(op.workspace)));
      }
      if (bound_) AddInstructions(bound_->ops[i], json);
      ops.push_back(std::move(json));
    }
    return ops;
  }

  [[nodiscard]] Json Workers() const {
    Json workers = Json::array();
    for (size_t worker = 0; worker < program_.worker_count(); ++worker) {
      Json steps = Json::array();
      for (size_t step = 0; step < program_.step_count(worker); ++step) {
        const StepInfo info = program_.step(worker, step);
        Json json = {{"op", info.op}};
        for (size_t i = 0; i < info.wait_count; ++i) {
          const WaitInfo wait = program_.wait(worker, step, i);
          json["waits"].push_back({{"worker", wait.worker}, {"step", wait.step}});
        }
        steps.push_back(std::move(json));
      }
      workers.push_back({{"name", program_.worker_name(worker)}, {"steps", std::move(steps)}});
    }
    return workers;
  }

  [[nodiscard]] Json Segments() const {
    Json segments = Json::array();
    for (size_t i = 0; i < program_.segment_count(); ++i) {
      const SegmentInfo segment = program_.segment(i);
      std::vector<std::string> writes;
      for (const uint32_t tensor : segment.writes) {
        writes.emplace_back(program_.tensor(tensor).name);
      }
      segments.push_back({{"backend", plan_.backend(segment.backend)},
                          {"ops", std::vector<uint32_t>(segment.ops.begin(), segment.ops.end())},
                          {"stage", segment.stage},
                          {"writes", writes},
                          {"code", program_.segment_code_count(i) > 0}});
    }
    return segments;
  }

  [[nodiscard]] Json Channels() const {
    Json channels = Json::array();
    for (size_t i = 0; i < program_.channel_count(); ++i) {
      const ChannelInfo channel = program_.channel(i);
      std::vector<std::string> tensors;
      for (const uint32_t tensor : channel.tensors) {
        tensors.emplace_back(program_.tensor(tensor).name);
      }
      channels.push_back({{"from", channel.from},
                          {"to", channel.to},
                          {"tensors", tensors},
                          {"depth", channel.depth}});
    }
    return channels;
  }

  [[nodiscard]] Json States() const {
    Json states = Json::array();
    for (size_t i = 0; i < program_.state_count(); ++i) {
      const StateInfo state = program_.state(i);
      const TensorInfo tensor = program_.tensor(state.read);
      const TensorInfo written = program_.tensor(state.write);
      states.push_back({{"name", tensor.name},
                        {"written_by", written.name},
                        {"dtype", DTypeName(tensor.dtype)},
                        {"shape", std::vector<int32_t>(tensor.dims.begin(), tensor.dims.end())},
                        {"bytes", program_.storage(tensor.storage).bytes - written.offset},
                        {"begins_with", state.initial < 0 ? "zeros" : "constants"}});
    }
    return states;
  }

  [[nodiscard]] Json Ports(bool inputs) const {
    Json ports = Json::array();
    const size_t count = inputs ? program_.input_count() : program_.output_count();
    for (size_t i = 0; i < count; ++i) {
      const PortInfo port = inputs ? program_.input(i) : program_.output(i);
      const TensorInfo tensor = program_.tensor(port.tensor);
      ports.push_back({{"name", port.name},
                       {"dtype", DTypeName(tensor.dtype)},
                       {"shape", std::vector<int32_t>(tensor.dims.begin(), tensor.dims.end())}});
      if (port.scale == 0.0F) continue;
      ports.back()["scale"] = port.scale;
      ports.back()["zero_point"] = port.zero_point;
    }
    return ports;
  }

  const PlanView& plan_;
  ProgramView program_;
  std::vector<Lifetime> lifetimes_;
  std::optional<InstructionBound> bound_;  ///< of plans for Cortex-M cores
};

std::string Shape(const Json& shape) {
  std::string text;
  for (const Json& dim : shape) text += fmt::format("{}{}", text.empty() ? "" : ",", dim.dump());
  return text;
}

/// The record as JSON; null where the plan has none.
Result<Json> ParseDecisions(const std::string& text) {
  if (text.empty()) return Json(nullptr);
  // What this version writes is less deep. The text of JSON grows with the square of its depth.
  constexpr int kMostDepth = 64;
  bool is_deep = false;
  const Json::parser_callback_t is_kept = [&](int depth, Json::parse_event_t, Json&) {
    is_deep |= depth > kMostDepth;
    return depth <= kMostDepth;
  };
  Json json = Json::parse(text, is_kept, false);
  if (json.is_discarded() || is_deep)
    return InputError("the plan's record of decisions is damaged");
  return json;
}

}  // namespace

Result<Json> InspectPlan(const std::vector<uint8_t>& file) {
  const AlignedBytes<kPlanAlignment> bytes(file);
  const tenon::Result<PlanView> plan = PlanView::Open({bytes.data(), bytes.size()});
  if (!plan.ok()) return InputError("{}", ToString(plan.status()));
  std::vector<std::max_align_t> scratch(PlanCheckScratchBytes(*plan) / sizeof(std::max_align_t) +
                                        1);
  const tenon::Status checked = CheckPlan(*plan, {reinterpret_cast<uint8_t*>(scratch.data()),
                                                  scratch.size() * sizeof(std::max_align_t)});
  if (!checked.ok()) return InputError("the plan check fails: {}", ToString(checked));
  if (plan->program_count() == 0) return InputError("the plan holds no program");
  Json json = Inspector(*plan, 0).Run();
  TENON_ASSIGN_OR_RETURN(const std::string decisions, ReadDecisions(*plan));
  json["decisions_bytes"] = decisions.size();
  TENON_ASSIGN_OR_RETURN(json["decisions"], ParseDecisions(decisions));
  return json;
}

std::string DescribeInspection(const Json& json) {
  std::string text =
      fmt::format("plan for board {}, format {}, {}\n", json["board"].get<std::string>(),
                  json["format_version"].get<std::string>(), json["producer"].get<std::string>());
  text += fmt::format("file {} bytes, constants {} bytes\n", json["file_bytes"].dump(),
                      json["constants_bytes"].dump());
  for (const Json& arena : json["arenas"]) {
    text += fmt::format("arena {}: {} bytes (lower bound {})\n", arena["space"].get<std::string>(),
                        arena["bytes"].dump(), arena["lower_bound"].dump());
  }
  if (json.contains("instructions")) {
    text +=
        fmt::format("instructions a run: {}\n", json["instructions"]["text"].get<std::string>());
  }
  for (const char* side : {"inputs", "outputs"}) {
    for (const Json& port : json[side]) {
      text += fmt::format("{} {}: {}[{}]", side == std::string("inputs") ? "input" : "output",
                          port["name"].get<std::string>(), port["dtype"].get<std::string>(),
                          Shape(port["shape"]));
      if (port.contains("scale")) {
        text += fmt::format(" (scale {:g}, zero point {})", port["scale"].get<float>(),
                            port["zero_point"].get<int32_t>());
      }
      text += '\n';
    }
  }
  for (const Json& state : json["states"]) {
    text += fmt::format("state {}: {}[{}], {} bytes, begins with {}, then what {} held\n",
                        state["name"].get<std::string>(), state["dtype"].get<std::string>(),
                        Shape(state["shape"]), state["bytes"].dump(),
                        state["begins_with"].get<std::string>(),
                        state["written_by"].get<std::string>());
  }
  text += fmt::format("{} segment(s), {} channel(s), {} stage(s)\n", json["segments"].size(),
                      json["channels"].size(), json["stages"].size());
  if (json["workers"].size() > 1) {
    for (const Json& worker : json["workers"]) {
      size_t waits = 0;
      for (const Json& step : worker["steps"]) {
        waits += step.contains("waits") ? step["waits"].size() : 0;
      }
      text += fmt::format("worker {}: {} steps, {} waits\n", worker["name"].get<std::string>(),
                          worker["steps"].size(), waits);
    }
  }
  for (size_t i = 1; i < json["programs"].size(); ++i) {
    const Json& program = json["programs"][i];
    text += fmt::format("program {}: {} worker(s), {} segment(s), {} channel(s)\n",
                        program["name"].get<std::string>(), program["workers"].size(),
                        program["segments"].size(), program["channels"].size());
  }
  for (const auto& [name, values] : json["options"].items()) {
    for (const Json& value : values.is_array() ? values : Json::array({values})) {
      text += fmt::format("option {} = {}\n", name, value.get<std::string>());
    }
  }
  text += fmt::format("{} ops:\n", json["ops"].size());
  size_t index = 0;
  for (const Json& op : json["ops"]) {
    std::string inputs;
    for (const Json& name : op["inputs"]) {
      inputs += fmt::format("{}{}", inputs.empty() ? "" : ", ", name.get<std::string>());
    }
    text +=
        fmt::format("{:4} {:<12} {:<28} {}  <- {}\n", index++, op["kind"].get<std::string>(),
                    op["kernel"].get<std::string>(), op["outputs"][0].get<std::string>(), inputs);
  }
  return text;
}

}  // namespace tenon::converter
