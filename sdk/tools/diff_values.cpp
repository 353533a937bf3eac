#include "sdk/tools/diff_values.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "sdk/tools/plan_json.hpp"
#include "sdk/tools/plan_runner.hpp"
#include "sdk/tools/tool.hpp"
#include "tenon/debug.h"

namespace tenon::tool {
namespace {

struct Freed {
  void operator()(void* memory) const { std::free(memory); }
};

/// A block of zeros with the alignment that plans and arenas want. Of a large one the system gives
/// what is touched, and a plan may ask for any size.
class Block {
 public:
  explicit Block(size_t bytes, size_t alignment = 64)
      : bytes_(bytes), memory_(std::calloc(bytes + alignment, 1)), data_(memory_.get()) {
    size_t space = bytes + alignment;
    if (data_ == nullptr || std::align(alignment, bytes, data_, space) == nullptr) {
      throw std::bad_alloc();
    }
  }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  std::unique_ptr<void, Freed> memory_;
  void* data_;
};

/// Where an arena holds a tensor.
struct ElementPlace {
  SeenTensor tensor;  ///< without bytes
  size_t arena = 0;
  size_t offset = 0;  ///< bytes from the arena's start
  size_t element = 0;
  std::vector<size_t> strides;  ///< in bytes
};

tenon_dtype TypeNamed(const std::string& name) {
  for (int i = TENON_F32; i <= TENON_BOOL; ++i) {
    const auto dtype = static_cast<tenon_dtype>(i);
    if (name == tenon_dtype_name(dtype)) return dtype;
  }
  Fail(kInputRefused, "the plan has a tensor of type '{}'", name);
}

/// Where the first program's tensors lie, by name.
std::map<std::string, ElementPlace> PlacesOf(const nlohmann::ordered_json& plan) {
  std::map<std::string, ElementPlace> places;
  for (const auto& tensor : plan["tensors"]) {
    if (!tensor.contains("arena")) continue;  // constants, and what stays inside a device
    ElementPlace place;
    place.tensor.name = tensor["name"].get<std::string>();
    place.tensor.dtype = TypeNamed(tensor["dtype"].get<std::string>());
    place.tensor.shape = tensor["shape"].get<std::vector<int64_t>>();
    place.arena = tensor["arena"].get<size_t>();
    place.offset = tensor["offset"].get<size_t>();
    size_t elements = 1;
    for (const int64_t dim : place.tensor.shape) elements *= static_cast<size_t>(dim);
    if (elements == 0) continue;
    place.element = tensor["bytes"].get<size_t>() / elements;
    for (const auto& stride : tensor["strides"]) {
      place.strides.push_back(stride.get<size_t>() * place.element);
    }
    places[place.tensor.name] = std::move(place);
  }
  return places;
}

/// Gathers a strided tensor, dimension by dimension.
void Gather(const std::byte* from, const ElementPlace& place, size_t dim,
            std::vector<std::byte>& to) {
  if (dim == place.strides.size()) {
    to.insert(to.end(), from, from + place.element);
    return;
  }
  for (int64_t i = 0; i < place.tensor.shape[dim]; ++i) {
    Gather(from + static_cast<size_t>(i) * place.strides[dim], place, dim + 1, to);
  }
}

/// What the hooks of a traced run look at and write to.
struct Watch {
  std::vector<std::vector<ElementPlace>> places;  ///< of what is there once an op is recorded
  std::vector<tenon_memory> arenas;
  SeenRun* run = nullptr;
  std::set<size_t> inside;       ///< ops that code runs with the first of their segment
  bool has_fallen_back = false;  ///< such an op ran by itself: the CPU took over

  void See(size_t op) {
    has_fallen_back |= inside.contains(op);
    for (const ElementPlace& place : places[op]) {
      SeenTensor seen = place.tensor;
      const auto* arena = static_cast<const std::byte*>(arenas[place.arena].data);
      Gather(arena + place.offset, place, 0, seen.bytes);
      run->tensors.push_back(std::move(seen));
    }
  }
};

/// The tensors that ops outside a segment read, and outputs of the plan.
std::set<std::string> LeavingTensors(const nlohmann::ordered_json& plan,
                                     const nlohmann::ordered_json& segment) {
  std::set<size_t> own;
  for (const auto& op : segment["ops"]) own.insert(op.get<size_t>());
  std::set<std::string> names;
  for (const auto& name : segment["writes"]) names.insert(name.get<std::string>());
  for (size_t op = 0; op < plan["ops"].size(); ++op) {
    if (own.contains(op)) continue;
    for (const auto& name : plan["ops"][op]["inputs"]) {
      if (name.is_string()) names.insert(name.get<std::string>());
    }
  }
  return names;
}

/// A segment that is run as one piece of code is recorded by its first op, and what leaves it is
/// there then.
void SeeCode(const nlohmann::ordered_json& plan, const nlohmann::ordered_json& segment,
             Watch& watch) {
  const std::set<std::string> leaving = LeavingTensors(plan, segment);
  std::vector<ElementPlace> seen;
  for (const auto& op : segment["ops"]) {
    std::vector<ElementPlace>& places = watch.places[op.get<size_t>()];
    const size_t before = seen.size();
    for (ElementPlace& place : places) {
      if (leaving.contains(place.tensor.name)) seen.push_back(std::move(place));
    }
    places.clear();
    watch.inside.insert(op.get<size_t>());
    watch.run->unseen += seen.size() == before ? 1 : 0;
  }
  watch.inside.erase(segment["ops"][0].get<size_t>());
  watch.places[segment["ops"][0].get<size_t>()] = std::move(seen);
}

Watch WatchOf(const nlohmann::ordered_json& plan, SeenRun& run) {
  const std::map<std::string, ElementPlace> places = PlacesOf(plan);
  Watch watch;
  watch.run = &run;
  for (const auto& op : plan["ops"]) {
    const size_t number = watch.places.size();
    std::vector<ElementPlace>& outputs = watch.places.emplace_back();
    for (const auto& name : op["outputs"]) {
      const auto found = places.find(name.get<std::string>());
      if (found == places.end()) continue;
      outputs.push_back(found->second);
      outputs.back().tensor.op = number;
    }
  }
  for (const auto& segment : plan["segments"]) {
    // Where the CPU stands in for the device, its kernels run op by op.
    const SeenOp& first = run.ops[segment["ops"][0].get<size_t>()];
    if (segment["code"] == true && first.backend == segment["backend"]) {
      SeeCode(plan, segment, watch);
    }
  }
  return watch;
}

void SetInputs(const Plan& plan, tenon_session* session, const std::vector<std::string>& inputs) {
  const std::vector<NpyArray> arrays = ReadInputs(plan, inputs, Missing::kRandom);
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::vector<std::byte>& bytes = arrays[i].bytes;
    std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(tenon_session_input(session, i)));
  }
}

