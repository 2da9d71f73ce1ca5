/*
 * Alcor's C interface: puts, gets, messages and collectives over MPI hardware, simulated or on a card.
 *
 * A process is a rank of a run:
 *
 *     alcor_rank_t rank;
 *     if (alcor_init_from_env(NULL, &rank) != ALCOR_OK) { fputs(alcor_error_message(), stderr); ... }
 *     ...
 *     alcor_finish(rank);
 *
 * and is started by `alcor run --config rma4 -- ./program`. Arguments are in MPI's order, after the rank.
 *
 * Memory: Each rank has node memory on its board. An alcor_memory_t is a region of node memory. Operations move data
 * between regions of node memory, at byte offsets. Functions whose names end in _data take host memory, and copy it to
 * or from node memory. Offsets and lengths are in bytes; collectives count elements. Numbers in node memory are
 * little-endian.
 *
 * Non-blocking calls: alcor_put returns when the put is complete. alcor_iput only starts the put, and returns a
 * request. The same holds for all calls with this i.
 *
 * Errors: Every call returns ALCOR_OK or a number of alcor_error; alcor_error_message returns the whole message. Null
 * pointers, wrong handles, enum values and lengths are errors. A handle may be compared with NULL and with other
 * handles, and must not be dereferenced. A freed handle is invalid, and is not used again. A pointer that is not null
 * must point to a value of its type.
 *
 * Threads: One thread at a time uses a rank and its objects. Different ranks are independent.
 */

#ifndef ALCOR_H
#define ALCOR_H

/* Written by `cargo run -p alcor-capi --example header` from the comments in host-lib/capi/src. Do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The source of a receive or probe that takes messages of any rank.
 */
#define ALCOR_ANY_SOURCE 4294967295

/**
 * The tag of a receive or probe that takes messages of any tag.
 */
#define ALCOR_ANY_TAG 4294967295

/**
 * The largest tag.
 */
#define ALCOR_TAG_UB 67108863

/**
 * The color of a member that joins no communicator of alcor_comm_split; the index that
 * alcor_wait_any returns if all requests are NULL.
 */
#define ALCOR_UNDEFINED 4294967295

/**
 * Values of alcor_result_t. The numbers do not change; later versions may add numbers.
 */
enum alcor_error
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Success.
     */
    ALCOR_OK = 0,
    /**
     * A pointer is NULL that must not be NULL.
     */
    ALCOR_ERR_NULL = 1,
    /**
     * A handle is invalid, freed, or belongs to another rank.
     */
    ALCOR_ERR_HANDLE = 2,
    /**
     * An invalid enum value, flag, number, length or string.
     */
    ALCOR_ERR_ARGUMENT = 3,
    /**
     * Another thread is in a call of this rank.
     */
    ALCOR_ERR_BUSY = 4,
    /**
     * A defect of this library. The rank has left the run, its peers get an error, and its handles
     * are invalid.
     */
    ALCOR_ERR_PANIC = 5,
    /**
     * An error without a separate number.
     */
    ALCOR_ERR_OTHER = 6,
    /**
     * The environment does not state the rank of the process: start it with `alcor run`.
     */
    ALCOR_ERR_NOT_LAUNCHED = 10,
    /**
     * An environment variable has an invalid value.
     */
    ALCOR_ERR_ENVIRONMENT = 11,
    /**
     * No backend opens this URI.
     */
    ALCOR_ERR_URI = 12,
    /**
     * Hardware and library have different versions of the interface.
     */
    ALCOR_ERR_VERSION = 13,
    /**
     * The boards have no such rank.
     */
    ALCOR_ERR_NO_SUCH_RANK = 14,
    /**
     * Another program is attached to the rank.
     */
    ALCOR_ERR_RANK_TAKEN = 15,
    /**
     * The boards lack a block that the call needs.
     */
    ALCOR_ERR_CAPABILITY = 16,
    /**
     * The boards can't be reached, another program has reset one, a link between them is lost, or
     * their driver or simulator failed.
     */
    ALCOR_ERR_BOARD = 20,
    /**
     * The hardware has answered with contradictions.
     */
    ALCOR_ERR_HARDWARE = 21,
    /**
     * A rank has aborted the run.
     */
    ALCOR_ERR_ABORTED = 22,
    /**
     * A rank's process ended before it left the run.
     */
    ALCOR_ERR_PEER_DIED = 23,
    /**
     * A wait exceeded the watchdog's limit; the message names which rank waits for which.
     */
    ALCOR_ERR_WATCHDOG = 24,
    /**
     * A rank does not call the library while others wait for it, so simulated time stands still.
     */
    ALCOR_ERR_RANK_AWAY = 25,
    /**
     * The operation needs a rank that is dead. The run survives deaths, and other operations go on.
     */
    ALCOR_ERR_PROC_FAILED = 26,
    /**
     * A member has revoked the communicator.
     */
    ALCOR_ERR_REVOKED = 27,
    /**
     * Node memory has no room.
     */
    ALCOR_ERR_NO_MEMORY = 30,
    /**
     * An access beyond a region of node memory.
     */
    ALCOR_ERR_MEMORY_BOUNDS = 31,
    /**
     * A put or get beyond the target's window. No memory was changed.
     */
    ALCOR_ERR_WINDOW_BOUNDS = 40,
    /**
     * The target's window does not grant the right. No memory was changed.
     */
    ALCOR_ERR_DENIED = 41,
    /**
     * The target is not a rank of the run.
     */
    ALCOR_ERR_BAD_RANK = 42,
    /**
     * The window is not registered.
     */
    ALCOR_ERR_NOT_REGISTERED = 43,
    /**
     * A registration table is full.
     */
    ALCOR_ERR_TABLE_FULL = 44,
    /**
     * The memory is registered already.
     */
    ALCOR_ERR_DUPLICATE = 45,
    /**
     * The hardware refused a put, get, message or registration for another reason.
     */
    ALCOR_ERR_REFUSED = 46,
    /**
     * A message was longer than its receive buffer, which holds the first part.
     */
    ALCOR_ERR_TRUNCATED = 50,
    /**
     * The request is not a receive.
     */
    ALCOR_ERR_NOT_A_RECEIVE = 51,
    /**
     * The hardware's queues are too short for messages among so many ranks.
     */
    ALCOR_ERR_MESSAGE_ROOM = 52,
    /**
     * The ranks made different calls, or the same call with different counts, types, operations or
     * roots.
     */
    ALCOR_ERR_DIFFER = 60,
    /**
     * The operation does not exist for this type.
     */
    ALCOR_ERR_OPERATION = 61,
    /**
     * Source and destination overlap, and are not the same place.
     */
    ALCOR_ERR_OVERLAP = 62,
    /**
     * A rank that is not a member of the communicator.
     */
    ALCOR_ERR_NO_SUCH_MEMBER = 63,
    /**
     * A communicator that can't be used for this call.
     */
    ALCOR_ERR_COMMUNICATOR = 64,
    /**
     * A collective that the hardware can't do, with ALCOR_STRICT.
     */
    ALCOR_ERR_NOT_IN_HARDWARE = 65,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_error alcor_error;
#else
typedef int32_t alcor_error;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Flags of alcor_options_t.
 */
enum alcor_option
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Collectives that the hardware can't do fail, instead of running in software.
     */
    ALCOR_STRICT = 1,
    /**
     * All collectives run in software, for comparison.
     */
    ALCOR_SOFTWARE = 2,
    /**
     * A receiver without room refuses messages, and their senders send them again, instead of
     * keeping room for each sender. The same at all ranks.
     */
    ALCOR_GO_BACK_N = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_option alcor_option;
