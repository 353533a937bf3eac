/* Tenon runtime, C interface. No dependencies; fit for firmware.
 *
 * A program loads a plan (made by `tenon convert`), creates a session in memory that it gives,
 * binds inputs and outputs, and runs. Nothing here keeps global state, and nothing allocates after
 * a session is made. Functions marked [host] use the heap, files or threads and are absent from
 * firmware builds.
 *
 * Threads: a tenon_plan is read-only once loaded and may be shared by any number of threads and
 * sessions. A session is used by one thread at a time.
 * Errors: every fallible function returns a tenon_status; where it takes a `tenon_error*` (may be
 * NULL) that says in words what was wrong, where, and what to do.
 * Pointers must not be NULL unless the text says so; a NULL gives TENON_INVALID_ARGUMENT.
 */
#ifndef TENON_TENON_H_
#define TENON_TENON_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_NODISCARD __attribute__((warn_unused_result))
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_NODISCARD
#define TENON_API
#endif

#define TENON_MAX_RANK 8

typedef enum tenon_status {
  TENON_OK = 0,
  TENON_INVALID_ARGUMENT = 1,    /* the caller's mistake: name, shape, type, null, size */
  TENON_FAILED_PRECONDITION = 2, /* right call, wrong moment */
  TENON_CORRUPT_PLAN = 3,        /* the plan is damaged or breaks its own rules */
  TENON_UNSUPPORTED_VERSION = 4, /* made for a newer runtime */
  TENON_UNSUPPORTED = 5,         /* this build lacks a kernel or backend that the plan needs */
  TENON_OUT_OF_MEMORY = 6,       /* given memory too small, or the system has no more */
  TENON_BACKEND_FAILURE = 7,     /* a device or library call failed */
  TENON_DEADLINE_EXCEEDED = 8,   /* a wait outlived its deadline */
  TENON_IO_ERROR = 9             /* a file could not be read */
} tenon_status;

/* Constant English text for a status; never NULL. */
TENON_API const char* tenon_status_text(tenon_status status);

/* Words for the last failed call that was given this struct; NUL-terminated. */
typedef struct tenon_error {
  char message[256];
} tenon_error;

typedef enum tenon_dtype {
  TENON_F32 = 0,
  TENON_F16 = 1,
  TENON_BF16 = 2,
  TENON_F64 = 3,
  TENON_I8 = 4,
  TENON_U8 = 5,
  TENON_I16 = 6,
  TENON_U16 = 7,
  TENON_I32 = 8,
  TENON_U32 = 9,
  TENON_I64 = 10,
  TENON_U64 = 11,
  TENON_BOOL = 12
} tenon_dtype;

/* "f32", "i8", ...; "?" for a number that is no dtype. */
TENON_API const char* tenon_dtype_name(tenon_dtype dtype);
/* Bytes of one element; 0 for a number that is no dtype. */
TENON_API size_t tenon_dtype_bytes(tenon_dtype dtype);

/* An input or output, in the model's own order and layout (row-major). */
typedef struct tenon_port_info {
  const char* name; /* lives as long as the plan */
  tenon_dtype dtype;
  int32_t rank;
  int32_t dims[TENON_MAX_RANK];
  size_t bytes;
} tenon_port_info;

/* ---- Plan -------------------------------------------------------------------------------- */

typedef struct tenon_plan tenon_plan;
typedef struct tenon_backend tenon_backend;

/* The backends linked into the program, from tenon_backend_cpu() and the like. */
typedef struct tenon_backends {
  const tenon_backend* const* list;
  size_t count;
} tenon_backends;

/* [host] CPU backend with every kernel of this build (oneDNN included where built in). */
TENON_API const tenon_backend* tenon_backend_cpu(void);
/* [host] CPU backend with the portable kernels alone; the same as firmware runs. */
TENON_API const tenon_backend* tenon_backend_cpu_portable(void);

/* Bytes of scratch that tenon_plan_check and tenon_plan_load need for this file. Verifies the
 * file's structure and check sums on the way. `bytes` must be aligned to 16. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_scratch_size(const void* bytes, size_t size,
                                                               size_t* scratch_size,
                                                               tenon_error* error);

/* The plan check alone: structure, check sums, placement, order, waits. Touches nothing but
 * `scratch` (aligned to 16, at least tenon_plan_scratch_size). Calls `report` (may be NULL) with
 * every violation in words. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_check(
    const void* bytes, size_t size, void* scratch, size_t scratch_size,
    void (*report)(void* context, const char* violation), void* context, tenon_error* error);

/* Bytes of memory that tenon_plan_load needs for its own state. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_state_size(const void* bytes, size_t size,
                                                             size_t* state_size,
                                                             tenon_error* error);

/* Checks the plan and makes it ready in `state` (aligned to 16). `bytes`, `state` and the backends
 * stay the caller's and must outlive the plan; `scratch` may be freed afterwards. Constants are
 * used in place. With tenon_backend_cpu(), libraries may pack weights on the heap here; free that
 * with tenon_plan_unload. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_load(
    const void* bytes, size_t size, const tenon_backends* backends, int32_t threads, void* state,
    size_t state_size, void* scratch, size_t scratch_size, tenon_plan** plan, tenon_error* error);
/* Every session must have been closed. NULL is allowed. */
TENON_API void tenon_plan_unload(tenon_plan* plan);

