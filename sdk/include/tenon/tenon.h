/* Tenon runtime, C interface. No dependencies; fit for firmware.
 *
 * A program loads a plan (made by `tenon convert`), creates a session in memory that it gives,
 * binds inputs and outputs, and runs. Nothing here keeps global state, and nothing allocates after
 * a session is made. Functions marked [host] use the heap, files, threads, devices or several
 * programs and are absent from firmware builds.
 *
 * Firmware: everything that is not marked [host] works without operating system, heap, exceptions
 * and C library (memcpy, memmove, memset and memcmp apart), on one thread.
 *  - Memory. The plan is used where it lies (flash, 16-aligned) and only read: whenever power
 *    fails, it is what it was, and the next start begins with tenon_plan_load. Written are `state`,
 *    `scratch`, arenas and memory bound to outputs, all given by the caller and none of them needed
 *    before or after. Scratch is needed in tenon_plan_check and tenon_plan_load only: it may be the
 *    memory that arenas and session states are made of later.
 *  - When. Any function may be called from tasks and interrupt handlers alike, but no two calls on
 *    the same session, or with the same scratch or state, may be under way at once, an interrupted
 *    one included: sessions are not reentrant. Functions that read a loaded plan may. Nothing waits
 *    or masks interrupts. Kernels use floating-point and vector registers: save them around.
 *  - Misuse gives a status: a session whose plan was unloaded or loaded again, a handle that was
 *    destroyed, memory too small, misaligned or given twice. Handles must point to memory that is
 *    there: one into memory that has been freed or never was is beyond what can be seen.
 *  - Stack: less than 1.5 KB beside what kernels take (docs/firmware-runtime.md); nothing recurses
 *    deeper than the file format nests.
 *
 * Threads: a tenon_plan is read-only once loaded and may be shared by any number of threads and
 * sessions. A session is used by one thread at a time; on hosts a call that another thread's has
 * not let in yet gives TENON_FAILED_PRECONDITION and does nothing.
 * Processes: a child of fork() has none of its parent's threads and cannot use its devices. What it
 * has copies of: plans for the CPU and their sessions run there, on one thread; sessions with
 * devices run on the CPU if the plan was made with --fallback, else they and all functions of
 * streams give TENON_FAILED_PRECONDITION; closing returns at once. Open what is to be fast in the
 * child itself. No other thread may be in a call of this library while the process forks.
 * Errors: every fallible function returns a tenon_status; where it takes a `tenon_error*` (may be
 * NULL) that says in words what was wrong, where, and what to do.
 * Pointers must not be NULL unless the text says so; a NULL gives TENON_INVALID_ARGUMENT.
 */
#ifndef TENON_TENON_H_
#define TENON_TENON_H_

#include <stddef.h>
#include <stdint.h>

#include "tenon/version.h"

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

/* The version of the library that the program is linked with: "0.1.0", and as TENON_VERSION_NUMBER
 * counts. version.h has that of the headers that it was compiled with. At any time. */
TENON_API const char* tenon_version(void);
TENON_API uint32_t tenon_version_number(void);

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
  TENON_IO_ERROR = 9,            /* a file could not be read */
} tenon_status;

/* Constant English text for a status; never NULL. At any time. */
TENON_API const char* tenon_status_text(tenon_status status);

/* Describes the last failed call that was given this struct; NUL-terminated. "" after a call that
 * succeeded. Firmware gives numbers instead of text, "error 3a7f (5)", unless it is built with
 * TENON_ERROR_WORDS; scripts/explain.py says what they mean. */
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
  TENON_BOOL = 12,
  TENON_DTYPE_LARGEST_ =
      0x7FFFFFFF /* no dtype: the type is an int, whatever the compiler makes of enums */
} tenon_dtype;

/* [host] "f32", "i8", ...; "?" for a number that is no dtype. */
TENON_API const char* tenon_dtype_name(tenon_dtype dtype);
/* Bytes of one element; 0 for a number that is no dtype. At any time. */
TENON_API size_t tenon_dtype_bytes(tenon_dtype dtype);