#else
typedef uint32_t alcor_option;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Rights of other ranks in a window, joined by |; 0 for no right.
 */
enum alcor_rights
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Others may get.
     */
    ALCOR_REMOTE_READ = 1,
    /**
     * Others may put.
     */
    ALCOR_REMOTE_WRITE = 2,
    /**
     * Both.
     */
    ALCOR_REMOTE_ALL = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_rights alcor_rights;
#else
typedef uint32_t alcor_rights;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Values of alcor_queues_t.
 */
enum alcor_queues
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The source of a message selects its queue. Receives and probes must name their source.
     */
    ALCOR_QUEUES_BY_SOURCE = 1,
    /**
     * The tag of a message selects its queue. Receives and probes must name their tag.
     */
    ALCOR_QUEUES_BY_TAG = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_queues alcor_queues;
#else
typedef int32_t alcor_queues;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Values of alcor_type_t.
 */
enum alcor_type
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * double
     */
    ALCOR_F64 = 1,
    /**
     * float
     */
    ALCOR_F32 = 2,
    /**
     * int64_t
     */
    ALCOR_I64 = 3,
    /**
     * int32_t
     */
    ALCOR_I32 = 4,
    /**
     * uint64_t
     */
    ALCOR_U64 = 5,
    /**
     * uint32_t
     */
    ALCOR_U32 = 6,
    /**
     * int16_t
     */
    ALCOR_I16 = 7,
    /**
     * uint16_t
     */
    ALCOR_U16 = 8,
    /**
     * int8_t
     */
    ALCOR_I8 = 9,
    /**
     * uint8_t
     */
    ALCOR_U8 = 10,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_type alcor_type;
#else
typedef int32_t alcor_type;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Values of alcor_op_t. Integer sums and products wrap.
 */
enum alcor_op
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * Sum.
     */
    ALCOR_SUM = 1,
    /**
     * Minimum.
     */
    ALCOR_MIN = 2,
    /**
     * Maximum.
     */
    ALCOR_MAX = 3,
    /**
     * Product.
     */
    ALCOR_PROD = 4,
    /**
     * Bitwise and; of integers.
     */
    ALCOR_BAND = 5,
    /**
     * Bitwise or; of integers.
     */
    ALCOR_BOR = 6,
    /**
     * Bitwise exclusive or; of integers.
     */
    ALCOR_BXOR = 7,
    /**
     * The element becomes the new one; of alcor_accumulate and alcor_get_accumulate only.
     */
    ALCOR_REPLACE = 8,
    /**
     * The element stays as it is; of alcor_accumulate and alcor_get_accumulate only.
     */
    ALCOR_KEEP = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_op alcor_op;
#else
typedef int32_t alcor_op;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Values of alcor_atomic_t.
 */
enum alcor_atomic
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The word becomes the value.
     */
    ALCOR_ATOMIC_SWAP = 1,
    /**
     * The value is added; the sum wraps.
     */
    ALCOR_ATOMIC_ADD = 2,
    /**
     * Bitwise and.
     */
    ALCOR_ATOMIC_AND = 3,
    /**
     * Bitwise or.
     */
    ALCOR_ATOMIC_OR = 4,
    /**
     * Bitwise exclusive or.
     */
    ALCOR_ATOMIC_XOR = 5,
    /**
     * Minimum.
     */
    ALCOR_ATOMIC_MIN = 6,
    /**
     * Maximum.
     */
    ALCOR_ATOMIC_MAX = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_atomic alcor_atomic;
#else
typedef int32_t alcor_atomic;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Values of alcor_compare_t.
 */
enum alcor_compare
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The word is the value.
     */
    ALCOR_EQ = 1,
    /**
     * The word is not the value.
     */
    ALCOR_NE = 2,
    /**
     * The word is less than the value.
     */
    ALCOR_LT = 3,
    /**
     * The word is at most the value.
     */
    ALCOR_LE = 4,
    /**
     * The word is greater than the value.
     */
    ALCOR_GT = 5,
    /**
     * The word is at least the value.
     */
    ALCOR_GE = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum alcor_compare alcor_compare;
#else
typedef int32_t alcor_compare;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The object behind an alcor_comm_t.
 */
typedef struct alcor_comm alcor_comm;

/**
 * The object behind an alcor_memory_t.
 */
typedef struct alcor_memory alcor_memory;

/**
 * The object behind an alcor_message_t.
 */
typedef struct alcor_message alcor_message;

/**
 * The object behind an alcor_rank_t.
 */
typedef struct alcor_rank alcor_rank;

/**
 * The object behind an alcor_request_t.
 */
typedef struct alcor_request alcor_request;

/**
 * The object behind an alcor_window_t.
 */
typedef struct alcor_window alcor_window;

/**
 * The result of a call: ALCOR_OK, or one of alcor_error.
 *
 * Every function returns a result, except those that return a string. After a failure,
 * alcor_error_message returns the whole message: the request, the finding, and advice.
 */
typedef int32_t alcor_result_t;

/**
 * Options of a run. A field that is 0 means the default. `alcor_options_t options = {0};` sets all
 * defaults.
 */
typedef struct alcor_options_t {
    /**
     * Longest wait in cycles; a wait may last one cycle more for each outstanding byte. Default:
     * 2000000 on a simulated board, no limit on a card.
     */
    uint64_t watchdog_cycles;
    /**
     * Largest number of outstanding transfers: a power of two, at most 32768. Default: 256.
     */
    uint32_t ring_entries;
    /**
     * Flags of alcor_option, joined by |.
     */
    uint32_t flags;
    /**
     * If not 0, the run survives deaths of ranks, and the ranks that wait in the library learn of a
     * death within this number of cycles. The same at all ranks: 0, or not 0. Default: a death ends
     * the run.
     */
    uint64_t detection_cycles;
} alcor_options_t;

/**
 * A rank of a run: this process, or one of its threads. Made by alcor_init_from_env or alcor_init,
 * ended by alcor_finish, which also frees all objects of the rank.
 *
 * Only one thread at a time may use a rank and its objects; the thread may change. A call during
 * another thread's call fails with ALCOR_ERR_BUSY.
 */
typedef struct alcor_rank *alcor_rank_t;

/**
 * A region of a rank's node memory, which is on the board. Made by alcor_alloc, freed by
 * alcor_free.
 */
typedef struct alcor_memory *alcor_memory_t;

/**
 * Memory of all ranks, registered for puts and gets. Made by alcor_register, ended by
 * alcor_deregister.
 */
typedef struct alcor_window *alcor_window_t;

/**
 * An operation that was started and may not be complete. Ended by alcor_wait, alcor_wait_all,
 * alcor_wait_any, alcor_wait_some, by alcor_test and its forms for lists once the request is complete,
 * or by alcor_request_free. NULL is a request without an operation.
 */
typedef struct alcor_request *alcor_request_t;

/**
 * The operation of alcor_fetch_op: one of alcor_atomic.
 */
typedef int32_t alcor_atomic_t;

/**
 * The type of a collective's elements: one of alcor_type.
 */
typedef int32_t alcor_type_t;

/**
 * The comparison of alcor_wait_until: one of alcor_compare.
 */
typedef int32_t alcor_compare_t;

/**
 * The operation of a reduction: one of alcor_op.
 */
typedef int32_t alcor_op_t;

/**
 * The message of a receive or probe, or the result of a request.
 */
