/* A second check of plan files, in plain C: bounds, alignment, order and overlap.
 *
 * It was written from docs/plan-format.md and sdk/schema/plan.fbs, shares no code with the runtime,
 * reads the FlatBuffer by hand, and proves by the dullest means there are: a map with the writer of
 * each byte, and the whole relation of what happens before what. It is slow, and refuses what is
 * too large for that. What it does not look at: check sums, kinds of ops, attributes, names of
 * kernels, what devices exchange with the host, code of segments, sources of groups, scales. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum second_class {
  SECOND_PASSED,
  SECOND_STRUCTURE, /* the FlatBuffer leads out of itself, or is of another version */
  SECOND_BOUNDS,    /* a number that names or measures something is out of range */
  SECOND_ALIGNMENT,
  SECOND_ORDER,   /* a step or wait that cannot be, or a read before the write */
  SECOND_OVERLAP, /* bytes that two have at once */
  SECOND_TOO_LARGE
};

struct second_answer {
  enum second_class found;
  char reason[160];
};

/* Looks at the plan in `file`, at any address. `answer` gets what is wrong first. */
void second_check(const uint8_t* file, size_t bytes, struct second_answer* answer);

#ifdef __cplusplus
}
#endif
