/* Tenon runtime, C interface: streams of inputs. Part of tenon.h, and not in firmware builds. */
#ifndef TENON_STREAM_H_
#define TENON_STREAM_H_

#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [host] Successive inputs of one plan, several under way at once: handed in one by one, each
 * getting a ticket, and awaited by ticket. A stream has *replicas*, which share the plan's
 * constants and packed weights and have arenas of their own; each input goes to a replica as soon
 * as one is free. Each replica executes its inputs in one of these ways. */
typedef struct tenon_stream tenon_stream;

typedef enum tenon_stream_mode {
  TENON_STREAM_SEQUENTIAL = 0,  /* one thread, one input at a time */
  TENON_STREAM_PIPELINE = 1,    /* a thread per worker, the stages on successive inputs, in order */
  TENON_STREAM_INTER = 2,       /* one input at a time, a thread per worker of the plan */
  TENON_STREAM_INTER_INTRA = 3, /* the same, and threads that wait share the ops of the others */
  TENON_STREAM_MODE_LARGEST_ = 0x7FFFFFFF /* no mode: any int fits, so wrong ones can be refused */
} tenon_stream_mode;

/* All zero: one replica, sequential. A stream has its replicas times the program's workers
 * (pipeline, inter) threads; each of them shares ops between as many threads as tenon_plan_open was
 * given, except in mode inter-intra, where the workers' threads are all there is. So to stay within
 * a budget, open the plan with the budget divided by the stream's threads. */
typedef struct tenon_stream_options {
  tenon_stream_mode mode;
  size_t replicas;    /* 0: 1 */
  size_t queue_depth; /* inputs that may wait for a replica, 2^20 at most; 0: one per replica */
  size_t results;     /* outcomes kept for those who wait for them, 2^20 at most; 0: 256 */
  /* The longest that a stage may wait for its device, in nanoseconds; 0: 10 seconds. */
  uint64_t device_timeout_ns;
  /* Is told in words when a device failed and the CPU took over. May be NULL; is called on the
   * stream's threads, on several at once. The text is gone after the call. */
  void (*notice)(void* context, const char* text);
  void* notice_context;
  /* Is told how long every op took, as by tenon_session_run_traced; NULL: nobody is. Copied. Both
   * functions are called on the stream's threads, on several at once. Ops that could run together
   * then run one by one, and devices are waited for after each. */
  const tenon_trace* trace;
} tenon_stream_options;

/* [host] `options` may be NULL: all zero. The plan must outlive the stream.
 * TENON_FAILED_PRECONDITION if the plan's program cannot be run in this mode: the words say how to
 * convert one that can. */
TENON_API TENON_NODISCARD tenon_status tenon_stream_open(const tenon_plan* plan,
                                                         const tenon_stream_options* options,
                                                         tenon_stream** stream, tenon_error* error);

/* [host] Completes every input that was handed in, then ends the stream's threads. Waits for
 * devices end (device_timeout_ns), so this does too. No other call on the stream may be under way.
 * NULL is allowed. In a process that was forked from the one that opened it: ends nothing and frees
 * nothing, since its threads are not there; all other functions give TENON_FAILED_PRECONDITION. */
TENON_API void tenon_stream_close(tenon_stream* stream);

/* [host] Hands in one input. `inputs` has an address per input of the plan, `outputs` one per
 * output, each of the port's size and aligned to its element; the arrays of addresses are copied,
 * what they point to is used directly and stays valid, inputs unchanged, until the ticket is over;
 * nothing touches it later, not even a device that did not answer in time and goes on. An output
 * must not overlap another, or an input (TENON_INVALID_ARGUMENT), nor what a submit before it,
 * which is not over, uses (which nobody looks for). Any number of threads may submit, wait and ask
 * for statistics at once. Where as many inputs are in flight as replicas, rings and queue hold, or
 * as many outcomes as `results` have not been collected, this waits: TENON_DEADLINE_EXCEEDED after
 * `timeout_ns` (UINT64_MAX: never), and nothing was submitted. Tickets are 1, 2, 3 and so on. */
TENON_API TENON_NODISCARD tenon_status tenon_stream_submit(tenon_stream* stream,
                                                           const void* const* inputs,
                                                           void* const* outputs,
                                                           uint64_t timeout_ns, uint64_t* ticket,
                                                           tenon_error* error);