typedef struct alcor_status_t {
    /**
     * The source rank of the message, in the communicator; ALCOR_ANY_SOURCE if the request is not
     * a receive.
     */
    uint32_t source;
    /**
     * The tag of the message; ALCOR_ANY_TAG if the request is not a receive.
     */
    uint32_t tag;
    /**
     * Length of the message in bytes, which may exceed the number of received bytes.
     */
    size_t bytes;
    /**
     * Result of the request: the value that alcor_wait would return for the request.
     */
    alcor_result_t result;
    /**
     * The receive was cancelled: there was no message.
     */
    bool cancelled;
} alcor_status_t;

/**
 * A communicator: ranks of the run in an order. The world comes from alcor_world; others from
 * alcor_comm_split and alcor_comm_dup, and end with alcor_comm_free.
 */
typedef struct alcor_comm *alcor_comm_t;

/**
 * The division of a communicator's messages among queues: one of alcor_queues.
 */
typedef int32_t alcor_queues_t;

/**
 * A message that a matched probe has taken out of the queue. Made by alcor_mprobe and
 * alcor_improbe; ended by alcor_mrecv, alcor_imrecv or alcor_message_free.
 */
typedef struct alcor_message *alcor_message_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Attaches the rank that the environment names. Processes that `alcor run` starts need nothing
 * else. For processes that are started by hand, by a debugger, by an MPI launcher or by Slurm,
 * `alcor serve` simulates the boards and prints the variables to set.
 *
 * options: NULL for the defaults. rank: receives the rank, which alcor_finish ends; NULL if the
 * call fails.
 *
 * Errors: ALCOR_ERR_NOT_LAUNCHED, ALCOR_ERR_ENVIRONMENT; as alcor_init.
 */
alcor_result_t alcor_init_from_env(const struct alcor_options_t *options, alcor_rank_t *rank);

/**
 * Attaches rank `pid` of `nprocs` ranks of the boards that a URI names: shm:NAME for those of a
 * running `alcor serve`, xdma:PCI-ADDRESS for a card.
 *
 * uri: is copied. options: NULL for the defaults. rank: receives the rank, which alcor_finish
 * ends; NULL if the call fails.
 *
 * Errors: ALCOR_ERR_URI, ALCOR_ERR_BOARD, ALCOR_ERR_VERSION, ALCOR_ERR_NO_SUCH_RANK,
 * ALCOR_ERR_RANK_TAKEN; ALCOR_ERR_ARGUMENT for an invalid pid, nprocs or option.
 */
alcor_result_t alcor_init(const char *uri,
                          uint32_t pid,
                          uint32_t nprocs,
                          const struct alcor_options_t *options,
                          alcor_rank_t *rank);

/**
 * Completes all operations that the rank has started, and leaves the run. The rank and all its
 * objects are freed, even if the call fails: memory, windows, communicators and requests are
 * invalid afterwards.
 *
 * If a process ends without this call, its peers fail with ALCOR_ERR_PEER_DIED. In a run that
 * survives deaths (detection_cycles in alcor_options_t), the rank also dies if this call fails.
 *
 * Errors: those of freed requests that failed; ALCOR_ERR_WATCHDOG if a message was not received;
 * ALCOR_ERR_ABORTED.
 */
alcor_result_t alcor_finish(alcor_rank_t rank);

/**
 * Ends the run for every rank: each wait, and each later call, fails with ALCOR_ERR_ABORTED and
 * names this rank and `code`. The rank itself is still ended by alcor_finish, which returns
 * ALCOR_ERR_ABORTED too.
 *
 * Errors: ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_abort(alcor_rank_t rank, uint8_t code);

/**
 * This rank's number in the run, from 0.
 */
alcor_result_t alcor_pid(alcor_rank_t rank, uint32_t *pid);

/**
 * The number of ranks of the run.
 */
alcor_result_t alcor_nprocs(alcor_rank_t rank, uint32_t *nprocs);

/**
 * The present time in cycles of the board's clock (alcor_clock_khz). In simulation, time stands still
 * while a rank runs host code, so the value is the same in every run.
 *
 * Errors: ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_now(alcor_rank_t rank, uint64_t *cycle);

/**
 * The frequency of the board's clock in kHz, for times of alcor_now.
 */
alcor_result_t alcor_clock_khz(alcor_rank_t rank, uint32_t *khz);

/**
 * Waits until every rank of the run has called this, and all earlier puts, gets and messages of
 * all ranks have arrived.
 *
 * Errors: ALCOR_ERR_DIFFER if others call alcor_register or alcor_deregister; ALCOR_ERR_WATCHDOG
 * if a rank does not call it; ALCOR_ERR_ABORTED, ALCOR_ERR_PEER_DIED.
 */
alcor_result_t alcor_barrier(alcor_rank_t rank);

/**
 * Ends an epoch. Afterwards, the data that any rank has put before its fence is visible, and this
 * rank's own puts and gets are complete.
 *
 * Errors: as alcor_barrier and alcor_flush_all.
 */
alcor_result_t alcor_fence(alcor_rank_t rank);

/**
 * The whole message of this thread's last failed call; "" if none has failed. The library owns the
 * string; it is valid until the next call of this thread fails, or the thread ends.
 */
const char *alcor_error_message(void);

/**
 * The name of a result, such as "ALCOR_ERR_WATCHDOG"; "unknown" for other numbers. The string is
 * valid for ever.
 */
const char *alcor_error_name(alcor_result_t result);

/**
 * The version of the library, such as "0.1.0". The string is valid for ever.
 */
const char *alcor_version(void);

/**
 * Allocates `bytes` bytes of node memory at a multiple of 64. Their contents are undefined.
 *
 * memory: receives the region, which alcor_free frees; NULL if the call fails.
 *
 * Errors: ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_alloc(alcor_rank_t rank, size_t bytes, alcor_memory_t *memory);

/**
 * Frees node memory, and sets *memory to NULL. Operations under way keep the memory until they are
 * complete, and a window keeps it until it is deregistered. A *memory that is NULL already is no
 * error.
 */
alcor_result_t alcor_free(alcor_rank_t rank, alcor_memory_t *memory);

/**
 * Allocates `bytes` bytes of host memory, zero at first, at a multiple of 8. Calls with data in it
 * move the data without a copy by the processor, if this process drives the card (driver=vfio); on
 * every other board the memory is as good as any.
 *
 * data: receives the address, which alcor_free_host frees; NULL if the call fails, and for 0 bytes.
 * The memory is freed when the rank leaves or aborts, too.
 *
 * Errors: ALCOR_ERR_NO_MEMORY, ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_alloc_host(alcor_rank_t rank, size_t bytes, void **data);

/**
 * Frees host memory of alcor_alloc_host, and sets *data to NULL. A *data that is NULL already is no
 * error. No operation under way may use the memory.
 *
 * Errors: ALCOR_ERR_HANDLE for an address that is no such memory.
 */
alcor_result_t alcor_free_host(alcor_rank_t rank, void **data);