/* An input or output, in the model's own order and layout (row-major). */
typedef struct tenon_port_info {
  const char* name; /* lives as long as the plan */
  tenon_dtype dtype;
  int32_t rank;
  int32_t dims[TENON_MAX_RANK];
  size_t bytes;
  /* A quantized i8 or u8 stands for (q - zero_point) * scale; scale 0: it is not quantized. */
  float scale;
  int32_t zero_point;
} tenon_port_info;

/* ---- Plan -------------------------------------------------------------------------------- */

typedef struct tenon_plan tenon_plan;
typedef struct tenon_backend tenon_backend;

/* A kernel linked into the program. Its link name is `tenon_kernel_` and its id with '_' for '.':
 *   extern const tenon_kernel tenon_kernel_cpu_conv_portable;  // "cpu.conv.portable"
 */
typedef struct tenon_kernel tenon_kernel;

/* A backend: a name and its kernels, best first. Firmware has one of its own, a constant made with
 * TENON_BACKEND_CPU_OF, so that no other kernels are linked than those that it names; what
 * `tenon convert --emit=c` writes has it ready. Members are the runtime's business. */
struct tenon_backend {
  const char* name;
  const tenon_kernel* table;
  const tenon_kernel* const* kernels;
  size_t kernel_count;
  void (*hooks[2])(void);
  const void* device;
};
/* The initialiser of a CPU backend with the kernels of an array of addresses:
 *   static const tenon_kernel* const kKernels[] = {&tenon_kernel_cpu_conv_portable};
 *   static const tenon_backend kCpu = TENON_BACKEND_CPU_OF(kKernels);
 */
#define TENON_BACKEND_CPU_OF(array) \
  { "cpu", NULL, (array), sizeof(array) / sizeof *(array), {NULL, NULL}, NULL }

/* The backends linked into the program: a constant of its own, tenon_backend_cpu() and the like. */
typedef struct tenon_backends {
  const tenon_backend* const* list;
  size_t count;
} tenon_backends;

/* [host] CPU backend with every kernel of this build. */
TENON_API const tenon_backend* tenon_backend_cpu(void);
/* [host] CPU backend with the portable kernels alone; the same as firmware runs. */
TENON_API const tenon_backend* tenon_backend_cpu_portable(void);
/* [host] OpenCL backend; NULL where this build has none. OpenCL itself is looked for when a plan
 * that needs it is loaded; a program that has this backend starts without. Environment:
 * TENON_OPENCL_DEVICE (part of a device's or platform's name; else the first GPU, accelerator or
 * CPU), TENON_OPENCL_TRANSFER (none, map or copy), TENON_OPENCL_LIBRARY (a file),
 * TENON_CACHE_DIR (where built kernels are kept, in a folder that only this user may write; "off":
 * nowhere). */
TENON_API const tenon_backend* tenon_backend_opencl(void);
/* [host] FPGA backend, on Xilinx XRT; NULL where this build has none. The device is opened when a
 * plan that needs it is loaded. Environment: TENON_FPGA_DEVICE (index or BDF; 0), TENON_FPGA_XCLBIN
 * (the image's path; else share/tenon/accelerator.xclbin under XILINX_XRT), TENON_FPGA_TIMEOUT_S
 * (when a start counts as stuck; 120). */
TENON_API const tenon_backend* tenon_backend_fpga(void);
/* [host] Every backend of this build, the CPU's first. (Where none are given, a plan is opened with
 * the CPU's and those that it names; no other is looked for.) Writes at most `room` of them and
 * returns how many there are. */
TENON_API size_t tenon_every_backend(const tenon_backend** backends, size_t room);
/* [host] That of them with this name, or NULL. */
TENON_API const tenon_backend* tenon_backend_named(const char* name);

/* What a device counts in its work, by the name that its maker gives it. */
typedef struct tenon_counter {
  const char* name;
  uint64_t value;
} tenon_counter;

/* [host] What the device of a plan's backend counted in the work that it ended last. Writes at most
 * `room` of them and returns how many there are: 0 for backends that count nothing. */
TENON_API size_t tenon_plan_counters(const tenon_plan* plan, const char* backend,
                                     tenon_counter* counters, size_t room);