/* [host] Waits for the input with this ticket and gives its outcome, once: TENON_OK, or the error
 * of the stage that failed (its outputs are then undefined; other inputs are not concerned).
 * TENON_DEADLINE_EXCEEDED always means: not over after `timeout_ns`, the memory is still in use,
 * wait again. (A device that does not answer ends a ticket with TENON_BACKEND_FAILURE.)
 * TENON_INVALID_ARGUMENT always means: no such ticket, or its outcome has been given already. (What
 * an op refuses in its input, an index out of range say, ends a ticket with
 * TENON_FAILED_PRECONDITION.) Tickets may be waited for in any order; one replica completes them in
 * the order in which it got them. */
TENON_API TENON_NODISCARD tenon_status tenon_stream_wait(tenon_stream* stream, uint64_t ticket,
                                                         uint64_t timeout_ns, tenon_error* error);

/* [host] Sets what the program keeps from input to input to what the model starts with, as opening
 * the stream does: for the first input of another recording, say. Nobody may submit meanwhile.
 * TENON_FAILED_PRECONDITION: an input is under way, wait for it first. Programs without state: does
 * nothing. */
TENON_API TENON_NODISCARD tenon_status tenon_stream_reset(tenon_stream* stream, tenon_error* error);

/* [host] Runs a batch that is given in one call: `rows` rows of every input along its first
 * dimension, which replicas work on side by side, a shard at a time, and whose results land in the
 * same rows of the outputs. `inputs` and `outputs` are as in submit, but each has `rows` rows where
 * the plan's port has as many as a shard. Returns when all rows are over; the error is that of the
 * first rows that failed, by the codes of wait. One batch of a stream runs at a time; others wait.
 * Tickets of submit that nobody has waited for take room: a batch waits until there is some, for
 * ever if nobody collects them.
 *
 * A program whose ports have one row takes any number. So does the program `shards`
 * (--parallel=replicas), whose rows the converter has proven to be apart: rows that are left over
 * when shards have been dealt are no problem. Any other program takes as many rows as its ports
 * have; TENON_FAILED_PRECONDITION says so. */
TENON_API TENON_NODISCARD tenon_status tenon_stream_run_batch(tenon_stream* stream, size_t rows,
                                                              const void* const* inputs,
                                                              void* const* outputs,
                                                              tenon_error* error);
/* What a stream holds, and what it has done so far. */
typedef struct tenon_stream_stats {
  size_t replicas;
  size_t stages;          /* of each replica */
  size_t channels;        /* of each replica */
  size_t threads;         /* of the stream; times the plan's threads: in all */
  size_t in_flight_limit; /* submit waits when so many are submitted and not completed */
  /* Writable bytes of all replicas: arenas with all ring slots; states, what kernels and devices
   * hold for them, and the stream's own. The plan's (tenon_plan_packed_bytes) are not in it. */
  size_t arena_bytes;
  size_t other_bytes;
  uint64_t submitted;
  uint64_t completed; /* with a result or an error */
  uint64_t failed;
  uint64_t most_in_flight; /* so far */
  uint64_t submit_stalls;  /* submits that had to wait */
} tenon_stream_stats;
TENON_API TENON_NODISCARD tenon_status tenon_stream_get_stats(const tenon_stream* stream,
                                                              tenon_stream_stats* stats);

/* What one stage of one replica has done since the stream was opened. Waits that are not over yet
 * are not in it. Throughput cannot be more than 1 / (the largest busy_ns / inputs). */
typedef struct tenon_stage_stats {
  const char* name;    /* of its worker; lives as long as the plan */
  uint64_t inputs;     /* done, failed and skipped ones too */
  uint64_t failed;     /* in this stage */
  uint64_t busy_ns;    /* executing, waits for its device included */
  uint64_t starved_ns; /* waiting for an input, or for an earlier stage */
  uint64_t blocked_ns; /* waiting for a free slot in a channel that it writes */
} tenon_stage_stats;
TENON_API TENON_NODISCARD tenon_status tenon_stream_get_stage_stats(const tenon_stream* stream,
                                                                    size_t replica, size_t stage,
                                                                    tenon_stage_stats* stats);

/* One ring of buffers between stages, over all replicas. */
typedef struct tenon_channel_stats {
  size_t from;         /* stage that writes */
  size_t to;           /* last stage that reads */
  size_t depth;        /* slots */
  uint64_t stalls;     /* times that the writer found it full */
  uint64_t stalled_ns; /* and how long it waited */
} tenon_channel_stats;
TENON_API TENON_NODISCARD tenon_status tenon_stream_get_channel_stats(const tenon_stream* stream,
                                                                      size_t channel,
                                                                      tenon_channel_stats* stats);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TENON_STREAM_H_ */