/**
 * Writes `bytes` bytes at `data` to this rank's node memory, from byte `offset` of the region on.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_write(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           const void *data,
                           size_t bytes);

/**
 * Reads `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to `data`,
 * which is unchanged if the call fails.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_read(alcor_rank_t rank, alcor_memory_t memory, size_t offset, void *data, size_t bytes);

/**
 * Makes a region of node memory this rank's part of a new window. All ranks of the run call it
 * together, each with its own memory, of any size. The result is the same at all ranks.
 *
 * rights: rights of other ranks in this rank's part, flags of alcor_rights. window: receives the
 * window, which alcor_deregister ends; NULL if the call fails.
 *
 * Errors: ALCOR_ERR_TABLE_FULL; ALCOR_ERR_DUPLICATE if a rank's memory is registered already;
 * ALCOR_ERR_DIFFER if other ranks make another call; ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_register(alcor_rank_t rank,
                              alcor_memory_t memory,
                              uint32_t rights,
                              alcor_window_t *window);

/**
 * Ends a window, and sets *window to NULL, even if the call fails. All ranks of the run call it
 * together. The memory stays allocated.
 *
 * Errors: ALCOR_ERR_DIFFER, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_deregister(alcor_rank_t rank, alcor_window_t *window);

/**
 * Copies `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to rank
 * `target`'s part of a window, from its byte `window_offset` on, and waits until they are visible
 * there. Any alignment is legal.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS; of the target, which checks before any memory is changed:
 * ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED, ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED.
 */
alcor_result_t alcor_put(alcor_rank_t rank,
                         alcor_memory_t memory,
                         size_t offset,
                         size_t bytes,
                         uint32_t target,
                         uint64_t window_offset,
                         alcor_window_t window);

/**
 * Copies `bytes` bytes of rank `target`'s part of a window, from its byte `window_offset` on, to
 * this rank's node memory, from byte `offset` of the region on, and waits until they have arrived.
 * Any alignment is legal.
 *
 * Errors: as alcor_put.
 */
alcor_result_t alcor_get(alcor_rank_t rank,
                         alcor_memory_t memory,
                         size_t offset,
                         size_t bytes,
                         uint32_t target,
                         uint64_t window_offset,
                         alcor_window_t window);

/**
 * Starts an alcor_put. The memory must not change until the request is complete.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_ARGUMENT. The request returns errors of the target.
 */
alcor_result_t alcor_iput(alcor_rank_t rank,
                          alcor_memory_t memory,
                          size_t offset,
                          size_t bytes,
                          uint32_t target,
                          uint64_t window_offset,
                          alcor_window_t window,
                          alcor_request_t *request);

/**
 * Starts an alcor_get. The contents of the memory are undefined until the request is complete.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: as alcor_iput.
 */
alcor_result_t alcor_iget(alcor_rank_t rank,
                          alcor_memory_t memory,
                          size_t offset,
                          size_t bytes,
                          uint32_t target,
                          uint64_t window_offset,
                          alcor_window_t window,
                          alcor_request_t *request);

/**
 * Like alcor_put, for `bytes` bytes at `data`. The call stages them in temporary node memory.
 *
 * Errors: as alcor_put, and ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_put_data(alcor_rank_t rank,
                              const void *data,
                              size_t bytes,
                              uint32_t target,
                              uint64_t window_offset,
                              alcor_window_t window);

/**
 * Like alcor_get, to `bytes` bytes at `data`. The call stages them in temporary node memory.
 * `data` is unchanged if the call fails.
 *
 * Errors: as alcor_get, and ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_get_data(alcor_rank_t rank,
                              void *data,
                              size_t bytes,
                              uint32_t target,
                              uint64_t window_offset,
                              alcor_window_t window);

/**
 * Waits until every put to and get from rank `target` that this rank has started is complete.
 *
 * Errors: those of freed requests to this rank that failed.
 */
alcor_result_t alcor_flush(alcor_rank_t rank, uint32_t target);

/**
 * Waits until every put and get that this rank has started is complete.
 *
 * Errors: those of freed requests that failed.
 */
alcor_result_t alcor_flush_all(alcor_rank_t rank);

/**
 * Combines a word of rank `target`'s part of a window, at its byte `window_offset`, with *value,
 * and stores the old value of the word in *old. No other atomic operation to the same rank comes
 * between read and write. The window needs both rights, and the offset is a multiple of the
 * word's size.
 *
 * operation: one of alcor_atomic. type: the type of the word, *value and *old, an integer of 32 or
 * 64 bits. *old is unchanged if the call fails.
 *
 * Errors: of the target, which changes no memory then: ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED,
 * ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED, ALCOR_ERR_REFUSED for the offset; else
 * ALCOR_ERR_ARGUMENT, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_fetch_op(alcor_rank_t rank,
                              alcor_atomic_t operation,
                              alcor_type_t type,
                              const void *value,
                              void *old,
                              uint32_t target,
                              uint64_t window_offset,
                              alcor_window_t window);

/**
 * Replaces a word of rank `target`'s part of a window, at its byte `window_offset`, by *value if
 * the word is *expected, and stores the old value of the word in *old. The word was replaced if
 * and only if *old is *expected. Else as alcor_fetch_op.
 *
 * Errors: as alcor_fetch_op.
 */
alcor_result_t alcor_compare_swap(alcor_rank_t rank,
                                  alcor_type_t type,
                                  const void *expected,
                                  const void *value,
                                  void *old,
                                  uint32_t target,
                                  uint64_t window_offset,
                                  alcor_window_t window);

/**
 * Puts as alcor_put, then changes a word of rank `target`'s part of the window `signals`, at its
 * byte `signal_offset`, and waits for both. A rank that finds the word changed finds the data.
 * alcor_wait_until waits for the word. `signals` may be the same window as `window`.
 *
 * signal: the change of the word, ALCOR_ATOMIC_SWAP or ALCOR_ATOMIC_ADD. type: the type of the word
 * and *value, an integer of 32 or 64 bits. The window `signals` needs both rights, and the offset is
 * a multiple of the word's size.
 *
 * Errors: as alcor_put and alcor_fetch_op. The target checks put and signal separately: the word may
 * be changed although the put was refused.
 */
alcor_result_t alcor_put_signal(alcor_rank_t rank,
                                alcor_memory_t memory,
                                size_t offset,
                                size_t bytes,
                                uint32_t target,
                                uint64_t window_offset,
                                alcor_window_t window,
                                alcor_atomic_t signal,
                                alcor_type_t type,
                                const void *value,
                                uint64_t signal_offset,
                                alcor_window_t signals);

/**
 * Waits until the word at byte `offset` of a region of this rank's node memory compares with *value
 * as `compare` states, and stores the word in *found. The library reads the word every 64 cycles.
 *
 * compare: one of alcor_compare. type: the type of the word, *value and *found, an integer of 32 or
 * 64 bits. The offset is a multiple of the word's size. found: may be NULL; *found is unchanged if
 * the call fails.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_ARGUMENT, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_wait_until(alcor_rank_t rank,
                                alcor_memory_t memory,
                                size_t offset,
                                alcor_compare_t compare,
                                alcor_type_t type,
                                const void *value,
                                void *found);

/**
 * Combines `count` elements at `data` with rank `target`'s part of a window, from its byte
 * `window_offset` on, and waits until the results are visible there. Each element is combined
 * atomically towards alcor_fetch_op, alcor_compare_swap and accumulates of all ranks; the vector as
 * a whole is not. The window needs both rights. The call stages the elements in temporary node
 * memory.
 *
 * op: one of alcor_op. type: the type of the elements, of 32 or 64 bits. `window_offset` is a
 * multiple of the element's size.
 *
 * Errors: of the target, which changes no memory then: ALCOR_ERR_WINDOW_BOUNDS, ALCOR_ERR_DENIED,
 * ALCOR_ERR_BAD_RANK, ALCOR_ERR_NOT_REGISTERED, ALCOR_ERR_REFUSED for the offset; else
 * ALCOR_ERR_ARGUMENT, ALCOR_ERR_OPERATION for bitwise operations on floating-point numbers,
 * ALCOR_ERR_CAPABILITY, ALCOR_ERR_NO_MEMORY, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_accumulate(alcor_rank_t rank,
                                alcor_op_t op,
                                alcor_type_t type,
                                const void *data,
                                size_t count,
                                uint32_t target,
                                uint64_t window_offset,
                                alcor_window_t window);

/**
 * Like alcor_accumulate, and stores the `count` elements of the window as they were before at
 * `old`, which is unchanged if the call fails.
 *
 * Errors: as alcor_accumulate.
 */