/* What a walk through a backend's memory found. */
typedef struct tenon_memory_test {
  uint64_t wrong_bytes;     /* that were not as they had been written */
  uint64_t first_wrong;     /* the place of the first of them */
  double write_bytes_per_s; /* to the device; of a backend without one: of this processor */
  double read_bytes_per_s;  /* back from it */
} tenon_memory_test;

/* [host] Writes patterns to `bytes` of the memory that a backend works in and reads them back, in
 * both polarities. Takes seconds where a device is far. */
TENON_API TENON_NODISCARD tenon_status tenon_backend_test_memory(const tenon_backend* backend,
                                                                 size_t bytes,
                                                                 tenon_memory_test* test,
                                                                 tenon_error* error);

/* Bytes of scratch that tenon_plan_check and tenon_plan_load need for this file. Verifies the
 * file's structure and its header's check sum on the way. `bytes` must be aligned to 16. Writes
 * nothing but its result. Firmware can know the figure beforehand: it depends on the file and the
 * processor's pointers alone. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_scratch_size(const void* bytes, size_t size,
                                                               size_t* scratch_size,
                                                               tenon_error* error);

/* The plan check alone: structure, check sums, placement, order, waits. Touches nothing but
 * `scratch` (aligned to 16, at least tenon_plan_scratch_size). Calls `report` (may be NULL) with
 * every violation in words. Firmware need not call it: tenon_plan_load does the same. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_check(
    const void* bytes, size_t size, void* scratch, size_t scratch_size,
    void (*report)(void* context, const char* violation), void* context, tenon_error* error);

/* Bytes of memory that tenon_plan_load needs for its own state: in firmware a byte per op, a
 * pointer per section and less than 100 bytes more. Writes nothing but its result. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_state_size(const void* bytes, size_t size,
                                                             size_t* state_size,
                                                             tenon_error* error);

/* Checks the plan and makes it ready in `state` (aligned to 16). `bytes`, `state` and the backends
 * stay the caller's and must outlive the plan; `scratch` (aligned to 16) may be freed afterwards,
 * or become arenas and session states. Plan, `state` and `scratch` must not overlap. Constants are
 * used in place. `threads`: 1 to 1024, in firmware 1. With tenon_backend_cpu(), libraries may pack
 * weights on the heap here; free that with tenon_plan_unload.
 * Firmware: plans with one worker and no devices (TENON_CORRUPT_PLAN or TENON_UNSUPPORTED else);
 * kernels without heap. Loading another plan into the same `state` ends the one that was there: its
 * sessions answer TENON_FAILED_PRECONDITION from then on. Reads the whole file once (check sums).
 */
TENON_API TENON_NODISCARD tenon_status tenon_plan_load(
    const void* bytes, size_t size, const tenon_backends* backends, int32_t threads, void* state,
    size_t state_size, void* scratch, size_t scratch_size, tenon_plan** plan, tenon_error* error);
/* Every session should have been closed: those left answer TENON_FAILED_PRECONDITION, and what
 * their kernels hold on a heap is lost. NULL and a plan that is already unloaded are allowed. Must
 * come before the file's memory is changed or erased. */
TENON_API void tenon_plan_unload(tenon_plan* plan);

/* Reads the loaded plan's file again: TENON_CORRUPT_PLAN if its check sums do not hold any more.
 * For memory that may change under a plan (failing flash, an update that should have unloaded the
 * plan first): runs trust it. Takes no memory; time as for reading the file once. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_verify(const tenon_plan* plan,
                                                         tenon_error* error);

/* [host] Reads the file into memory of its own, so that whatever happens to the file later does not
 * matter; allocates what tenon_plan_load needs, and loads with `backends`, or with the CPU's and
 * those of this build that the plan names if NULL. `threads`: 1 to 1024. Close with
 * tenon_plan_close. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_open(const char* path,
                                                       const tenon_backends* backends,
                                                       int32_t threads, tenon_plan** plan,
                                                       tenon_error* error);
/* [host] NULL is allowed. */
TENON_API void tenon_plan_close(tenon_plan* plan);

