/* What a program can do wrong, for two ranks: each call must return its error, say something of it, and harm nothing. */
#include "check.h"
#include <string.h>

/* Handles that never were: numbers, and addresses of the program's own. */
#define WRONG(type, n) ((type)(uintptr_t)(n))
static int somewhere;

static void without_a_rank(alcor_rank_t rank, alcor_result_t expected)
{
    uint32_t number = 0;
    uint64_t cycle;
    bool is_so;
    char data[8];
    alcor_memory_t memory = WRONG(alcor_memory_t, 1);
    alcor_window_t window = WRONG(alcor_window_t, 1);
    alcor_comm_t comm = WRONG(alcor_comm_t, 1);
    alcor_message_t message = NULL;
    alcor_request_t request = WRONG(alcor_request_t, 1);
    EXPECT(expected, alcor_pid(rank, &number));
    EXPECT(expected, alcor_nprocs(rank, &number));
    EXPECT(expected, alcor_now(rank, &cycle));
    EXPECT(expected, alcor_clock_khz(rank, &number));
    EXPECT(expected, alcor_barrier(rank));
    EXPECT(expected, alcor_fence(rank));
    EXPECT(expected, alcor_abort(rank, 1));
    EXPECT(expected, alcor_finish(rank));
    EXPECT(expected, alcor_alloc(rank, 8, &memory));
    EXPECT_TRUE(memory == NULL);
    EXPECT(expected, alcor_free(rank, &memory));
    EXPECT(expected, alcor_write(rank, memory, 0, data, 8));
    EXPECT(expected, alcor_read(rank, memory, 0, data, 8));
    EXPECT(expected, alcor_register(rank, memory, ALCOR_REMOTE_ALL, &window));
    EXPECT_TRUE(window == NULL);
    EXPECT(expected, alcor_deregister(rank, &window));
    EXPECT(expected, alcor_put(rank, memory, 0, 8, 0, 0, window));
    EXPECT(expected, alcor_get(rank, memory, 0, 8, 0, 0, window));
    EXPECT(expected, alcor_iput(rank, memory, 0, 8, 0, 0, window, &request));
    EXPECT_TRUE(request == NULL);
    EXPECT(expected, alcor_iget(rank, memory, 0, 8, 0, 0, window, &request));
    EXPECT(expected, alcor_put_data(rank, data, 8, 0, 0, window));
    EXPECT(expected, alcor_get_data(rank, data, 8, 0, 0, window));
    EXPECT(expected, alcor_fetch_op(rank, ALCOR_ATOMIC_ADD, ALCOR_U32, data, data, 0, 0, window));
    EXPECT(expected, alcor_compare_swap(rank, ALCOR_U32, data, data, data, 0, 0, window));
    EXPECT(expected, alcor_accumulate(rank, ALCOR_SUM, ALCOR_U32, data, 1, 0, 0, window));
    EXPECT(expected, alcor_get_accumulate(rank, ALCOR_SUM, ALCOR_U32, data, data, 1, 0, 0, window));
    EXPECT(expected, alcor_put_signal(rank, memory, 0, 8, 0, 0, window, ALCOR_ATOMIC_ADD, ALCOR_U32, data, 0, window));
    EXPECT(expected, alcor_wait_until(rank, memory, 0, ALCOR_EQ, ALCOR_U32, data, data));
    EXPECT(expected, alcor_flush(rank, 0));
    EXPECT(expected, alcor_flush_all(rank));
    EXPECT(expected, alcor_wait(rank, &request, NULL));
    EXPECT(expected, alcor_test(rank, &request, &is_so, NULL));
    EXPECT(expected, alcor_wait_all(rank, 1, &request, NULL));
    EXPECT(expected, alcor_wait_any(rank, 1, &request, &number, NULL));
    EXPECT(expected, alcor_wait_some(rank, 1, &request, &number, &number, NULL));
    EXPECT(expected, alcor_test_some(rank, 1, &request, &number, &number, NULL));
    EXPECT(expected, alcor_test_any(rank, 1, &request, &is_so, &number, NULL));
    EXPECT(expected, alcor_test_all(rank, 1, &request, &is_so, NULL));
    EXPECT(expected, alcor_request_free(rank, &request));
    EXPECT(expected, alcor_cancel(rank, request));
    EXPECT(expected, alcor_world(rank, &comm));
    EXPECT(expected, alcor_comm_rank(rank, comm, &number));
    EXPECT(expected, alcor_comm_size(rank, comm, &number));
    EXPECT(expected, alcor_comm_split(rank, comm, 0, 0, &comm));
    EXPECT(expected, alcor_comm_dup(rank, comm, &comm));
    EXPECT(expected, alcor_comm_dup_with_queues(rank, comm, ALCOR_QUEUES_BY_TAG, 2, &comm));
    EXPECT(expected, alcor_comm_create(rank, comm, 1, &number, &comm));
    EXPECT(expected, alcor_comm_free(rank, &comm));
    EXPECT(expected, alcor_send(rank, memory, 0, 8, 0, 0, comm));
    EXPECT(expected, alcor_recv(rank, memory, 0, 8, 0, 0, comm, NULL));
    EXPECT(expected, alcor_isend(rank, memory, 0, 8, 0, 0, comm, &request));
    EXPECT(expected, alcor_irecv(rank, memory, 0, 8, 0, 0, comm, &request));
    EXPECT(expected, alcor_send_data(rank, data, 8, 0, 0, comm));
    EXPECT(expected, alcor_recv_data(rank, data, 8, 0, 0, comm, NULL));
    EXPECT(expected, alcor_ssend(rank, memory, 0, 8, 0, 0, comm));
    EXPECT(expected, alcor_issend(rank, memory, 0, 8, 0, 0, comm, &request));
    EXPECT(expected, alcor_sendrecv(rank, memory, 0, 8, 0, 0, memory, 0, 8, 0, 0, comm, NULL));
    EXPECT(expected, alcor_sendrecv_replace(rank, memory, 0, 8, 0, 0, 0, 0, comm, NULL));
    EXPECT(expected, alcor_mprobe(rank, 0, 0, comm, &message, NULL));
    EXPECT(expected, alcor_improbe(rank, 0, 0, comm, &message, NULL));
    EXPECT(expected, alcor_mrecv(rank, memory, 0, 8, &message, NULL));
    EXPECT(expected, alcor_imrecv(rank, memory, 0, 8, &message, &request));
    EXPECT(expected, alcor_message_free(rank, &message));
    EXPECT(expected, alcor_probe(rank, 0, 0, comm, NULL));
    EXPECT(expected, alcor_iprobe(rank, 0, 0, comm, &is_so, NULL));
    EXPECT(expected, alcor_comm_barrier(rank, comm));
    EXPECT(expected, alcor_allreduce(rank, memory, 0, memory, 0, 1, ALCOR_I32, ALCOR_SUM, comm));
}

