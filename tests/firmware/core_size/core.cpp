// A firmware that has the whole runtime core and no kernel: it calls every function of tenon.h that
// is not [host] (size.py looks). Its text less that of nothing.cpp is the core's size. Never run.
#include "sdk/include/tenon/tenon.h"

namespace {

constexpr tenon_backend kEmpty = {"cpu", nullptr, nullptr, 0, {nullptr, nullptr}, nullptr};
const tenon_backend* const kBackends[] = {&kEmpty};

// The compiler must not know any of this.
const void* volatile plan_file;
void* volatile memory;
volatile size_t number;
const char* volatile text;

size_t UsePlan(tenon_plan* plan) {
  tenon_port_info port;
  tenon_op_info op;
  tenon_arena_info arena;
  size_t failures = tenon_plan_input(plan, number, &port) != TENON_OK;
  failures += tenon_plan_output(plan, number, &port) != TENON_OK;
  failures += tenon_plan_verify(plan, nullptr) != TENON_OK;
  failures += tenon_plan_op(plan, number, &op) != TENON_OK;
  failures += tenon_plan_arena(plan, number, &arena) != TENON_OK;
  return failures + tenon_dtype_bytes(port.dtype) + tenon_plan_input_count(plan) +
         tenon_plan_output_count(plan) + tenon_plan_op_count(plan) + tenon_plan_arena_count(plan) +
         tenon_plan_state_bytes(plan);
}

size_t UseSession(const tenon_plan* plan) {
  tenon_error error;
  tenon_session* session = nullptr;
  size_t failures = tenon_session_create(plan, memory, tenon_session_state_size(plan),
                                         static_cast<const tenon_memory*>(memory), number, &session,
                                         &error) != TENON_OK;
  memory = tenon_session_input(session, number);
  plan_file = tenon_session_output(session, number);
  failures += tenon_session_bind_input(session, number, memory, number, &error) != TENON_OK;
  failures += tenon_session_bind_output(session, number, memory, number, &error) != TENON_OK;
  failures += tenon_session_set_cache_hooks(session, nullptr, &error) != TENON_OK;
  failures += tenon_session_run(session, &error) != TENON_OK;
#ifndef TENON_WITHOUT_INPUT_ROWS
  failures += tenon_session_run_rows(session, nullptr, &error) != TENON_OK;
#endif
#ifndef TENON_WITHOUT_STATE
  failures += tenon_session_reset(session, &error) != TENON_OK;
#endif
  failures += tenon_session_run_traced(session, nullptr, &error) != TENON_OK;
  tenon_session_destroy(session);
  return failures;
}

}  // namespace

int main() {
  tenon_error error;
  const tenon_backends backends = {kBackends, 1};
  size_t state = 0;
  size_t scratch = 0;
  tenon_plan* plan = nullptr;
  tenon_status status = tenon_plan_scratch_size(plan_file, number, &scratch, &error);
  text = tenon_status_text(status);
  status = tenon_plan_check(plan_file, number, memory, scratch, nullptr, nullptr, &error);
  text = tenon_status_text(status);
  status = tenon_plan_state_size(plan_file, number, &state, &error);
  text = tenon_status_text(status);
  status = tenon_plan_load(plan_file, number, &backends, 1, memory, state, memory, scratch, &plan,
                           &error);
  text = tenon_status_text(status);
  const size_t failures = UsePlan(plan) + UseSession(plan);
  tenon_plan_unload(plan);
  return static_cast<int>(failures);
}
