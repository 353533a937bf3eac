/* Classifies an image of a digit that is nowhere whole in memory: a camera hands in two rows at a
 * time while the network runs.
 *
 * camera_digits.c was made by `tenon convert --emit=c --input-from image=rows:2` (CMakeLists.txt).
 */
#include <stdint.h>
#include <string.h>

#include "board.h"
#include "camera_digits.h"

_Static_assert(CAMERA_DIGITS_ARENA_COUNT == 2 && CAMERA_DIGITS_INPUT_0_ARENA == 1,
               "one arena to work in, and that of the image, which nobody has");

/* The rows that the network still needs are in the arena. */
static union {
  uint8_t arena[CAMERA_DIGITS_ARENA_0_BYTES], scratch[CAMERA_DIGITS_SCRATCH_BYTES];
} memory __attribute__((aligned(CAMERA_DIGITS_ARENA_0_ALIGNMENT)));
static uint8_t state[CAMERA_DIGITS_STATE_BYTES] __attribute__((aligned(16)));

/* Stands for a sensor behind an interface that gives bytes, pixel after pixel: its scene is a .npy
 * file in flash (samples.S), of floats between 0 and 1. */
extern const uint8_t image_npy[];
typedef struct Camera {
  const uint8_t* next; /* of the scene */
  unsigned rows;       /* that were read */
} Camera;
enum { kSide = 8, kBrightest = 16 };

static void StartFrame(Camera* camera) {
  /* Array data come after a header whose size stands in the file (NumPy's format, version 1). */
  camera->next = image_npy + 10 + image_npy[8] + 256 * image_npy[9];
  camera->rows = 0;
}

/* A tenon_row_source: called between ops, as soon as rows are needed. A real one would wait here
 * for the DMA that has filled a line, and start the next. */
static int32_t ReadRows(void* context, size_t input, void* rows, size_t bytes) {
  Camera* const camera = context;
  uint8_t* const pixels = rows;
  (void)input; /* there is only one */
  for (size_t i = 0; i < bytes; ++i) {
    float light;
    memcpy(&light, camera->next, sizeof light);
    camera->next += sizeof light;
    pixels[i] = (uint8_t)(light * kBrightest + 0.5f);
  }
  camera->rows += (unsigned)(bytes / kSide);
  return 0;
}

static tenon_status Open(tenon_plan** plan, tenon_session** session) {
  tenon_status status =
      tenon_plan_load(camera_digits_plan, CAMERA_DIGITS_PLAN_BYTES, &camera_digits_backends, 1,
                      state, sizeof state, &memory, sizeof memory, plan, NULL);
  if (status != TENON_OK) return status;
  const size_t used = (tenon_plan_state_bytes(*plan) + 15) / 16 * 16;
  const tenon_memory memories[] = {{&memory, sizeof memory}, {NULL, 0}};
  return tenon_session_create(*plan, state + used, sizeof state - used, memories, 2, session, NULL);
}

int main(void) {
  tenon_plan* plan;
  tenon_session* session;
  tenon_status status = Open(&plan, &session);
  Camera camera;
  StartFrame(&camera);
  const tenon_row_source source = {ReadRows, &camera};
  if (status == TENON_OK) status = tenon_session_run_rows(session, &source, NULL);
  if (status != TENON_OK) {
    board_print(tenon_status_text(status));
    board_print("\n");
    return 1;
  }
  const float* const scores = tenon_session_output(session, 0);
  int best = 0;
  for (int i = 1; i < CAMERA_DIGITS_OUTPUT_0_ELEMENTS; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  board_print("camera: class ");
  board_print_number(best);
  board_print(", ");
  board_print_number((int)camera.rows);
  board_print(" rows, arena of ");
  board_print_number(CAMERA_DIGITS_ARENA_0_BYTES);
  board_print(" bytes\n");
  return 0;
}