/* [host] A plan file holds one or more programs over the same constants: ways to compute the same
 * outputs from the same inputs. tenon_plan_load and tenon_plan_open make the first one ready; this
 * one the one called `program` ("pipeline", say; NULL: the first). TENON_FAILED_PRECONDITION if the
 * file has none of that name: the words say how to convert for it. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_open_program(const char* path,
                                                               const char* program,
                                                               const tenon_backends* backends,
                                                               int32_t threads, tenon_plan** plan,
                                                               tenon_error* error);

/* [host] As tenon_plan_open_program, but the plan stays in the file: processes that open the same
 * one share its memory, which the system can drop and read again. While the plan is open nobody may
 * write to the file or make it shorter (renaming another one over it is safe): the process would
 * read other numbers than were checked, or be ended by SIGBUS, here and in tenon_plan_verify. */
TENON_API TENON_NODISCARD tenon_status tenon_plan_open_mapped(const char* path, const char* program,
                                                              const tenon_backends* backends,
                                                              int32_t threads, tenon_plan** plan,
                                                              tenon_error* error);

typedef struct tenon_program_info {
  const char* name;    /* lives as long as the plan */
  int32_t is_pipeline; /* its workers are stages of a pipeline */
  int32_t is_loaded;   /* it is what this plan's sessions and streams run */
  size_t workers;
} tenon_program_info;
/* [host] All programs of the file, loaded or not. Firmware runs the first. */
TENON_API size_t tenon_plan_program_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_program(const tenon_plan* plan, size_t index,
                                                          tenon_program_info* info);

/* Describe the inputs and outputs, in the model's order. Any number of these may be under way at
 * once, on the same plan too. Without a loaded plan: 0, or TENON_INVALID_ARGUMENT. */
TENON_API size_t tenon_plan_input_count(const tenon_plan* plan);
TENON_API size_t tenon_plan_output_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_input(const tenon_plan* plan, size_t index,
                                                        tenon_port_info* info);
TENON_API TENON_NODISCARD tenon_status tenon_plan_output(const tenon_plan* plan, size_t index,
                                                         tenon_port_info* info);

/* An op of the loaded program and the kernel that runs it here (where this build or processor
 * lacks the kernel that the plan names, the best other one). Strings live as long as the plan. */
typedef struct tenon_op_info {
  const char* name;
  const char* kind;    /* "conv" */
  const char* backend; /* "cpu" */
  const char* kernel;  /* "cpu.conv.portable"; with a variant that the plan names, "id:variant" */
  const char* planned_kernel;
  const char*
      worker; /* the board's unit that it is planned for; "" where the plan has one worker */
} tenon_op_info;
/* Ops are counted as the plan lists them: tenon_trace reports them by these numbers. */
TENON_API size_t tenon_plan_op_count(const tenon_plan* plan);
TENON_API TENON_NODISCARD tenon_status tenon_plan_op(const tenon_plan* plan, size_t index,
                                                     tenon_op_info* info);

/* Arenas: one block of memory each, which the caller of tenon_session_create provides. A plan has
 * one for each memory space that it uses ("sram", "psram"): give each memory of that kind. */
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

/* Bytes of memory for a session's own state (not its arenas): in firmware less than 150 bytes, a
 * pointer per arena, 8 bytes per input and output, and 20 per operand of the op with the most. 0
 * without a loaded plan. */
TENON_API size_t tenon_session_state_size(const tenon_plan* plan);

/* A block of memory that the caller provides. */
typedef struct tenon_memory {
  void* data;
  size_t bytes;
} tenon_memory;

/* Creates a session in `state` (aligned to 16). `arenas` has one block per arena of the plan, in
 * the plan's order (`arena_count` is tenon_plan_arena_count), each with at least the size and
 * alignment that tenon_plan_arena gives. An arena of space "input:NAME" is memory of the caller's
 * own with an input in it, which runs only read; so is one of "rows:NAME", but it may be {NULL, 0}:
 * see tenon_session_run_rows. No two of the state, the arenas, the plan and the plan's state may
 * overlap. All stay the caller's and must outlive the session. The plan must outlive it too. Arenas
 * need no content; several sessions may have the same arenas if no run of one begins before the
 * outputs of another have been read, and if the plan keeps no state. */
