/* The smallest firmware that runs a model: its image is measured (image_test.py), and it says how
 * much memory it took. */
#include <string.h>

#include "board.h"
#include "net.h"

static union {
  uint8_t arena[NET_ARENA_0_BYTES];
  uint8_t scratch[NET_SCRATCH_BYTES];
} memory __attribute__((aligned(64)));
static uint8_t state[NET_STATE_BYTES] __attribute__((aligned(16)));

static void Print(const char* name, size_t number) {
  board_print(name);
  board_print_number((int64_t)number);
  board_print("\n");
}

static int Fail(const char* call, tenon_status status) {
  board_print(call);
  board_print(": ");
  board_print(tenon_status_text(status));
  board_print("\n");
  return 1;
}

/* A sum in which every byte counts by its place (Fletcher, "An arithmetic checksum for serial
 * transmissions", 1982). */
static uint32_t Checksum(const uint8_t* bytes, size_t count) {
  uint32_t low = 1;
  uint32_t high = 0;
  for (size_t i = 0; i < count; ++i) {
    low = (low + bytes[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

int main(void) {
  tenon_plan* plan;
  tenon_session* session;
  /* No more than the header promises to be enough. */
  tenon_status status =
      tenon_plan_load(net_plan, NET_PLAN_BYTES, &net_backends, 1, state, sizeof state,
                      memory.scratch, sizeof memory.scratch, &plan, NULL);
  if (status != TENON_OK) return Fail("load", status);
  const size_t plan_bytes = (tenon_plan_state_bytes(plan) + 15) / 16 * 16;
  const tenon_memory arena = {&memory, sizeof memory};
  status = tenon_session_create(plan, state + plan_bytes, sizeof state - plan_bytes, &arena, 1,
                                &session, NULL);
  if (status != TENON_OK) return Fail("create", status);
  uint8_t* input = tenon_session_input(session, 0);
  for (size_t i = 0; i < NET_INPUT_0_BYTES; ++i) input[i] = (uint8_t)(i * 37 % 61);
  status = tenon_session_run(session, NULL);
  if (status != TENON_OK) return Fail("run", status);
  Print("output: ", Checksum(tenon_session_output(session, 0), NET_OUTPUT_0_BYTES));
  Print("states: ", plan_bytes + tenon_session_state_size(plan));
  Print("states promised: ", NET_STATE_BYTES);
  Print("stack: ", board_stack_used());
  return 0;
}