alcor_result_t alcor_get_accumulate(alcor_rank_t rank,
                                    alcor_op_t op,
                                    alcor_type_t type,
                                    const void *data,
                                    void *old,
                                    size_t count,
                                    uint32_t target,
                                    uint64_t window_offset,
                                    alcor_window_t window);

/**
 * Waits until a request is complete, frees it and sets *request to NULL, even if it failed. A
 * request that is NULL is complete.
 *
 * status: receives the result; may be NULL.
 *
 * Errors: that of the request; ALCOR_ERR_WATCHDOG, ALCOR_ERR_ABORTED, ALCOR_ERR_PEER_DIED.
 */
alcor_result_t alcor_wait(alcor_rank_t rank, alcor_request_t *request, struct alcor_status_t *status);

/**
 * Waits until a request is complete, at most for `nanoseconds` of the board's clock. That is wall
 * time on a card and simulated time in a simulation. A request that is complete or failed is freed,
 * and *request is set to NULL. Any other request goes on, and may be waited for again. A request
 * that is NULL is complete.
 *
 * done: gets whether the request is complete. status: gets the status of a complete request; may be
 * NULL.
 *
 * Errors: as alcor_wait, except ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_wait_timeout(alcor_rank_t rank,
                                  alcor_request_t *request,
                                  uint64_t nanoseconds,
                                  bool *done,
                                  struct alcor_status_t *status);

/**
 * Reports whether a request is complete, without waiting. A request that is complete or failed is
 * freed, and *request is set to NULL. A request that is NULL is complete.
 *
 * In simulation, a poll counts as a short wait, so that time moves.
 *
 * status: receives the result, if the request is complete; may be NULL.
 *
 * Errors: as alcor_wait.
 */
alcor_result_t alcor_test(alcor_rank_t rank,
                          alcor_request_t *request,
                          bool *done,
                          struct alcor_status_t *status);

/**
 * Waits until all of `count` requests are complete, frees them and sets them to NULL. Requests
 * that are NULL are complete.
 *
 * statuses: `count` statuses. Each receives the result of its request, and in `result` the result
 * code; may be NULL.
 *
 * Errors: that of the first failed request in order, once all are complete; as alcor_wait.
 * ALCOR_ERR_HANDLE, also for the same request twice, is returned without a wait.
 */
alcor_result_t alcor_wait_all(alcor_rank_t rank,
                              size_t count,
                              alcor_request_t *requests,
                              struct alcor_status_t *statuses);

/**
 * Waits until one of `count` requests is complete, frees it and sets it to NULL; of several, the
 * first in order. Requests that are NULL are ignored.
 *
 * index: receives its index, or ALCOR_UNDEFINED if all are NULL; the call succeeds then. status:
 * receives the result; may be NULL.
 *
 * Errors: that of the request, with its index in *index; as alcor_wait. If *index is
 * ALCOR_UNDEFINED, no request was freed. ALCOR_ERR_HANDLE, also for the same request twice, is
 * returned without a wait.
 */
alcor_result_t alcor_wait_any(alcor_rank_t rank,
                              size_t count,
                              alcor_request_t *requests,
                              uint32_t *index,
                              struct alcor_status_t *status);

/**
 * Reports whether one of `count` requests is complete, without waiting. Of several complete
 * requests, the first in order is freed and set to NULL. Requests that are NULL are ignored.
 *
 * done: receives whether a request is complete; true if all are NULL. index: receives its index, or
 * ALCOR_UNDEFINED without one. status: receives the result, if a request is complete; may be NULL.
 *
 * Errors: as alcor_wait_any.
 */
alcor_result_t alcor_test_any(alcor_rank_t rank,
                              size_t count,
                              alcor_request_t *requests,
                              bool *done,
                              uint32_t *index,
                              struct alcor_status_t *status);

/**
 * Waits until at least one of `count` requests is complete, frees all complete requests and sets
 * them to NULL. Requests that are NULL are ignored.
 *
 * - ended: receives the number of complete requests, or ALCOR_UNDEFINED if all requests are NULL.
 * - indices: `count` numbers. The first `ended` receive the indices of the complete requests, in
 *   order.
 * - statuses: `count` statuses, or NULL. The first `ended` receive the results, and in `result`
 *   the result codes.
 *
 * Errors: that of the first failed request in order, once all complete requests are freed; as
 * alcor_wait. If *ended is 0, no request was freed. ALCOR_ERR_HANDLE, also for the same request
 * twice, is returned without a wait.
 */
alcor_result_t alcor_wait_some(alcor_rank_t rank,
                               size_t count,
                               alcor_request_t *requests,
                               uint32_t *ended,
                               uint32_t *indices,
                               struct alcor_status_t *statuses);

/**
 * Frees all complete requests of `count` and sets them to NULL, without waiting. Requests that are
 * NULL are ignored.
 *
 * - ended: receives the number of complete requests, or ALCOR_UNDEFINED if all requests are NULL.
 * - indices: `count` numbers. The first `ended` receive the indices of the complete requests, in
 *   order.
 * - statuses: `count` statuses, or NULL. The first `ended` receive the results, and in `result`
 *   the result codes.
 *
 * Errors: as alcor_wait_some.
 */
alcor_result_t alcor_test_some(alcor_rank_t rank,
                               size_t count,
                               alcor_request_t *requests,
                               uint32_t *ended,
                               uint32_t *indices,
                               struct alcor_status_t *statuses);

/**
 * Reports whether all of `count` requests are complete, without waiting. If they are, frees them
 * and sets them to NULL. Requests that are NULL are complete.
 *
 * done: receives whether all requests are complete. statuses: `count` statuses. Each receives the
 * result of its request, if all are complete, and in `result` the result code; may be NULL.
 *
 * Errors: that of the first failed request in order, once all are complete; as alcor_wait_all.
 */
alcor_result_t alcor_test_all(alcor_rank_t rank,
                              size_t count,
                              alcor_request_t *requests,
                              bool *done,
                              struct alcor_status_t *statuses);

/**
 * Frees a request without waiting for it, and sets *request to NULL. The operation still
 * completes; if it fails, the next flush, or alcor_finish, returns the error. Its memory is in use
 * until then. A request that is NULL is freed already.
 */
alcor_result_t alcor_request_free(alcor_rank_t rank, alcor_request_t *request);

/**
 * Cancels a receive. The receive still completes, and must be waited for. Its status has
 * `cancelled` set, or describes the message, if a message arrived before.
 *
 * Errors: ALCOR_ERR_NOT_A_RECEIVE.
 */
alcor_result_t alcor_cancel(alcor_rank_t rank, alcor_request_t request);

/**
 * The communicator of all ranks of the run, in the order of their numbers. All ranks of the run
 * make the first call together: it registers a window for the library, which takes at most an
 * eighth of node memory. Further calls return the same handle.
 *
 * comm: receives the communicator, which lasts as long as the rank and is not freed; NULL if the
 * call fails.
 *
 * Errors: ALCOR_ERR_NO_MEMORY, ALCOR_ERR_TABLE_FULL, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_world(alcor_rank_t rank, alcor_comm_t *comm);

/**
 * This rank's rank in a communicator, from 0.
 */