static void wrong_beginnings(void)
{
    alcor_rank_t rank = WRONG(alcor_rank_t, 1);
    const alcor_options_t flags = {0, 0, 8, 0}, ring = {0, 100, 0, 0};
    EXPECT(ALCOR_ERR_NULL, alcor_init_from_env(NULL, NULL));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_init_from_env(&flags, &rank));
    EXPECT_TRUE(rank == NULL);
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_init_from_env(&ring, &rank));
    EXPECT(ALCOR_ERR_NULL, alcor_init(NULL, 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_NULL, alcor_init("shm:nobody", 0, 2, NULL, NULL));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_init("shm:nobody", 2, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_init("shm:nobody", 0, 0, NULL, &rank));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_init("\xff\xfe", 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_URI, alcor_init("cosim:rma2", 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_URI, alcor_init("", 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_BOARD, alcor_init("shm:nobody-has-this-name", 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_BOARD, alcor_init("xdma:ffff:ff:1f.7", 0, 2, NULL, &rank));
    EXPECT(ALCOR_ERR_BOARD, alcor_init("xdma:no address", 0, 2, NULL, &rank));
    EXPECT_TRUE(rank == NULL);
}

int main(void)
{
    alcor_rank_t rank;
    uint32_t me, other, number;
    EXPECT_TRUE(alcor_error_message()[0] == 0);
    EXPECT_TRUE(strcmp(alcor_error_name(ALCOR_ERR_WATCHDOG), "ALCOR_ERR_WATCHDOG") == 0);
    EXPECT_TRUE(strcmp(alcor_error_name(-1), "unknown") == 0);
    without_a_rank(NULL, ALCOR_ERR_NULL);
    without_a_rank(WRONG(alcor_rank_t, 1), ALCOR_ERR_HANDLE);
    without_a_rank(WRONG(alcor_rank_t, &somewhere), ALCOR_ERR_HANDLE);
    wrong_beginnings();

    CHECK(alcor_init_from_env(NULL, &rank));
    CHECK(alcor_pid(rank, &me));
    other = 1 - me;
    alcor_rank_t again;
    EXPECT(ALCOR_ERR_RANK_TAKEN, alcor_init_from_env(NULL, &again));
    EXPECT_TRUE(again == NULL);
    /* The number beside it. */
    without_a_rank(WRONG(alcor_rank_t, (uintptr_t)rank + 1), ALCOR_ERR_HANDLE);

    char data[64] = {0};
    alcor_memory_t memory, freed, large;
    alcor_window_t window;
    alcor_comm_t world, none;
    alcor_request_t request;
    alcor_status_t status;
    bool is_so;

    /* Null pointers. */
    EXPECT(ALCOR_ERR_NULL, alcor_pid(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_nprocs(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_now(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_clock_khz(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_alloc(rank, 8, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_free(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_alloc_host(rank, 8, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_free_host(rank, NULL));
    void *host = &memory;
    EXPECT(ALCOR_ERR_HANDLE, alcor_free_host(rank, &host));
    EXPECT_TRUE(host == &memory);
    EXPECT(ALCOR_ERR_NO_MEMORY, alcor_alloc_host(rank, SIZE_MAX / 2, &host));
    EXPECT_TRUE(host == NULL);
    EXPECT(ALCOR_ERR_NULL, alcor_world(rank, NULL));
    CHECK(alcor_world(rank, &world));
    CHECK(alcor_alloc(rank, 64, &memory));
    EXPECT(ALCOR_ERR_NULL, alcor_write(rank, memory, 0, NULL, 8));
    EXPECT(ALCOR_ERR_NULL, alcor_read(rank, memory, 0, NULL, 8));
    CHECK(alcor_write(rank, memory, 64, NULL, 0));
    CHECK(alcor_read(rank, memory, 64, NULL, 0));
    EXPECT(ALCOR_ERR_NULL, alcor_register(rank, memory, 0, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_deregister(rank, NULL));
    CHECK(alcor_register(rank, memory, ALCOR_REMOTE_ALL, &window));
    EXPECT(ALCOR_ERR_NULL, alcor_iput(rank, memory, 0, 8, other, 0, window, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_iget(rank, memory, 0, 8, other, 0, window, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_put_data(rank, NULL, 8, other, 0, window));
    EXPECT(ALCOR_ERR_NULL, alcor_get_data(rank, NULL, 8, other, 0, window));
    EXPECT(ALCOR_ERR_NULL, alcor_wait(rank, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test(rank, NULL, &is_so, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_timeout(rank, NULL, 0, &is_so, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_all(rank, 1, NULL, &status));
    CHECK(alcor_wait_all(rank, 0, NULL, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_any(rank, 1, NULL, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_any(rank, 0, NULL, NULL, &status));
    CHECK(alcor_wait_any(rank, 0, NULL, &number, &status));
    EXPECT_TRUE(number == ALCOR_UNDEFINED);
    EXPECT(ALCOR_ERR_NULL, alcor_wait_some(rank, 1, NULL, &number, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_some(rank, 1, &request, NULL, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_wait_some(rank, 1, &request, &number, NULL, &status));
    CHECK(alcor_wait_some(rank, 0, NULL, &number, NULL, NULL));
    EXPECT_TRUE(number == ALCOR_UNDEFINED);
    EXPECT(ALCOR_ERR_NULL, alcor_test_some(rank, 1, NULL, &number, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_some(rank, 1, &request, NULL, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_some(rank, 1, &request, &number, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_any(rank, 1, NULL, &is_so, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_any(rank, 0, NULL, NULL, &number, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_any(rank, 0, NULL, &is_so, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_all(rank, 1, NULL, &is_so, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_test_all(rank, 0, NULL, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_request_free(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_cancel(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_rank(rank, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_size(rank, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_split(rank, world, 0, 0, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_dup(rank, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_dup_with_queues(rank, world, ALCOR_QUEUES_BY_TAG, 2, NULL));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_comm_dup_with_queues(rank, world, 3, 2, &none));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_create(rank, world, 1, &number, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_create(rank, world, 1, NULL, &none));
    const uint32_t members[2] = {1, 1}, beyond[2] = {0, 2};
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_comm_create(rank, world, 2, members, &none));
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_comm_create(rank, world, 2, beyond, &none));
    EXPECT_TRUE(none == NULL);
    EXPECT_TRUE(strstr(alcor_error_message(), "rank 2 is not among the 2 ranks of the communicator") != NULL);
    EXPECT(ALCOR_ERR_NULL, alcor_comm_free(rank, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_isend(rank, memory, 0, 8, other, 0, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_irecv(rank, memory, 0, 8, other, 0, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_send_data(rank, NULL, 8, other, 0, world));
    EXPECT(ALCOR_ERR_NULL, alcor_recv_data(rank, NULL, 8, other, 0, world, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_iprobe(rank, other, 0, world, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_mprobe(rank, other, 0, world, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_improbe(rank, other, 0, world, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_mrecv(rank, memory, 0, 8, NULL, &status));
    EXPECT(ALCOR_ERR_NULL, alcor_imrecv(rank, memory, 0, 8, NULL, &request));
    EXPECT(ALCOR_ERR_NULL, alcor_message_free(rank, NULL));
    alcor_message_t message = NULL;
    EXPECT(ALCOR_ERR_NULL, alcor_mrecv(rank, memory, 0, 8, &message, &status));
    CHECK(alcor_message_free(rank, &message));
    CHECK(alcor_improbe(rank, other, 5, world, &message, &status));
    EXPECT_TRUE(message == NULL);
    message = WRONG(alcor_message_t, window);
    EXPECT(ALCOR_ERR_HANDLE, alcor_mrecv(rank, memory, 0, 8, &message, &status));
    EXPECT(ALCOR_ERR_HANDLE, alcor_message_free(rank, &message));
    EXPECT(ALCOR_ERR_NULL, alcor_issend(rank, memory, 0, 8, other, 0, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_ibarrier(rank, world, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_ibcast(rank, memory, 0, 1, ALCOR_I32, 0, world, NULL));

    /* Handles that are NULL, freed, or another's. */
    EXPECT(ALCOR_ERR_NULL, alcor_write(rank, NULL, 0, data, 8));
    EXPECT(ALCOR_ERR_NULL, alcor_put(rank, NULL, 0, 8, other, 0, window));
    EXPECT(ALCOR_ERR_NULL, alcor_put(rank, memory, 0, 8, other, 0, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_send(rank, memory, 0, 8, other, 0, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_comm_barrier(rank, NULL));
    CHECK(alcor_alloc(rank, 8, &freed));
    alcor_memory_t copy = freed;
    CHECK(alcor_free(rank, &freed));
    EXPECT(ALCOR_ERR_HANDLE, alcor_free(rank, &copy));
    EXPECT(ALCOR_ERR_HANDLE, alcor_read(rank, copy, 0, data, 8));
    EXPECT(ALCOR_ERR_HANDLE, alcor_register(rank, copy, 0, &(alcor_window_t){NULL}));
    EXPECT(ALCOR_ERR_HANDLE, alcor_read(rank, WRONG(alcor_memory_t, window), 0, data, 8));
    EXPECT(ALCOR_ERR_HANDLE, alcor_put(rank, WRONG(alcor_memory_t, rank), 0, 8, other, 0, window));
    EXPECT(ALCOR_ERR_HANDLE, alcor_comm_rank(rank, WRONG(alcor_comm_t, memory), &number));
    EXPECT(ALCOR_ERR_HANDLE, alcor_comm_free(rank, &(alcor_comm_t){WRONG(alcor_comm_t, &somewhere)}));
    EXPECT(ALCOR_ERR_HANDLE, alcor_deregister(rank, &(alcor_window_t){WRONG(alcor_window_t, memory)}));
    CHECK(alcor_iget(rank, memory, 0, 8, other, 8, window, &request));
    alcor_request_t twice[2] = {request, request};
    uint32_t indices[2];
    EXPECT(ALCOR_ERR_HANDLE, alcor_wait_all(rank, 2, twice, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_wait_any(rank, 2, twice, &number, NULL));
    EXPECT_TRUE(twice[0] == request && number == ALCOR_UNDEFINED);
    EXPECT(ALCOR_ERR_HANDLE, alcor_wait_some(rank, 2, twice, &number, indices, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_test_some(rank, 2, twice, &number, indices, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_test_any(rank, 2, twice, &is_so, &number, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_test_all(rank, 2, twice, &is_so, NULL));
    EXPECT_TRUE(twice[0] == request);
    twice[1] = WRONG(alcor_request_t, window);
    EXPECT(ALCOR_ERR_HANDLE, alcor_wait_all(rank, 2, twice, NULL));
    EXPECT(ALCOR_ERR_NULL, alcor_test(rank, &request, NULL, &status));
    EXPECT(ALCOR_ERR_NOT_A_RECEIVE, alcor_cancel(rank, request));
    CHECK(alcor_wait(rank, &request, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_wait(rank, &twice[0], NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_test(rank, &twice[0], &is_so, NULL));
    EXPECT(ALCOR_ERR_HANDLE, alcor_request_free(rank, &twice[0]));
    EXPECT(ALCOR_ERR_HANDLE, alcor_cancel(rank, twice[0]));

    /* Lengths and offsets. */
    EXPECT(ALCOR_ERR_NO_MEMORY, alcor_alloc(rank, SIZE_MAX, &large));
    EXPECT(ALCOR_ERR_NO_MEMORY, alcor_alloc(rank, (size_t)1 << 32, &large));
    EXPECT_TRUE(large == NULL);
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_write(rank, memory, 57, data, 8));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_read(rank, memory, 57, data, 8));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_read(rank, memory, SIZE_MAX, data, 8));
    EXPECT_TRUE(strstr(alcor_error_message(), " bytes, and the access begins at offset -1") != NULL);
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_write(rank, memory, 0, data, SIZE_MAX));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_read(rank, memory, 0, data, SIZE_MAX));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_send_data(rank, data, SIZE_MAX, other, 0, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_recv_data(rank, data, SIZE_MAX, other, 0, world, NULL));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_put_data(rank, data, SIZE_MAX, other, 0, window));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_get_data(rank, data, SIZE_MAX, other, 0, window));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_wait_all(rank, SIZE_MAX, &request, NULL));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_wait_any(rank, SIZE_MAX, &request, &number, NULL));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_put(rank, memory, 60, 8, other, 0, window));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_iget(rank, memory, 0, SIZE_MAX, other, 0, window, &request));
    EXPECT_TRUE(request == NULL);
    EXPECT(ALCOR_ERR_WINDOW_BOUNDS, alcor_put(rank, memory, 0, 8, other, 57, window));
    EXPECT(ALCOR_ERR_WINDOW_BOUNDS, alcor_get_data(rank, data, 8, other, 57, window));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_put(rank, memory, 0, 8, other, UINT64_MAX, window));
    EXPECT(ALCOR_ERR_BAD_RANK, alcor_put(rank, memory, 0, 8, 2, 0, window));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_put(rank, memory, 0, 8, UINT32_MAX, 0, window));
    CHECK(alcor_flush(rank, UINT32_MAX));
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_send(rank, memory, 0, 8, 2, 0, world));
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_irecv(rank, memory, 0, 8, 2, 0, world, &request));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_send(rank, memory, 0, 8, other, ALCOR_TAG_UB + 1, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_send(rank, memory, 0, 8, other, ALCOR_ANY_TAG, world));
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_send(rank, memory, 0, 8, ALCOR_ANY_SOURCE, 0, world));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_allreduce(rank, memory, 0, memory, 0, 17, ALCOR_I32, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_allreduce(rank, memory, 0, memory, 0, SIZE_MAX, ALCOR_F64, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_MEMORY_BOUNDS, alcor_allgather(rank, memory, 0, memory, 0, SIZE_MAX / 2, ALCOR_U8, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_allreduce(rank, memory, 4, memory, 4, 1, ALCOR_F64, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_OVERLAP, alcor_allreduce(rank, memory, 0, memory, 4, 4, ALCOR_I32, ALCOR_SUM, world));

    EXPECT(ALCOR_ERR_ARGUMENT, alcor_allreduce(rank, memory, 4, memory, 4, 1, ALCOR_F64, ALCOR_SUM, world));
    EXPECT_TRUE(strstr(alcor_error_message(), "address of a region is ") != NULL);
    EXPECT_TRUE(strstr(alcor_error_message(), "must be a multiple of the element's size") != NULL);

    /* Enums and flags. */
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_register(rank, memory, 4, &(alcor_window_t){NULL}));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_allreduce(rank, memory, 0, memory, 0, 1, 0, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_allreduce(rank, memory, 0, memory, 0, 1, 11, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_allreduce(rank, memory, 0, memory, 0, 1, -1, ALCOR_SUM, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_reduce(rank, memory, 0, memory, 0, 1, ALCOR_I32, 0, 0, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_reduce(rank, memory, 0, memory, 0, 1, ALCOR_I32, 8, 0, world));
    EXPECT(ALCOR_ERR_ARGUMENT, alcor_bcast(rank, memory, 0, 1, 99, 0, world));
    EXPECT(ALCOR_ERR_NO_SUCH_MEMBER, alcor_bcast(rank, memory, 0, 1, ALCOR_I32, 2, world));
    EXPECT_TRUE(strstr(alcor_error_message(), "root 2 is not among the 2 ranks of ") != NULL);
    EXPECT(ALCOR_ERR_COMMUNICATOR, alcor_comm_free(rank, &world));
    EXPECT_TRUE(world != NULL);

    /* Ranks that call different things are all told. */
    EXPECT(ALCOR_ERR_DIFFER, alcor_allreduce(rank, memory, 0, memory, 0, 1 + me, ALCOR_I32, ALCOR_SUM, world));
    EXPECT_TRUE(strstr(alcor_error_message(), me == 0 ? "rank 1 called allreduce of 2 i32" : "rank 0 called allreduce of 1 i32") != NULL);
    EXPECT(ALCOR_ERR_DUPLICATE, alcor_register(rank, memory, 0, &(alcor_window_t){NULL}));
    CHECK(alcor_comm_split(rank, world, ALCOR_UNDEFINED, 0, &none));
    EXPECT_TRUE(none == NULL);

    /* After all that, it still works. */
    uint64_t number64 = me + 7;
    CHECK(alcor_barrier(rank));
    CHECK(alcor_put_data(rank, &number64, 8, other, 0, window));
    CHECK(alcor_fence(rank));
    CHECK(alcor_read(rank, memory, 0, &number64, 8));
    EXPECT_TRUE(number64 == other + 7);

    /* The end, twice; and what belonged to the rank is gone with it. */
    CHECK(alcor_finish(rank));
    EXPECT(ALCOR_ERR_HANDLE, alcor_finish(rank));
    without_a_rank(rank, ALCOR_ERR_HANDLE);
    EXPECT(ALCOR_ERR_HANDLE, alcor_write(rank, memory, 0, data, 8));
    printf("rank %u: all refused\n", me);
    return 0;
}