TENON_API TENON_NODISCARD tenon_status tenon_session_create(
    const tenon_plan* plan, void* state, size_t state_size, const tenon_memory* arenas,
    size_t arena_count, tenon_session** session, tenon_error* error);
/* Ends a session made by tenon_session_create; its memory goes back to the caller. Not while it
 * runs. NULL and sessions destroyed already are allowed. */
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
 * `index` is out of range or the session not open. Constant until another memory is bound: firmware
 * may hand the address to a DMA (tenon_session_set_cache_hooks). */
TENON_API void* tenon_session_input(tenon_session* session, size_t index);
TENON_API const void* tenon_session_output(const tenon_session* session, size_t index);

/* Uses the caller's memory for input/output `index` from now on, without copying. `data` is
 * aligned to its element and stays valid until the session ends or another is bound; a run never
 * writes to a bound input, which may lie in read-only memory, and nothing touches bound memory when
 * a run is over, not even a device that did not answer in time. `bytes` must equal the port's.
 * Memory bound to an output must not overlap any other that the session uses, nor an input's an
 * arena, but for the port's own place there: hosts refuse it. NULL goes back to the arena. Between
 * runs only. */
TENON_API TENON_NODISCARD tenon_status tenon_session_bind_input(tenon_session* session,
                                                                size_t index, const void* data,
                                                                size_t bytes, tenon_error* error);
TENON_API TENON_NODISCARD tenon_status tenon_session_bind_output(tenon_session* session,
                                                                 size_t index, void* data,
                                                                 size_t bytes, tenon_error* error);

/* One inference on the calling thread (and the threads of the plan's runner). Allocates nothing.
 * On failure outputs are undefined, state is what it was before, and the session may be run again.
 * Hosts of 64-bit x86 and Arm take subnormal numbers for zeros in ops of the CPU meanwhile.
 * Firmware: takes the same way through the same ops every time, and ends; an interrupt handler may
 * do anything meanwhile but use this session or write to the plan. */
TENON_API TENON_NODISCARD tenon_status tenon_session_run(tenon_session* session,
                                                         tenon_error* error);

/* Hands in inputs by rows, as a camera or a microphone does (docs/inputs.md). */
typedef struct tenon_row_source {
  /* Writes the next `bytes` bytes of input `input`, rows one after another, to `rows`, and returns
   * 0; anything else ends the run with TENON_IO_ERROR. In every run the plan asks for each byte of
   * the input once, from the first row on, a multiple of the N rows of --input-from=NAME=rows:N at
   * a time, but for the last. It may end before the last row, if nothing depends on the rest. */
  int32_t (*next)(void* context, size_t input, void* rows, size_t bytes);
  void* context;
} tenon_row_source;
/* tenon_session_run for inputs that come by rows and have no memory: their arena was given to
 * tenon_session_create with NULL for its memory (tenon_session_input is NULL then), and none is
 * bound. Calls `source` between ops, on this thread. Inputs that have memory are read from there.
 * Absent from firmware built with -DTENON_INPUT_ROWS=OFF. */
TENON_API TENON_NODISCARD tenon_status tenon_session_run_rows(tenon_session* session,
                                                              const tenon_row_source* source,
                                                              tenon_error* error);

/* Sets what the plan keeps from run to run (docs/state.md) to what the model starts with, as
 * creating the session does. Not while it runs. Plans without state: does nothing. */
TENON_API TENON_NODISCARD tenon_status tenon_session_reset(tenon_session* session,
                                                           tenon_error* error);

/* Calls `record` after every op that tenon_session_run_traced runs (not those of a branch that this
 * run does not take: Op.condition in plan.fbs) with its duration, in whatever unit
 * `clock_nanoseconds` counts: firmware may give a cycle counter. The clock must not go back. */
typedef struct tenon_trace {
  void (*record)(void* context, size_t op, uint64_t nanoseconds);
  void* context;
  uint64_t (*clock_nanoseconds)(void* context);
} tenon_trace;
/* tenon_session_run, telling how long each op took. */
TENON_API TENON_NODISCARD tenon_status tenon_session_run_traced(tenon_session* session,
                                                                const tenon_trace* trace,
                                                                tenon_error* error);

