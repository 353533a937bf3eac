#include "tests/support/scripted_backend.hpp"

#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "backends/cpu/caps/cpu_caps.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "tests/support/scripted_queue.hpp"

namespace tenon::test {
namespace {

constexpr size_t kMostBackends = 8;
constexpr size_t kMostKernels = 48;
constexpr const char* kInjected = "failure on demand";

using Script = ScriptedBackend::Script;

/// Functions of a backend's tables have no context of their own: each backend has a place here.
std::mutex places_mutex;
std::array<Script*, kMostBackends> places{};

const KernelEntry& Portable(size_t index) { return cpu::PortableKernels()[index]; }

/// What `load` and `open` of the kernels make: tokens that count, and fail on demand.
struct Token {
  Script* script;
};

Status MakeToken(void* device, DeviceCall call, void** token) {
  auto* script = static_cast<Script*>(device);
  if (script == nullptr) return Status(StatusCode::kInvalidArgument, "kernel without its device");
  TENON_RETURN_IF_ERROR(script->Pass(call));
  script->tokens.fetch_add(1);
  *token = new Token{script};
  return OkStatus();
}

void FreeToken(void* token) {
  static_cast<Token*>(token)->script->tokens.fetch_sub(1);
  delete static_cast<Token*>(token);
}

Status LoadKernel(const KernelSetup& setup, void** shared) {
  return MakeToken(setup.device, DeviceCall::kLoad, shared);
}

Status OpenKernel(const KernelSetup& setup, void* shared, void** state) {
  if (setup.queue == nullptr || shared == nullptr) {
    return Status(StatusCode::kInvalidArgument, "kernel opened without a queue or its weights");
  }
  return MakeToken(setup.device, DeviceCall::kKernelOpen, state);
}

template <size_t index>
Status RunKernel(const KernelCall& call) {
  return static_cast<ScriptedQueue*>(call.queue)->Run(Portable(index), call);
}

template <size_t... index>
constexpr std::array<Status (*)(const KernelCall&), sizeof...(index)> RunFunctions(
    std::index_sequence<index...>) {
  return {RunKernel<index>...};
}
constexpr auto kRunFunctions = RunFunctions(std::make_index_sequence<kMostKernels>());

// --- device ---------------------------------------------------------------------------------

template <size_t place>
Status OpenDevice(int /*threads*/, void** device) {
  Script* script = nullptr;
  {
    const std::lock_guard lock(places_mutex);
    script = places[place];
  }
  TENON_RETURN_IF_ERROR(script->Pass(DeviceCall::kOpen));
  script->devices.fetch_add(1);
  *device = script;
  return OkStatus();
}

template <size_t... place>
constexpr std::array<Status (*)(int, void**), sizeof...(place)> OpenFunctions(
    std::index_sequence<place...>) {
  return {OpenDevice<place>...};
}
constexpr auto kOpenFunctions = OpenFunctions(std::make_index_sequence<kMostBackends>());

void CloseDevice(void* device) { static_cast<Script*>(device)->devices.fetch_sub(1); }

Status OpenQueue(void* device, Span<const ArenaMemory> arenas, void** queue) {
  auto* script = static_cast<Script*>(device);
  TENON_RETURN_IF_ERROR(script->Pass(DeviceCall::kOpenQueue));
  *queue = new ScriptedQueue(*script, arenas);
  return OkStatus();
}

ScriptedQueue& QueueOf(void* queue) { return *static_cast<ScriptedQueue*>(queue); }
void CloseQueue(void* queue) { delete static_cast<ScriptedQueue*>(queue); }
Status Start(void* queue) { return QueueOf(queue).Start(); }
Status Upload(void* queue, const SharedTensor& tensor) { return QueueOf(queue).Upload(tensor); }
Status Signal(void* queue, const SharedTensor& tensor, void** event) {
  return QueueOf(queue).Signal(tensor, event);
}
Status Submit(void* queue) { return QueueOf(queue).Submit(); }
Status Wait(void* queue, void* event, Deadline deadline) {
  return QueueOf(queue).Wait(event, deadline);
}
Status Drain(void* queue, Deadline deadline) { return QueueOf(queue).Drain(deadline); }
size_t HeldBytes(const void* queue) {
  return static_cast<const ScriptedQueue*>(queue)->held_bytes();
}

}  // namespace

Status Script::Pass(DeviceCall call) {
  const std::lock_guard lock(mutex);
  const auto index = static_cast<size_t>(call);
  ++counts[index];
  Plan& plan = plans[index];
  if (plan.times == 0) return OkStatus();
  if (plan.after > 0) {
    --plan.after;
    return OkStatus();
  }
  --plan.times;
  return Status(plan.code, kInjected);
}

Status Script::BreakRule(const char* rule) {
  rules_broken.fetch_add(1);
  return Status(StatusCode::kFailedPrecondition, rule);
}

Status Script::BeforeKernel() {
  uint32_t delay = 0;
  {
    std::unique_lock lock(mutex);
    if (hangs && kernels_until_hang > 0) {
      --kernels_until_hang;
    } else {
      released.wait(lock, [this] { return !hangs; });
    }
    if (most_delay > 0)
      delay = least_delay + static_cast<uint32_t>(random() % (most_delay - least_delay + 1));
  }
  if (delay > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay));
  return Pass(DeviceCall::kKernel);
}

