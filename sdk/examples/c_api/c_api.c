/* Runs a plan on zeros through the C interface, in memory that the program itself provides: the way
 * of firmware, where there is no tenon_plan_open. (Here the memory comes from aligned_alloc.)
 *
 *   c_api PLAN
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

enum { kMaxArenas = 4 };

static void* Allocate(size_t bytes, size_t alignment) {
  return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment + alignment);
}

static void* ReadFile(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  void* bytes = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long end = ftell(file);
    rewind(file);
    *size = end > 0 ? (size_t)end : 0;
    bytes = Allocate(*size, 64);
    if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
      free(bytes);
      bytes = NULL;
    }
  }
  fclose(file);
  return bytes;
}

static int Complain(const char* what, tenon_status status, const tenon_error* error) {
  fprintf(stderr, "c_api: error: %s: %s: %s\n", what, tenon_status_text(status), error->message);
  return 1;
}

static int RunSession(const tenon_plan* plan, void* state, const tenon_memory* arenas,
                      size_t arena_count) {
  tenon_error error = {""};
  tenon_session* session = NULL;
  tenon_status status = tenon_session_create(plan, state, tenon_session_state_size(plan), arenas,
                                             arena_count, &session, &error);
  if (status != TENON_OK) return Complain("create", status, &error);
  for (size_t i = 0; i < tenon_plan_input_count(plan); ++i) {
    tenon_port_info port;
    status = tenon_plan_input(plan, i, &port);
    if (status == TENON_OK) memset(tenon_session_input(session, i), 0, port.bytes);
  }
  status = tenon_session_run(session, &error);
  for (size_t i = 0; status == TENON_OK && i < tenon_plan_output_count(plan); ++i) {
    tenon_port_info port;
    status = tenon_plan_output(plan, i, &port);
    if (status == TENON_OK && port.dtype == TENON_F32) {
      const float* values = tenon_session_output(session, i);
      printf("%s: %zu bytes, first element %g\n", port.name, port.bytes, (double)values[0]);
    }
  }
  tenon_session_destroy(session);
  return status == TENON_OK ? 0 : Complain("run", status, &error);
}

static int RunPlan(const tenon_plan* plan) {
  tenon_memory arenas[kMaxArenas] = {{NULL, 0}};
  const size_t count = tenon_plan_arena_count(plan);
  int result = count <= kMaxArenas ? 0 : 1;
  for (size_t i = 0; i < count && result == 0; ++i) {
    tenon_arena_info arena;
    if (tenon_plan_arena(plan, i, &arena) != TENON_OK) return 1;
    arenas[i].data = Allocate(arena.bytes, arena.alignment);
    arenas[i].bytes = arena.bytes;
    if (arenas[i].data == NULL) result = 1;
  }
  void* state = Allocate(tenon_session_state_size(plan), 16);
  if (result == 0 && state != NULL) result = RunSession(plan, state, arenas, count);
  free(state);
  for (size_t i = 0; i < kMaxArenas; ++i) free(arenas[i].data);
  return result;
}

/* Sizes are asked first, so that firmware can provide the memory as it likes. */
static int LoadAndRun(const void* bytes, size_t size) {
  tenon_error error = {""};
  size_t scratch_size = 0;
  size_t state_size = 0;
  tenon_status status = tenon_plan_scratch_size(bytes, size, &scratch_size, &error);
  if (status == TENON_OK) status = tenon_plan_state_size(bytes, size, &state_size, &error);
  if (status != TENON_OK) return Complain("open", status, &error);

  const tenon_backend* list[1] = {tenon_backend_cpu_portable()};
  const tenon_backends backends = {list, 1};
  void* state = Allocate(state_size, 16);
  void* scratch = Allocate(scratch_size, 16);
  tenon_plan* plan = NULL;
  int result = 1;
  if (state != NULL && scratch != NULL) {
    status = tenon_plan_load(bytes, size, &backends, 1, state, state_size, scratch, scratch_size,
                             &plan, &error);
    result = status == TENON_OK ? RunPlan(plan) : Complain("load", status, &error);
    tenon_plan_unload(plan);
  }
  free(scratch);
  free(state);
  return result;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "c_api: error: usage: c_api PLAN\n");
    return 1;
  }
  size_t size = 0;
  void* bytes = ReadFile(argv[1], &size);
  if (bytes == NULL) {
    fprintf(stderr, "c_api: error: cannot read '%s'\n", argv[1]);
    return 1;
  }
  const int result = LoadAndRun(bytes, size);
  free(bytes);
  return result;
}