/* [host] Maps the file, allocates what tenon_plan_load needs, and loads with `backends`, or with
 * every backend of this build if NULL. `threads`: 1 to 1024. Close with tenon_plan_close. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_open(const char* path,
                                                       const tenon_backends* backends,
                                                       int32_t threads, tenon_plan** plan,
                                                       tenon_error* error);
/* [host] NULL is allowed. */
TENON_API void tenon_plan_close(tenon_plan* plan);

TENON_API size_t tenon_plan_input_count(const tenon_plan* plan);
TENON_API size_t tenon_plan_output_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_input(const tenon_plan* plan, size_t index,
                                                        tenon_port_info* info);
TENON_API TENON_NODISCARD tenon_status tenon_plan_output(const tenon_plan* plan, size_t index,
                                                         tenon_port_info* info);

/* An op of the plan's first program and the kernel that runs it here (where this build or processor
 * lacks the kernel that the plan names, the best other one). Strings live as long as the plan. */
typedef struct tenon_op_info {
  const char* name;
  const char* kind;    /* "conv" */
  const char* backend; /* "cpu" */
  const char* kernel;  /* "cpu.conv.portable" */
  const char* planned_kernel;
  const char*
      worker; /* the board's unit that it is planned for; "" where the plan has one worker */
} tenon_op_info;
TENON_API size_t tenon_plan_op_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_op(const tenon_plan* plan, size_t index,
                                                     tenon_op_info* info);

/* Arenas: one block of memory each, which the caller of tenon_session_create provides. */
typedef struct tenon_arena_info {
  const char* space; /* name of the memory space; lives as long as the plan */
  size_t bytes;
  size_t alignment;
} tenon_arena_info;
TENON_API size_t tenon_plan_arena_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_arena(const tenon_plan* plan, size_t index,
                                                        tenon_arena_info* info);

/* ---- Session ----------------------------------------------------------------------------- */

typedef struct tenon_session tenon_session;

/* Bytes of memory for a session's own state (not its arenas). */
TENON_API size_t tenon_session_state_size(const tenon_plan* plan);

/* Creates a session in `state` (aligned to 16). `arenas` has one pointer per arena of the plan,
 * each with the size and alignment that tenon_plan_arena gives. All stay the caller's and must
 * outlive the session. The plan must outlive it too. */
TENON_API TENON_NODISCARD tenon_status tenon_session_create(const tenon_plan* plan, void* state,
                                                            size_t state_size, void* const* arenas,
                                                            tenon_session** session,
                                                            tenon_error* error);
/* Ends a session made by tenon_session_create; its memory goes back to the caller. NULL allowed. */
TENON_API void tenon_session_destroy(tenon_session* session);

/* [host] Allocates state and arenas, then creates. Close with tenon_session_close. */
TENON_API TENON_NODISCARD tenon_status tenon_session_open(const tenon_plan* plan,
                                                          tenon_session** session,
                                                          tenon_error* error);
/* [host] NULL is allowed. */
TENON_API void tenon_session_close(tenon_session* session);

/* Where to write input `index` before a run, or read output `index` after it: memory inside the
 * arena, so that nothing is copied. A run may overwrite its inputs: write them before every run.
 * Inputs and outputs may share memory: read all outputs before writing an input again. NULL if
 * `index` is out of range. */
TENON_API void* tenon_session_input(tenon_session* session, size_t index);
TENON_API const void* tenon_session_output(const tenon_session* session, size_t index);

/* Uses the caller's memory for input/output `index` from now on, without copying. `data` is
 * aligned to its element and stays valid until the session ends or another is bound; a run never
 * writes to a bound input. `bytes` must equal the port's. NULL goes back to the arena. */
TENON_API TENON_NODISCARD tenon_status tenon_session_bind_input(tenon_session* session,
                                                                size_t index, const void* data,
                                                                size_t bytes, tenon_error* error);
TENON_API TENON_NODISCARD tenon_status tenon_session_bind_output(tenon_session* session,
                                                                 size_t index, void* data,
                                                                 size_t bytes, tenon_error* error);

/* One inference on the calling thread (and the threads of the plan's runner). Allocates nothing.
 * On failure outputs are undefined, and the session may be run again. */
TENON_API TENON_NODISCARD tenon_status tenon_session_run(tenon_session* session,
                                                         tenon_error* error);

/* Calls `record` after every op of tenon_session_run_traced with its duration. */
typedef struct tenon_trace {
  void (*record)(void* context, size_t op, uint64_t nanoseconds);
  void* context;
  uint64_t (*clock_nanoseconds)(void* context);
} tenon_trace;
TENON_API TENON_NODISCARD tenon_status tenon_session_run_traced(tenon_session* session,
                                                                const tenon_trace* trace,
                                                                tenon_error* error);

/* Writable bytes of the loaded plan's own state: what tenon_plan_state_size asked for. */
TENON_API size_t tenon_plan_state_bytes(const tenon_plan* plan);

/* Heap bytes that kernels hold beside arenas and states (packed weights and the like). */
TENON_API size_t tenon_plan_packed_bytes(const tenon_plan* plan);
TENON_API size_t tenon_session_packed_bytes(const tenon_session* session);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_TENON_H_ */