/* Keeps caches in step with a DMA, or another processor, that writes inputs or reads outputs
 * without looking into this processor's caches. */
typedef struct tenon_cache_hooks {
  /* Writes changed lines of this memory back; they may stay. */
  void (*clean)(void* context, void* address, size_t bytes);
  /* Forgets what the cache holds of this memory, changed or not. */
  void (*invalidate)(void* context, void* address, size_t bytes);
  void* context;
  size_t line_bytes; /* of the cache: a power of 2, 32 on Cortex-M7 and Cortex-M55 */
  uint32_t inputs;   /* bit i: another bus master writes input i */
  uint32_t outputs;  /* bit i: another bus master reads output i */
} tenon_cache_hooks;
/* From now on every run of the session, failing ones too, calls:
 *  - before its first op `invalidate` for each input marked: begin the run when the transfer is
 * over;
 *  - after its last op `clean` for each input and output marked: begin transfers when the run is
 *    over. (Inputs, as a run may have used their memory: lines written back later would spoil what
 *    the next transfer brings.)
 * An input that is marked must not be written by this processor. The memory of a marked port must
 * start at a multiple of line_bytes, and nothing else may lie in its last line: in an arena that
 * means that its bytes are a multiple too; memory bound to it is the caller's to round up. Else
 * runs answer TENON_FAILED_PRECONDITION and call nothing. Tensors that a plan moves between memory
 * spaces are moved by the processor itself, which needs no hooks; a kernel of one's own that has a
 * DMA do it keeps the caches in step itself. `hooks` is copied; NULL: none. Between runs only. */
TENON_API TENON_NODISCARD tenon_status tenon_session_set_cache_hooks(tenon_session* session,
                                                                     const tenon_cache_hooks* hooks,
                                                                     tenon_error* error);

/* [host] Gives every run from now on `nanoseconds` from its start to hear from devices (a run
 * without devices is not bounded). `monotonic_clock` is the clock of the devices' backends: on a
 * system that has it, CLOCK_MONOTONIC. 0 or no clock: as long as it takes. Sessions made by
 * tenon_session_open begin with 60 s, others without a limit. A device that does not answer in time
 * gives TENON_DEADLINE_EXCEEDED and is not used again by any session of the plan: on later runs the
 * CPU does its work if the plan was made with --fallback, else they fail at once. While it still
 * works on what it was given, runs of that very session fail. */
TENON_API void tenon_session_set_timeout(tenon_session* session, uint64_t nanoseconds,
                                         uint64_t (*monotonic_clock)(void));

/* [host] 1 if a device that did not answer in time may still use this session's state and arenas,
 * and the plan: then none of them may be freed (tenon_session_close gives the session's up for
 * lost). Memory bound to inputs and outputs is not in use. */
TENON_API int32_t tenon_session_is_busy(tenon_session* session);

/* [host] Calls `report` on the running thread whenever a device failed and the CPU took over (plans
 * made with --fallback). NULL: nobody is told. */
TENON_API void tenon_session_set_notice(tenon_session* session,
                                        void (*report)(void* context, const char* notice),
                                        void* context);
/* [host] The words of the last such event of this session, "" if there was none. */
TENON_API const char* tenon_session_notice(const tenon_session* session);
/* [host] Which backends the CPU stands in for from the start, and why; "" if none. */
TENON_API const char* tenon_plan_notice(const tenon_plan* plan);

/* Writable bytes of the loaded plan's own state: what tenon_plan_state_size asked for. 0 without a
 * loaded plan. */
TENON_API size_t tenon_plan_state_bytes(const tenon_plan* plan);

/* [host] Heap bytes that kernels hold beside arenas and states (packed weights and the like). */
TENON_API size_t tenon_plan_packed_bytes(const tenon_plan* plan);
TENON_API size_t tenon_session_packed_bytes(const tenon_session* session);

#ifdef __cplusplus
} /* extern "C" */
#endif

#include "tenon/stream.h"

#endif /* TENON_TENON_H_ */