void SeeOutputs(const Plan& plan, const tenon_session* session, SeenRun& run) {
  for (size_t i = 0; i < plan.OutputCount(); ++i) {
    const tenon_port_info port = plan.Output(i);
    const auto* data = static_cast<const std::byte*>(tenon_session_output(session, i));
    run.outputs.push_back({port.name, port.dtype, ShapeOf(port), {data, data + port.bytes}, 0});
  }
}

void RunWatched(const Plan& plan, const std::vector<std::string>& inputs, Watch& watch) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < plan.ArenaCount(); ++i) {
    const tenon_arena_info arena = plan.Arena(i);
    blocks.emplace_back(arena.bytes, std::max<size_t>(arena.alignment, 64));
    watch.arenas.push_back({blocks.back().data(), arena.bytes});
  }
  const Block state(tenon_session_state_size(plan.handle()));
  tenon_session* session = nullptr;
  tenon_error error;
  if (tenon_session_create(plan.handle(), state.data(), state.bytes(), watch.arenas.data(),
                           watch.arenas.size(), &session, &error) != TENON_OK) {
    Fail(kDeviceFailure, "session: {}", error.message);
  }
  SetInputs(plan, session, inputs);
  tenon_session_show_tensors(session, 1);
  tenon_trace trace{};
  trace.context = &watch;
  trace.record = [](void* context, size_t op, uint64_t) { static_cast<Watch*>(context)->See(op); };
  trace.clock_nanoseconds = [](void*) { return uint64_t{0}; };
  const tenon_status status = tenon_session_run_traced(session, &trace, &error);
  if (status == TENON_OK) SeeOutputs(plan, session, *watch.run);
  tenon_session_destroy(session);
  if (status != TENON_OK) Fail(kDeviceFailure, "run: {}", error.message);
  if (watch.has_fallen_back) {
    Fail(kDeviceFailure, "a device failed in the run and the CPU took over: run it again");
  }
}

/// The portable kernels under the name of every backend of a plan.
class StandIns {
 public:
  explicit StandIns(const nlohmann::ordered_json& plan) {
    std::set<std::string> names;
    for (const auto& segment : plan["segments"]) names.insert(segment["backend"]);
    names_.assign(names.begin(), names.end());
    for (const std::string& name : names_) {
      backends_.push_back(*tenon_backend_cpu_portable());
      backends_.back().name = name.c_str();
    }
  }
  [[nodiscard]] std::vector<const tenon_backend*> list() const {
    std::vector<const tenon_backend*> list;
    for (const tenon_backend& backend : backends_) list.push_back(&backend);
    return list;
  }

 private:
  std::vector<std::string> names_;
  std::vector<tenon_backend> backends_;
};

Plan OpenWith(const std::string& path, const std::vector<const tenon_backend*>& backends,
              const char* advice) {
  Expected<Plan> plan = Plan::Open(path, 1, backends);
  if (!plan && plan.error().status == TENON_UNSUPPORTED) {
    Fail(kDeviceFailure, "{}: {}{}", path, plan.error().message, advice);
  }
  if (!plan) FailWith(plan.error(), path);
  return std::move(*plan);
}

Plan OpenToSee(const RunToSee& run, const StandIns& reference) {
  constexpr const char* kAdvice =
      " (the portable kernels cannot stand in for all of this plan's: compare with its model)";
  if (!run.backends.empty()) return OpenWith(run.plan, run.backends, "");
  if (run.kernels == RunToSee::Kernels::kReference) {
    return OpenWith(run.plan, reference.list(), kAdvice);
  }
  return OpenPlan(run.plan, 1, run.kernels == RunToSee::Kernels::kPortable);
}

}  // namespace

SeenRun RunAndSee(const RunToSee& run) {
  const nlohmann::ordered_json json = ReadPlanJson(run.plan);
  const StandIns reference(json);
  const Plan plan = OpenToSee(run, reference);
  SeenRun seen;
  for (size_t i = 0; i < plan.OpCount(); ++i) {
    const tenon_op_info op = plan.Op(i);
    seen.ops.push_back({op.name, op.kind, op.backend, op.kernel});
  }
  Watch watch = WatchOf(json, seen);
  RunWatched(plan, run.inputs, watch);
  return seen;
}

}  // namespace tenon::tool
