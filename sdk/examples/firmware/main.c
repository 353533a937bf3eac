/* Classifies an image of a digit, and where it was built with one a second of speech, on a
 * microcontroller: no operating system, no heap, plans used where they lie in flash.
 *
 * digits.c, digits_int8.c and keywords.c were made by `tenon convert --emit=c` (CMakeLists.txt);
 * the samples are .npy files that the assembler includes (samples.S). */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "digits.h"
#include "digits_int8.h"
#ifdef WITH_KEYWORDS
#include "keywords.h"
#endif

/* One model runs after the other, so they share memory; and a plan's arena is scratch while it is
 * loaded. All sizes are known at compile time. */
static union {
  uint8_t digits_arena[DIGITS_ARENA_0_BYTES], digits_scratch[DIGITS_SCRATCH_BYTES];
  uint8_t digits_int8_arena[DIGITS_INT8_ARENA_0_BYTES];
  uint8_t digits_int8_scratch[DIGITS_INT8_SCRATCH_BYTES];
#ifdef WITH_KEYWORDS
  uint8_t keywords_arena[KEYWORDS_ARENA_0_BYTES], keywords_scratch[KEYWORDS_SCRATCH_BYTES];
#endif
} memory __attribute__((aligned(64)));

/* What the runtime keeps of a plan and of a session. */
static union {
  uint8_t digits[DIGITS_STATE_BYTES], digits_int8[DIGITS_INT8_STATE_BYTES];
#ifdef WITH_KEYWORDS
  uint8_t keywords[KEYWORDS_STATE_BYTES];
#endif
} state __attribute__((aligned(16)));

typedef struct Model {
  const char* name;
  const void* plan;
  size_t plan_bytes;
  const tenon_backends* backends;
  const uint8_t* sample; /* a .npy file */
} Model;

extern const uint8_t image_npy[], sound_npy[];

/* Array data come after a header whose size stands in the file (NumPy's format, version 1). */
static const void* NpyData(const uint8_t* file) { return file + 10 + file[8] + 256 * file[9]; }

/* Index of the largest of the output's scores, as the model quantized them or not. */
static int Best(const tenon_port_info* port, const void* scores) {
  int best = 0;
  const int count = port->dims[port->rank - 1];
  for (int i = 1; i < count; ++i) {
    if (port->dtype == TENON_F32 ? ((const float*)scores)[i] > ((const float*)scores)[best]
                                 : ((const int8_t*)scores)[i] > ((const int8_t*)scores)[best]) {
      best = i;
    }
  }
  return best;
}

static float Score(const tenon_port_info* port, const void* scores, int index) {
  return port->dtype == TENON_F32
             ? ((const float*)scores)[index]
             : (float)(((const int8_t*)scores)[index] - port->zero_point) * port->scale;
}

static tenon_status Run(const tenon_plan* plan, tenon_session* session, const Model* model) {
  tenon_port_info input;
  tenon_port_info output;
  tenon_status status = tenon_plan_input(plan, 0, &input);
  if (status == TENON_OK) status = tenon_plan_output(plan, 0, &output);
  if (status != TENON_OK) return status;
  memcpy(tenon_session_input(session, 0), NpyData(model->sample), input.bytes);
  status = tenon_session_run(session, NULL);
  if (status != TENON_OK) return status;
  const void* scores = tenon_session_output(session, 0);
  const int best = Best(&output, scores);
  board_print(model->name);
  board_print(": class ");
  board_print_number(best);
  board_print(", ");
  board_print_number((int)(Score(&output, scores, best) * 1000 + 0.5f));
  board_print(" per mille\n");
  return TENON_OK;
}

/* The plan's state comes first, the session's follows. Both stay while the model is in use. */
static tenon_status LoadAndRun(const Model* model) {
  tenon_plan* plan;
  tenon_session* session;
  tenon_status status = tenon_plan_load(model->plan, model->plan_bytes, model->backends, 1, &state,
                                        sizeof state, &memory, sizeof memory, &plan, NULL);
  if (status != TENON_OK) return status;
  const size_t plan_bytes = (tenon_plan_state_bytes(plan) + 15) / 16 * 16;
  const tenon_memory arena = {&memory, sizeof memory};
  status = tenon_session_create(plan, (uint8_t*)&state + plan_bytes, sizeof state - plan_bytes,
                                &arena, 1, &session, NULL);
  if (status == TENON_OK) {
    status = Run(plan, session, model);
    tenon_session_destroy(session);
  }
  tenon_plan_unload(plan);
  return status;
}

int main(void) {
  static const Model kModels[] = {
      {"digit", digits_plan, DIGITS_PLAN_BYTES, &digits_backends, image_npy},
      {"digit (8 bits)", digits_int8_plan, DIGITS_INT8_PLAN_BYTES, &digits_int8_backends,
       image_npy},
#ifdef WITH_KEYWORDS
      {"keyword", keywords_plan, KEYWORDS_PLAN_BYTES, &keywords_backends, sound_npy},
#endif
  };
  for (size_t i = 0; i < sizeof kModels / sizeof *kModels; ++i) {
    const tenon_status status = LoadAndRun(&kModels[i]);
    if (status != TENON_OK) {
      board_print(tenon_status_text(status));
      board_print("\n");
      return 1;
    }
  }
  return 0;
}
