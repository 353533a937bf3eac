#include "tests/support/run_plan.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "tests/support/target_runner.hpp"

namespace tenon::test {
namespace {

using Block = std::vector<AlignedUnit>;
Block MakeBlock(size_t bytes) { return Block(bytes / sizeof(AlignedUnit) + 1); }

struct PlanUnloader {
  void operator()(tenon_plan* plan) const { tenon_plan_unload(plan); }
};
struct SessionCloser {
  void operator()(tenon_session* session) const { tenon_session_close(session); }
};

/// One run, with what the settings want done around it.
tenon_status Run(tenon_session& session, const RunSettings& settings, tenon_error& error) {
  if (settings.before_run) settings.before_run();
  const tenon_status status = tenon_session_run(&session, &error);
  if (settings.after_run) settings.after_run();
  return status;
}

RunResult RunBound(const tenon_plan& plan, tenon_session& session,
                   const std::vector<std::vector<std::byte>>& inputs, const RunSettings& settings) {
  RunResult result;
  tenon_error error{};
  const std::vector<std::vector<std::byte>> given = inputs;
  static std::byte nothing[16];  // empty arrays have an address too
  for (size_t i = 0; i < given.size(); ++i) {
    const void* data = given[i].empty() ? nothing : given[i].data();
    if (tenon_session_bind_input(&session, i, data, given[i].size(), &error) != TENON_OK) {
      result.error = error.message;
    }
  }
  for (size_t i = 0; i < tenon_plan_output_count(&plan); ++i) {
    tenon_port_info info;
    if (tenon_plan_output(&plan, i, &info) != TENON_OK) result.error = "no output";
    std::vector<std::byte>& output = result.outputs.emplace_back(info.bytes, std::byte{0xA5});
    void* data = output.empty() ? nothing : output.data();
    if (tenon_session_bind_output(&session, i, data, info.bytes, &error) != TENON_OK) {
      result.error = error.message;
    }
  }
  if (result.error.empty() && Run(session, settings, error) != TENON_OK) {
    result.error = error.message;
  }
  if (given != inputs) result.error = "a run wrote to a bound input";
  return result;
}

/// Loads a plan and calls `use` with it and a session; what goes wrong in words, or empty.
template <typename Use>
std::string WithSession(const std::vector<uint8_t>& plan_bytes, const RunSettings& settings,
                        const Use& use) {
  const PlanBytes file(plan_bytes);
  tenon_error error{};
  const auto failed = [&]() -> std::string {
    return error.message[0] != '\0' ? error.message : "failed without words";
  };
  size_t scratch_bytes = 0;
  size_t state_bytes = 0;
  if (tenon_plan_scratch_size(file.data(), file.size(), &scratch_bytes, &error) != TENON_OK ||
      tenon_plan_state_size(file.data(), file.size(), &state_bytes, &error) != TENON_OK) {
    return failed();
  }
  Block scratch = MakeBlock(scratch_bytes);
  Block state = MakeBlock(state_bytes);
  std::vector<const tenon_backend*> list = settings.others;
  list.push_back(settings.portable ? tenon_backend_cpu_portable() : tenon_backend_cpu());
  if (tenon_backend_opencl() != nullptr) list.push_back(tenon_backend_opencl());
  if (tenon_backend_fpga() != nullptr) list.push_back(tenon_backend_fpga());
  const tenon_backends backends{list.data(), list.size()};
  tenon_plan* raw_plan = nullptr;
  if (tenon_plan_load(file.data(), file.size(), &backends, settings.threads, state.data(),
                      state_bytes, scratch.data(), scratch_bytes, &raw_plan, &error) != TENON_OK) {
    return failed();
  }
  const std::unique_ptr<tenon_plan, PlanUnloader> plan(raw_plan);
  tenon_session* raw_session = nullptr;
  if (tenon_session_open(plan.get(), &raw_session, &error) != TENON_OK) return failed();
  const std::unique_ptr<tenon_session, SessionCloser> session(raw_session);
  return use(*plan, *session);
}

RunResult RunCopied(const tenon_plan& plan, tenon_session& session,
                    const std::vector<std::vector<std::byte>>& inputs,
                    const RunSettings& settings) {
  RunResult result;
  tenon_error error{};
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::copy(inputs[i].begin(), inputs[i].end(),
              static_cast<std::byte*>(tenon_session_input(&session, i)));
  }
  if (Run(session, settings, error) != TENON_OK) {
    result.error = error.message;
    return result;
  }
  for (size_t i = 0; i < tenon_plan_output_count(&plan); ++i) {
    tenon_port_info info;
    if (tenon_plan_output(&plan, i, &info) != TENON_OK) result.error = "no output";
    const auto* data = static_cast<const std::byte*>(tenon_session_output(&session, i));
    result.outputs.emplace_back(data, data + info.bytes);
  }
  return result;
}

bool IsOfThisProcess(const RunSettings& settings) {
  return !settings.others.empty() || settings.before_run || settings.after_run;
}

}  // namespace

RunResult RunPlan(const std::vector<uint8_t>& plan_bytes,
                  const std::vector<std::vector<std::byte>>& inputs, const RunSettings& settings) {
  if (TargetRunner* target = TargetRunner::Find();
      target != nullptr && !IsOfThisProcess(settings)) {
    return target->Run(plan_bytes, inputs, settings);
  }
  RunResult result;
  const std::string error =
      WithSession(plan_bytes, settings, [&](const tenon_plan& plan, tenon_session& session) {
        result = settings.bound ? RunBound(plan, session, inputs, settings)
                                : RunCopied(plan, session, inputs, settings);
        result.notice = tenon_plan_notice(&plan);
        return result.error;
      });
  result.error = error;
  return result;
}

std::string LoadPlan(const std::vector<uint8_t>& plan) {
  return WithSession(plan, {}, [](const tenon_plan&, tenon_session&) { return std::string(); });
}

}  // namespace tenon::test