ScriptedBackend::ScriptedBackend(ScriptedOptions options) : script_(std::make_unique<Script>()) {
  Script& script = *script_;
  script.options = std::move(options);
  size_t place = 0;
  {
    const std::lock_guard lock(places_mutex);
    while (place < kMostBackends && places[place] != nullptr) ++place;
    if (place == kMostBackends) std::abort();
    places[place] = &script;
  }
  script.place = place;
  const KernelList portable = cpu::PortableKernels();
  const auto rename = [&](const char* id) {
    script.ids.push_back(script.options.name + std::string(id).substr(std::string("cpu").size()));
    return script.ids.back().c_str();
  };
  if (portable.size() > kMostKernels) std::abort();
  for (size_t i = 0; i < portable.size(); ++i) {
    KernelEntry entry{};
    entry.id = rename(portable[i].id);
    entry.row = portable[i].row;
    entry.check = portable[i].check;
    entry.load = LoadKernel;
    entry.open = OpenKernel;
    entry.run = kRunFunctions[i];
    entry.close = FreeToken;
    entry.unload = FreeToken;
    entry.in_place_inputs = portable[i].in_place_inputs;
    script.kernels.push_back(entry);
  }
  for (const KernelCaps& caps : cpu::Kernels()) {
    if (!caps.portable) continue;
    script.caps.push_back(caps);
    script.caps.back().id = rename(caps.id);
  }
  script.api = {kOpenFunctions[place],
                CloseDevice,
                OpenQueue,
                CloseQueue,
                Start,
                Upload,
                Signal,
                Submit,
                Wait,
                Drain,
                HeldBytes};
  script.backend = Backend{script.options.name.c_str(),
                           {script.kernels.data(), script.kernels.size()},
                           nullptr,
                           nullptr,
                           &script.api};
}

ScriptedBackend::~ScriptedBackend() {
  CloseQueues();
  const std::lock_guard lock(places_mutex);
  places[script_->place] = nullptr;
}

void ScriptedBackend::CloseQueues() {
  Behave();
  for (ScriptedQueue* left : std::set<ScriptedQueue*>(script_->open_queues)) delete left;
}

const Backend& ScriptedBackend::backend() const { return script_->backend; }

BackendCaps ScriptedBackend::caps() const {
  return {script_->options.name.c_str(), {script_->caps.data(), script_->caps.size()}};
}

void ScriptedBackend::Fail(DeviceCall call, size_t after, size_t times, StatusCode code) {
  const std::lock_guard lock(script_->mutex);
  script_->plans[static_cast<size_t>(call)] = {after, times, code};
}

void ScriptedBackend::Delay(uint32_t least, uint32_t most, uint32_t seed) {
  const std::lock_guard lock(script_->mutex);
  script_->least_delay = least;
  script_->most_delay = most;
  script_->random.seed(seed);
}

void ScriptedBackend::Hang(size_t after) {
  const std::lock_guard lock(script_->mutex);
  script_->hangs = true;
  script_->kernels_until_hang = after;
}

void ScriptedBackend::Release() {
  {
    const std::lock_guard lock(script_->mutex);
    script_->hangs = false;
  }
  script_->released.notify_all();
}

void ScriptedBackend::Behave() {
  {
    const std::lock_guard lock(script_->mutex);
    for (Script::Plan& plan : script_->plans) plan = {};
    script_->least_delay = 0;
    script_->most_delay = 0;
  }
  Release();
}

size_t ScriptedBackend::count(DeviceCall call) const {
  const std::lock_guard lock(script_->mutex);
  return script_->counts[static_cast<size_t>(call)];
}

void ScriptedBackend::ResetCounts() {
  const std::lock_guard lock(script_->mutex);
  for (size_t& count : script_->counts) count = 0;
}

size_t ScriptedBackend::protocol_errors() const { return script_->rules_broken.load(); }
size_t ScriptedBackend::lost_signals() const { return script_->lost.load(); }
size_t ScriptedBackend::open_queues() const {
  const std::lock_guard lock(script_->mutex);
  return script_->open_queues.size();
}
size_t ScriptedBackend::open_devices() const { return script_->devices.load(); }
size_t ScriptedBackend::open_kernels() const { return script_->tokens.load(); }

}  // namespace tenon::test