alcor_result_t alcor_comm_rank(alcor_rank_t rank, alcor_comm_t comm, uint32_t *comm_rank);

/**
 * The number of members of a communicator.
 */
alcor_result_t alcor_comm_size(alcor_rank_t rank, alcor_comm_t comm, uint32_t *size);

/**
 * Makes a communicator for each color, of the members that name this color, ordered by their keys,
 * and for equal keys as in `comm`. All members of `comm` call it together.
 *
 * made: receives the communicator of this rank, which alcor_comm_free ends; NULL if the call
 * fails, and for a member that names ALCOR_UNDEFINED, which joins none.
 *
 * Errors: ALCOR_ERR_DIFFER, ALCOR_ERR_COMMUNICATOR, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_comm_split(alcor_rank_t rank,
                                alcor_comm_t comm,
                                uint32_t color,
                                int32_t key,
                                alcor_comm_t *made);

/**
 * Makes a communicator of the same members. All members call it together.
 *
 * made: receives the communicator, which alcor_comm_free ends; NULL if the call fails.
 *
 * Errors: as alcor_comm_split.
 */
alcor_result_t alcor_comm_dup(alcor_rank_t rank, alcor_comm_t comm, alcor_comm_t *made);

/**
 * Makes a communicator of the same members, whose messages are divided among `count` queues. All
 * members call it together, with the same division. On boards with match stores, the queues are
 * searched at the same time; on others there is one queue. The communicator takes a message context
 * for each queue, and has fewer queues if the boards have fewer queue pairs, or if fewer contexts are
 * free.
 *
 * by: source or tag selects the queue of a message. Receives and probes with ALCOR_ANY_SOURCE or
 * ALCOR_ANY_TAG in its place fail with ALCOR_ERR_COMMUNICATOR. made: receives the communicator,
 * which alcor_comm_free ends; NULL if the call fails.
 *
 * Errors: ALCOR_ERR_ARGUMENT, ALCOR_ERR_DIFFER if the divisions differ; as alcor_comm_split.
 */
alcor_result_t alcor_comm_dup_with_queues(alcor_rank_t rank,
                                          alcor_comm_t comm,
                                          alcor_queues_t by,
                                          uint32_t count,
                                          alcor_comm_t *made);

/**
 * Makes a communicator of a list of members of `comm`, in the order of the list. All members of
 * `comm` call it together, with the same list.
 *
 * - members: `count` ranks of `comm`.
 * - made: receives the communicator of this rank, which alcor_comm_free ends; NULL if the call
 *   fails, and for a member that is not in the list.
 *
 * Errors: ALCOR_ERR_NO_SUCH_MEMBER, also for a rank that is in the list twice; ALCOR_ERR_DIFFER if
 * the lists differ; as alcor_comm_split.
 */
alcor_result_t alcor_comm_create(alcor_rank_t rank,
                                 alcor_comm_t comm,
                                 size_t count,
                                 const uint32_t *members,
                                 alcor_comm_t *made);

/**
 * Returns the bits of `flags` that all members have passed, and the number of dead members. The
 * result is the same at all members that return, whatever members die during the call. All living
 * members of `comm` call it together, also after alcor_comm_revoke. The call acknowledges the
 * deaths: receives from any source do not fail because of them any more.
 *
 * - flags: the bits of this member; receives the common bits, if the call succeeds.
 * - failed: receives the number of dead members; may be NULL.
 *
 * Errors: ALCOR_ERR_COMMUNICATOR, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_comm_agree(alcor_rank_t rank, alcor_comm_t comm, uint32_t *flags, uint32_t *failed);

/**
 * Makes a communicator of the living members, in their order. The result is the same at all members
 * that return, whatever members die during the call. All living members of `comm` call it
 * together, also after alcor_comm_revoke.
 *
 * made: receives the communicator, which alcor_comm_free ends; NULL if the call fails.
 *
 * Errors: as alcor_comm_agree.
 */
alcor_result_t alcor_comm_shrink(alcor_rank_t rank, alcor_comm_t comm, alcor_comm_t *made);

/**
 * Ends the use of a communicator at all members: their collectives and messages of the
 * communicator fail with ALCOR_ERR_REVOKED, those under way and later ones. One member calls it.
 * alcor_comm_agree, alcor_comm_shrink and alcor_comm_free still work.
 *
 * Errors: ALCOR_ERR_COMMUNICATOR if the run does not survive deaths.
 */
alcor_result_t alcor_comm_revoke(alcor_rank_t rank, alcor_comm_t comm);

/**
 * The ranks of the run that are known to be dead, in the order of their deaths.
 *
 * - capacity: number of elements of `failed`.
 * - failed: receives the first `capacity` numbers; may be NULL if `capacity` is 0.
 * - count: receives the number of dead ranks.
 *
 * Errors: ALCOR_ERR_BOARD.
 */
alcor_result_t alcor_failed(alcor_rank_t rank, size_t capacity, uint32_t *failed, uint32_t *count);

/**
 * Ends a communicator once all its collectives have ended, and sets *comm to NULL if that
 * succeeds. All members call it together.
 *
 * Errors: ALCOR_ERR_COMMUNICATOR for the world; ALCOR_ERR_DIFFER, ALCOR_ERR_WATCHDOG.
 */
alcor_result_t alcor_comm_free(alcor_rank_t rank, alcor_comm_t *comm);

/**
 * Sends `bytes` bytes of this rank's node memory, from byte `offset` of the region on, to rank
 * `to` of a communicator, and waits until a receive or the receiver's library has taken them. So
 * two ranks that send to each other must use alcor_isend or alcor_irecv.
 *
 * tag: at most ALCOR_TAG_UB.
 *
 * Errors: ALCOR_ERR_MEMORY_BOUNDS, ALCOR_ERR_NO_SUCH_MEMBER; ALCOR_ERR_ARGUMENT for the tag;
 * ALCOR_ERR_MESSAGE_ROOM, ALCOR_ERR_CAPABILITY; ALCOR_ERR_WATCHDOG if the message is not received.
 */
alcor_result_t alcor_send(alcor_rank_t rank,
                          alcor_memory_t memory,
                          size_t offset,
                          size_t bytes,
                          uint32_t to,
                          uint32_t tag,
                          alcor_comm_t comm);

/**
 * As alcor_send, in the synchronous mode of MPI: waits until a receive has taken the message. The
 * receiver's library cannot complete the call.
 *
 * Errors: as alcor_send.
 */
alcor_result_t alcor_ssend(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           size_t bytes,
                           uint32_t to,
                           uint32_t tag,
                           alcor_comm_t comm);

/**
 * Starts an alcor_ssend. The memory must not change until the request is complete, which is when a
 * receive has taken the message.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: as alcor_send.
 */
alcor_result_t alcor_issend(alcor_rank_t rank,
                            alcor_memory_t memory,
                            size_t offset,
                            size_t bytes,
                            uint32_t to,
                            uint32_t tag,
                            alcor_comm_t comm,
                            alcor_request_t *request);

/**
 * Sends one message and receives another, as alcor_send and alcor_recv at the same time. So ranks
 * that send to each other, in a pair or in a ring, may all call alcor_sendrecv.
 *
 * status: receives source, tag and length of the received message; may be NULL.
 *
 * Errors: as alcor_send and alcor_recv. The error of the receive has precedence.
 */
