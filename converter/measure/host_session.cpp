#include "converter/measure/host_session.hpp"

#include <cstring>

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

}  // namespace

struct HostSession::State {
  Block file;
  Block memory;
  std::unique_ptr<tenon_plan, PlanUnloader> plan;
  std::unique_ptr<tenon_session, SessionCloser> session;  // closed before the plan
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
  const auto failed = [&] {
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
  const tenon_backend* backend =
      kernels == HostKernels::kPortable ? tenon_backend_cpu_portable() : tenon_backend_cpu();
  const tenon_backends backends{&backend, 1};
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

size_t HostSession::output_count() const { return tenon_plan_output_count(state_->plan.get()); }

Span<const std::byte> HostSession::Output(size_t i) const {
  tenon_port_info info;
  if (tenon_plan_output(state_->plan.get(), i, &info) != TENON_OK) return {};
  return {static_cast<const std::byte*>(tenon_session_output(state_->session.get(), i)),
          info.bytes};
}

}  // namespace tenon::converter
