/* Tenon runtime, for tools that look into a run: `tenon diff` is one. Hosts only. Not for programs
 * that ship: what is here makes runs slow, and may change with the library. */
#ifndef TENON_DEBUG_H_
#define TENON_DEBUG_H_

#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether traced runs of the session (tenon_session_run_traced) from now on show what ops on
 * devices write: when an op is recorded, its outputs lie in the session's arenas, where the plan
 * has them, whether the host needs them or not. Ops run one by one then, and each tensor is copied
 * from the device. Segments that a device runs as one piece of code show what
 * leaves them.
 * `shows`: 0 or 1. Between runs only; a session that is not open: nothing happens. */
TENON_API void tenon_session_show_tensors(tenon_session* session, int32_t shows);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_DEBUG_H_ */