alcor_result_t alcor_sendrecv(alcor_rank_t rank,
                              alcor_memory_t send_memory,
                              size_t send_offset,
                              size_t send_bytes,
                              uint32_t to,
                              uint32_t send_tag,
                              alcor_memory_t memory,
                              size_t offset,
                              size_t bytes,
                              uint32_t source,
                              uint32_t tag,
                              alcor_comm_t comm,
                              struct alcor_status_t *status);

/**
 * As alcor_sendrecv, in place: sends `bytes` bytes from byte `offset` of the region on, and
 * receives the other message into the same bytes.
 *
 * status: receives source, tag and length of the received message; may be NULL.
 *
 * Errors: as alcor_sendrecv, and ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_sendrecv_replace(alcor_rank_t rank,
                                      alcor_memory_t memory,
                                      size_t offset,
                                      size_t bytes,
                                      uint32_t to,
                                      uint32_t send_tag,
                                      uint32_t source,
                                      uint32_t tag,
                                      alcor_comm_t comm,
                                      struct alcor_status_t *status);

/**
 * Receives a message in this rank's node memory, from byte `offset` of the region on, and waits
 * for the message. `source` is a rank of the communicator or ALCOR_ANY_SOURCE, `tag` a tag or
 * ALCOR_ANY_TAG. At most `bytes` bytes are received.
 *
 * status: receives source, tag and length of the message; may be NULL.
 *
 * Errors: ALCOR_ERR_TRUNCATED if the message was longer: its first `bytes` bytes are received, and
 * status has its whole length; as alcor_send.
 */
alcor_result_t alcor_recv(alcor_rank_t rank,
                          alcor_memory_t memory,
                          size_t offset,
                          size_t bytes,
                          uint32_t source,
                          uint32_t tag,
                          alcor_comm_t comm,
                          struct alcor_status_t *status);

/**
 * Starts an alcor_send. The memory must not change until the request is complete, which is when a
 * receive or the receiver's library has taken the message.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: as alcor_send.
 */
alcor_result_t alcor_isend(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           size_t bytes,
                           uint32_t to,
                           uint32_t tag,
                           alcor_comm_t comm,
                           alcor_request_t *request);

/**
 * Posts an alcor_recv. The contents of the memory are undefined until the request is complete;
 * alcor_wait and alcor_test return the status.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: as alcor_send. The request returns ALCOR_ERR_TRUNCATED.
 */
alcor_result_t alcor_irecv(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           size_t bytes,
                           uint32_t source,
                           uint32_t tag,
                           alcor_comm_t comm,
                           alcor_request_t *request);

/**
 * As alcor_send, for `bytes` bytes at `data`. The call stages them in temporary node memory, so
 * `data` may be changed when the call returns. A short message (at most FRAGMENT bytes of the
 * configuration) is then on its way, and need not have been received. A longer message has been
 * received.
 *
 * Errors: as alcor_send, and ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_send_data(alcor_rank_t rank,
                               const void *data,
                               size_t bytes,
                               uint32_t to,
                               uint32_t tag,
                               alcor_comm_t comm);

/**
 * Like alcor_recv, to `bytes` bytes at `data`. The call stages them in temporary node memory.
 * Bytes beyond the message are unchanged.
 *
 * Errors: as alcor_recv, and ALCOR_ERR_NO_MEMORY.
 */
alcor_result_t alcor_recv_data(alcor_rank_t rank,
                               void *data,
                               size_t bytes,
                               uint32_t source,
                               uint32_t tag,
                               alcor_comm_t comm,
                               struct alcor_status_t *status);

/**
 * Waits until there is a message that a receive of this source and tag would take next, without
 * receiving it.
 *
 * status: receives the message's source, tag and length; may be NULL.
 *
 * Errors: as alcor_send.
 */
alcor_result_t alcor_probe(alcor_rank_t rank,
                           uint32_t source,
                           uint32_t tag,
                           alcor_comm_t comm,
                           struct alcor_status_t *status);

/**
 * Reports whether there is a message that a receive of this source and tag would take now, without
 * waiting.
 *
 * status: receives the message's source, tag and length, if there is one; may be NULL.
 *
 * Errors: as alcor_send; ALCOR_ERR_WATCHDOG if polling without success lasts longer than a wait
 * may.
 */
alcor_result_t alcor_iprobe(alcor_rank_t rank,
                            uint32_t source,
                            uint32_t tag,
                            alcor_comm_t comm,
                            bool *is_there,
                            struct alcor_status_t *status);

/**
 * Waits until there is a message that a receive of this source and tag would take next, and takes
 * the message out of the queue. Only alcor_mrecv or alcor_imrecv can receive the message.
 *
 * message: receives the message; NULL if the call fails. status: receives the message's source, tag
 * and length; may be NULL.
 *
 * Errors: as alcor_send; ALCOR_ERR_NO_MEMORY; ALCOR_ERR_CAPABILITY for or behind a
 * message of a kernel that is longer than FRAGMENT bytes of the configuration.
 */
alcor_result_t alcor_mprobe(alcor_rank_t rank,
                            uint32_t source,
                            uint32_t tag,
                            alcor_comm_t comm,
                            alcor_message_t *message,
                            struct alcor_status_t *status);

/**
 * As alcor_mprobe, without waiting.
 *
 * message: receives the message; NULL if there is none. status: receives the message's source, tag
 * and length, if there is one; may be NULL.
 *
 * Errors: as alcor_mprobe; ALCOR_ERR_WATCHDOG if polling without success lasts longer than a wait
 * may.
 */
alcor_result_t alcor_improbe(alcor_rank_t rank,
                             uint32_t source,
                             uint32_t tag,
                             alcor_comm_t comm,
                             alcor_message_t *message,
                             struct alcor_status_t *status);

/**
 * Receives up to `bytes` bytes of a message that a matched probe has found, in this rank's node
 * memory, from byte `offset` of the region on. Sets *message to NULL.
 *
 * status: receives source, tag and length of the message; may be NULL.
 *
 * Errors: as alcor_recv. ALCOR_ERR_MEMORY_BOUNDS and ALCOR_ERR_HANDLE leave *message as it is.
 */
alcor_result_t alcor_mrecv(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           size_t bytes,
                           alcor_message_t *message,
                           struct alcor_status_t *status);

/**
 * Starts an alcor_mrecv. Sets *message to NULL. A cancel of the request has no effect.
 *
 * request: receives the request; NULL if the call fails.
 *
 * Errors: as alcor_mrecv. The request returns ALCOR_ERR_TRUNCATED.
 */
alcor_result_t alcor_imrecv(alcor_rank_t rank,
                            alcor_memory_t memory,
                            size_t offset,
                            size_t bytes,
                            alcor_message_t *message,
                            alcor_request_t *request);

/**
 * Returns a message of a matched probe to its place in the queue, and sets *message to NULL. A
 * receive that waits for the message takes it. A message that is NULL has been returned.
 */
alcor_result_t alcor_message_free(alcor_rank_t rank, alcor_message_t *message);

/**
 * Waits until all members of a communicator have called this. Unlike alcor_barrier, it does not
 * wait for puts and gets.
 *
 * Errors of all collectives:
 * - ALCOR_ERR_DIFFER if the members' calls differ
 * - ALCOR_ERR_ARGUMENT for an invalid type, op or alignment
 * - ALCOR_ERR_MEMORY_BOUNDS if a vector exceeds its memory
 * - ALCOR_ERR_NO_SUCH_MEMBER for the root
 * - ALCOR_ERR_OPERATION for bitwise operations of floating-point numbers
 * - ALCOR_ERR_OVERLAP if source and destination overlap without being the same place
 * - ALCOR_ERR_NOT_IN_HARDWARE with ALCOR_STRICT
 * - ALCOR_ERR_WATCHDOG, with the members that have not called
 */
