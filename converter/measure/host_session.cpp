#include "converter/measure/host_session.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "tenon/tenon.h"

namespace tenon::converter {
namespace {

using Block = std::vector<std::max_align_t>;
Block MakeBlock(size_t bytes) { return Block(bytes / sizeof(std::max_align_t) + 1); }

struct PlanUnloader {
  void operator()(tenon_plan* plan) const { tenon_plan_unload(plan); }
};
struct SessionCloser {
  void operator()(tenon_session* session) const { tenon_session_close(session); }
};

std::vector<const tenon_backend*> BackendsOf(HostKernels kernels) {
  if (kernels == HostKernels::kPortable) return {tenon_backend_cpu_portable()};
  if (kernels == HostKernels::kAll) return {tenon_backend_cpu()};
  std::vector<const tenon_backend*> list(tenon_every_backend(nullptr, 0));
  (void)tenon_every_backend(list.data(), list.size());
  return list;
}

}  // namespace

struct HostSession::State {
  Block file;
  Block memory;
  std::unique_ptr<tenon_plan, PlanUnloader> plan;
  std::unique_ptr<tenon_session, SessionCloser> session;  // closed before the plan

  [[nodiscard]] tenon_port_info Port(bool is_output, size_t i) const {
    tenon_port_info info{};
    const tenon_status status = is_output ? tenon_plan_output(plan.get(), i, &info)
                                          : tenon_plan_input(plan.get(), i, &info);
    return status == TENON_OK ? info : tenon_port_info{};
  }
};

HostSession::HostSession(std::unique_ptr<State> state) : state_(std::move(state)) {}
HostSession::HostSession(HostSession&&) noexcept = default;
HostSession& HostSession::operator=(HostSession&&) noexcept = default;
HostSession::~HostSession() = default;

Result<HostSession> HostSession::Open(const std::vector<uint8_t>& plan, HostKernels kernels) {
  auto state = std::make_unique<State>();
  state->file = MakeBlock(plan.size());
  std::memcpy(state->file.data(), plan.data(), plan.size());
  const void* file = state->file.data();
  tenon_error error{};
  const auto failed = [&]() -> Error {
    if (kernels == HostKernels::kEveryBackend) {
      return Error{ErrorKind::kBackend, error.message, {}};
    }
    return InternalError("a plan made to be run at conversion: {}", error.message);
  };
  size_t scratch_bytes = 0;
  size_t state_bytes = 0;
  if (tenon_plan_scratch_size(file, plan.size(), &scratch_bytes, &error) != TENON_OK ||
      tenon_plan_state_size(file, plan.size(), &state_bytes, &error) != TENON_OK) {
    return failed();
  }
  Block scratch = MakeBlock(scratch_bytes);
  state->memory = MakeBlock(state_bytes);
  const std::vector<const tenon_backend*> list = BackendsOf(kernels);
  const tenon_backends backends{list.data(), list.size()};
  tenon_plan* loaded = nullptr;
  if (tenon_plan_load(file, plan.size(), &backends, 1, state->memory.data(), state_bytes,
                      scratch.data(), scratch_bytes, &loaded, &error) != TENON_OK) {
    return failed();
  }
  state->plan.reset(loaded);
  tenon_session* session = nullptr;
  if (tenon_session_open(loaded, &session, &error) != TENON_OK) return failed();
  state->session.reset(session);
  return HostSession(std::move(state));
}

std::byte* HostSession::Input(size_t i) {
  return static_cast<std::byte*>(tenon_session_input(state_->session.get(), i));
}

Status HostSession::Run() {
  tenon_error error{};
  if (tenon_session_run(state_->session.get(), &error) != TENON_OK) {
    return InputError("{}", error.message);
  }
  return {};
}

size_t HostSession::input_count() const { return tenon_plan_input_count(state_->plan.get()); }

size_t HostSession::InputBytes(size_t i) const { return state_->Port(false, i).bytes; }

DType HostSession::InputType(size_t i) const {
  return static_cast<DType>(state_->Port(false, i).dtype);
}

DType HostSession::OutputType(size_t i) const {
  return static_cast<DType>(state_->Port(true, i).dtype);
}

std::vector<std::pair<std::string, uint64_t>> HostSession::Counters(
    const std::string& backend) const {
  tenon_counter counters[16];
  const size_t count =
      tenon_plan_counters(state_->plan.get(), backend.c_str(), counters, std::size(counters));
  std::vector<std::pair<std::string, uint64_t>> found;
  for (size_t i = 0; i < std::min(count, std::size(counters)); ++i) {
    found.emplace_back(counters[i].name, counters[i].value);
  }
  return found;
}

size_t HostSession::output_count() const { return tenon_plan_output_count(state_->plan.get()); }

Span<const std::byte> HostSession::Output(size_t i) const {
  return {static_cast<const std::byte*>(tenon_session_output(state_->session.get(), i)),
          state_->Port(true, i).bytes};
}

}  // namespace tenon::converter