alcor_result_t alcor_comm_barrier(alcor_rank_t rank, alcor_comm_t comm);

/**
 * Starts an alcor_comm_barrier, whose memory is in use until the request is complete. Several may
 * be under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_comm_ibarrier(alcor_rank_t rank, alcor_comm_t comm, alcor_request_t *request);

/**
 * Combines the members' vectors of `count` elements into `destination` at member `root`; other
 * members' `destination` is ignored. The elements begin at byte `source_offset` and
 * `destination_offset` of their memory, at a multiple of their size. Source and destination may be
 * the same place. Results have the same bits in every run.
 *
 * Errors: those of all collectives; see alcor_comm_barrier.
 */
alcor_result_t alcor_reduce(alcor_rank_t rank,
                            alcor_memory_t source,
                            size_t source_offset,
                            alcor_memory_t destination,
                            size_t destination_offset,
                            size_t count,
                            alcor_type_t type,
                            alcor_op_t op,
                            uint32_t root,
                            alcor_comm_t comm);

/**
 * Starts an alcor_reduce, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_ireduce(alcor_rank_t rank,
                             alcor_memory_t source,
                             size_t source_offset,
                             alcor_memory_t destination,
                             size_t destination_offset,
                             size_t count,
                             alcor_type_t type,
                             alcor_op_t op,
                             uint32_t root,
                             alcor_comm_t comm,
                             alcor_request_t *request);

/**
 * Combines the members' vectors of `count` elements into `destination` at every member. The rest
 * is as in alcor_reduce.
 */
alcor_result_t alcor_allreduce(alcor_rank_t rank,
                               alcor_memory_t source,
                               size_t source_offset,
                               alcor_memory_t destination,
                               size_t destination_offset,
                               size_t count,
                               alcor_type_t type,
                               alcor_op_t op,
                               alcor_comm_t comm);

/**
 * Starts an alcor_allreduce, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_iallreduce(alcor_rank_t rank,
                                alcor_memory_t source,
                                size_t source_offset,
                                alcor_memory_t destination,
                                size_t destination_offset,
                                size_t count,
                                alcor_type_t type,
                                alcor_op_t op,
                                alcor_comm_t comm,
                                alcor_request_t *request);

/**
 * Combines the members' vectors, of as many blocks of `count` elements as there are members; each
 * member gets its own block of the result. The rest is as in alcor_reduce.
 */
alcor_result_t alcor_reduce_scatter(alcor_rank_t rank,
                                    alcor_memory_t source,
                                    size_t source_offset,
                                    alcor_memory_t destination,
                                    size_t destination_offset,
                                    size_t count,
                                    alcor_type_t type,
                                    alcor_op_t op,
                                    alcor_comm_t comm);

/**
 * Starts an alcor_reduce_scatter, whose memory is in use until the request is complete. Several
 * may be under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_ireduce_scatter(alcor_rank_t rank,
                                     alcor_memory_t source,
                                     size_t source_offset,
                                     alcor_memory_t destination,
                                     size_t destination_offset,
                                     size_t count,
                                     alcor_type_t type,
                                     alcor_op_t op,
                                     alcor_comm_t comm,
                                     alcor_request_t *request);

/**
 * Copies `count` elements of member `root`, from byte `offset` of the memory on, to the same place
 * at every other member. The rest is as in alcor_reduce.
 */
alcor_result_t alcor_bcast(alcor_rank_t rank,
                           alcor_memory_t memory,
                           size_t offset,
                           size_t count,
                           alcor_type_t type,
                           uint32_t root,
                           alcor_comm_t comm);

/**
 * Starts an alcor_bcast, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_ibcast(alcor_rank_t rank,
                            alcor_memory_t memory,
                            size_t offset,
                            size_t count,
                            alcor_type_t type,
                            uint32_t root,
                            alcor_comm_t comm,
                            alcor_request_t *request);

/**
 * Gives each member its block of `count` elements of member `root`'s `source`, which has as many
 * blocks as there are members; other members' `source` is ignored. The rest is as in alcor_reduce.
 */
alcor_result_t alcor_scatter(alcor_rank_t rank,
                             alcor_memory_t source,
                             size_t source_offset,
                             alcor_memory_t destination,
                             size_t destination_offset,
                             size_t count,
                             alcor_type_t type,
                             uint32_t root,
                             alcor_comm_t comm);

/**
 * Starts an alcor_scatter, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_iscatter(alcor_rank_t rank,
                              alcor_memory_t source,
                              size_t source_offset,
                              alcor_memory_t destination,
                              size_t destination_offset,
                              size_t count,
                              alcor_type_t type,
                              uint32_t root,
                              alcor_comm_t comm,
                              alcor_request_t *request);

/**
 * Collects the members' blocks of `count` elements, in the order of the communicator, in
 * `destination` at member `root`; other members' `destination` is ignored. The rest is as in
 * alcor_reduce.
 */
alcor_result_t alcor_gather(alcor_rank_t rank,
                            alcor_memory_t source,
                            size_t source_offset,
                            alcor_memory_t destination,
                            size_t destination_offset,
                            size_t count,
                            alcor_type_t type,
                            uint32_t root,
                            alcor_comm_t comm);

/**
 * Starts an alcor_gather, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_igather(alcor_rank_t rank,
                             alcor_memory_t source,
                             size_t source_offset,
                             alcor_memory_t destination,
                             size_t destination_offset,
                             size_t count,
                             alcor_type_t type,
                             uint32_t root,
                             alcor_comm_t comm,
                             alcor_request_t *request);

/**
 * Collects the members' blocks of `count` elements, in the order of the communicator, in
 * `destination` at every member. The rest is as in alcor_reduce.
 */
alcor_result_t alcor_allgather(alcor_rank_t rank,
                               alcor_memory_t source,
                               size_t source_offset,
                               alcor_memory_t destination,
                               size_t destination_offset,
                               size_t count,
                               alcor_type_t type,
                               alcor_comm_t comm);

/**
 * Starts an alcor_allgather, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_iallgather(alcor_rank_t rank,
                                alcor_memory_t source,
                                size_t source_offset,
                                alcor_memory_t destination,
                                size_t destination_offset,
                                size_t count,
                                alcor_type_t type,
                                alcor_comm_t comm,
                                alcor_request_t *request);

/**
 * Sends block i of `source` to member i, and copies the block from member i to block i of
 * `destination`. Both have a block of `count` elements for each member. The library runs this
 * collective. The rest is as in alcor_reduce.
 */
alcor_result_t alcor_alltoall(alcor_rank_t rank,
                              alcor_memory_t source,
                              size_t source_offset,
                              alcor_memory_t destination,
                              size_t destination_offset,
                              size_t count,
                              alcor_type_t type,
                              alcor_comm_t comm);

/**
 * Starts an alcor_alltoall, whose memory is in use until the request is complete. Several may be
 * under way. Collectives of one communicator run in the order of their calls.
 *
 * request: receives the request; NULL if the call fails.
 */
alcor_result_t alcor_ialltoall(alcor_rank_t rank,
                               alcor_memory_t source,
                               size_t source_offset,
                               alcor_memory_t destination,
                               size_t destination_offset,
                               size_t count,
                               alcor_type_t type,
                               alcor_comm_t comm,
                               alcor_request_t *request);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* ALCOR_H */
