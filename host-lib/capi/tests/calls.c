/* Every call that the examples don't have, once, with its results checked; for two ranks and more. */
#include "check.h"
#include <string.h>

static alcor_rank_t rank;
static alcor_comm_t world;
static uint32_t me, size;

static void puts_and_gets(void)
{
    const uint32_t right = (me + 1) % size, left = (me + size - 1) % size;
    alcor_memory_t part, local;
    alcor_window_t window;
    unsigned char bytes[16], found[16];
    CHECK(alcor_alloc(rank, 16, &part));
    CHECK(alcor_alloc(rank, 16, &local));
    for (int i = 0; i < 16; i++)
        bytes[i] = (unsigned char)(me * 16 + (uint32_t)i);
    memset(found, 0xEE, sizeof found);
    CHECK(alcor_write(rank, part, 0, found, 16));
    CHECK(alcor_write(rank, local, 0, bytes, 16));
    CHECK(alcor_register(rank, part, ALCOR_REMOTE_ALL, &window));

    /* Bytes 1 to 4 of local memory to bytes 5 to 8 of the window; no two of the numbers that a call has are the same. */
    CHECK(alcor_put(rank, local, 1, 4, right, 5, window));
    CHECK(alcor_fence(rank));
    CHECK(alcor_read(rank, part, 0, found, 16));
    for (int i = 0; i < 16; i++)
        EXPECT_TRUE(found[i] == (i >= 5 && i < 9 ? left * 16 + (uint32_t)i - 4 : 0xEE));
    /* And back, to where they were not. */
    CHECK(alcor_get(rank, local, 10, 3, right, 6, window));
    CHECK(alcor_read(rank, local, 10, found, 3));
    EXPECT_TRUE(memcmp(found, bytes + 2, 3) == 0);

    alcor_request_t request;
    alcor_status_t status;
    CHECK(alcor_iget(rank, local, 0, 2, right, 7, window, &request));
    EXPECT_TRUE(request != NULL);
    CHECK(alcor_wait(rank, &request, &status));
    EXPECT_TRUE(request == NULL && status.source == ALCOR_ANY_SOURCE && status.result == ALCOR_OK && !status.cancelled);
    CHECK(alcor_read(rank, local, 0, found, 2));
    EXPECT_TRUE(memcmp(found, bytes + 3, 2) == 0);
    CHECK(alcor_wait(rank, &request, &status)); /* NULL is complete. */

    CHECK(alcor_barrier(rank));
    CHECK(alcor_put_data(rank, bytes, 8, right, 3, window));
    CHECK(alcor_barrier(rank));
    CHECK(alcor_read(rank, part, 3, found, 8));
    for (int i = 0; i < 8; i++)
        EXPECT_TRUE(found[i] == left * 16 + (uint32_t)i);
    memset(found, 0x11, sizeof found);
    CHECK(alcor_get_data(rank, found + 1, 4, left, 2, window));
    EXPECT_TRUE(found[0] == 0x11 && found[1] == 0xEE && found[5] == 0x11);

    /* Words of the window: of 32 bits at byte 4, of 64 bits at byte 8. */
    CHECK(alcor_barrier(rank));
    if (me == 0) {
        const uint64_t start = UINT64_C(1) << 40, three = 3, wrong = 4;
        const int32_t minus = -5;
        uint64_t old = 0;
        int32_t old_word = 0;
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_SWAP, ALCOR_U64, &start, &old, right, 8, window));
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_ADD, ALCOR_U64, &three, &old, right, 8, window));
        EXPECT_TRUE(old == start);
        CHECK(alcor_compare_swap(rank, ALCOR_U64, &wrong, &three, &old, right, 8, window));
        EXPECT_TRUE(old == start + 3);
        CHECK(alcor_compare_swap(rank, ALCOR_U64, &old, &three, &old, right, 8, window));
        EXPECT_TRUE(old == start + 3);
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_SWAP, ALCOR_I32, &minus, &old_word, right, 4, window));
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_MAX, ALCOR_I32, &(int32_t){-9}, &old_word, right, 4, window));
        EXPECT_TRUE(old_word == -5);
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_MIN, ALCOR_I32, &(int32_t){-9}, &old_word, right, 4, window));
        EXPECT_TRUE(old_word == -5);
        CHECK(alcor_fetch_op(rank, ALCOR_ATOMIC_OR, ALCOR_I32, &(int32_t){0}, &old_word, right, 4, window));
        EXPECT_TRUE(old_word == -9);
        EXPECT_TRUE(alcor_fetch_op(rank, ALCOR_ATOMIC_ADD, ALCOR_I32, &minus, &old_word, right, 16, window) == ALCOR_ERR_WINDOW_BOUNDS);
        EXPECT_TRUE(alcor_fetch_op(rank, ALCOR_ATOMIC_ADD, ALCOR_I32, &minus, &old_word, right, 2, window) == ALCOR_ERR_REFUSED);
        EXPECT_TRUE(old_word == -9);

        /* Two doubles at byte 0, and what is refused. */
        const double zeros[2] = {0, 0}, halves[2] = {0.5, -0.5};
        double before[2] = {7, 7};
        CHECK(alcor_accumulate(rank, ALCOR_REPLACE, ALCOR_F64, zeros, 2, right, 0, window));
        CHECK(alcor_accumulate(rank, ALCOR_SUM, ALCOR_F64, halves, 2, right, 0, window));
        CHECK(alcor_get_accumulate(rank, ALCOR_MAX, ALCOR_F64, zeros, before, 2, right, 0, window));
        EXPECT_TRUE(before[0] == 0.5 && before[1] == -0.5);
        CHECK(alcor_get_accumulate(rank, ALCOR_KEEP, ALCOR_F64, halves, before, 2, right, 0, window));
        EXPECT_TRUE(before[0] == 0.5 && before[1] == 0);
        EXPECT_TRUE(alcor_accumulate(rank, ALCOR_SUM, ALCOR_F64, halves, 2, right, 4, window) == ALCOR_ERR_REFUSED);
        EXPECT_TRUE(alcor_accumulate(rank, ALCOR_SUM, ALCOR_F64, halves, 2, right, 8, window) == ALCOR_ERR_WINDOW_BOUNDS);
        EXPECT_TRUE(alcor_accumulate(rank, ALCOR_SUM, ALCOR_U8, halves, 2, right, 0, window) == ALCOR_ERR_ARGUMENT);
        EXPECT_TRUE(alcor_accumulate(rank, ALCOR_BXOR, ALCOR_F64, halves, 2, right, 0, window) == ALCOR_ERR_OPERATION);
    }
    CHECK(alcor_barrier(rank));

    /* Bytes 2 to 4 of local memory to byte 1 of the right rank's part, and a word beside them: first its value, then a sum. */
    const uint32_t first = 5 + me, second = UINT32_MAX;
    const int64_t third = -3;
    uint32_t word = 0;
    int64_t long_word = 0;
    memset(found, 0, sizeof found);
    found[4] = 200;
    CHECK(alcor_write(rank, part, 0, found, 16));
    CHECK(alcor_write(rank, local, 0, bytes, 16));
    CHECK(alcor_barrier(rank));
    CHECK(alcor_put_signal(rank, local, 2, 3, right, 1, window, ALCOR_ATOMIC_SWAP, ALCOR_U32, &first, 4, window));
    CHECK(alcor_wait_until(rank, part, 4, ALCOR_NE, ALCOR_U32, &(uint32_t){200}, &word));
    EXPECT_TRUE(word == 5 + left);
    CHECK(alcor_read(rank, part, 0, found, 4));
    EXPECT_TRUE(found[0] == 0 && found[1] == left * 16 + 2 && found[3] == left * 16 + 4);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_put_signal(rank, local, 9, 1, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_U32, &second, 4, window));
    CHECK(alcor_wait_until(rank, part, 4, ALCOR_LT, ALCOR_U32, &word, NULL));
    CHECK(alcor_wait_until(rank, part, 4, ALCOR_EQ, ALCOR_U32, &(uint32_t){4 + left}, &word));
    EXPECT_TRUE(word == 4 + left);
    CHECK(alcor_read(rank, part, 0, found, 1));
    EXPECT_TRUE(found[0] == left * 16 + 9);
    CHECK(alcor_put_signal(rank, local, 0, 0, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_I64, &third, 8, window));
    CHECK(alcor_wait_until(rank, part, 8, ALCOR_LE, ALCOR_I64, &third, &long_word));
    EXPECT_TRUE(long_word == -3);
    CHECK(alcor_wait_until(rank, part, 8, ALCOR_GE, ALCOR_I64, &third, &long_word));
    CHECK(alcor_wait_until(rank, part, 8, ALCOR_GT, ALCOR_I64, &(int64_t){-4}, &long_word));
    EXPECT_TRUE(alcor_put_signal(rank, local, 0, 4, right, 13, window, ALCOR_ATOMIC_ADD, ALCOR_U32, &second, 4, window) == ALCOR_ERR_WINDOW_BOUNDS);
    EXPECT_TRUE(alcor_put_signal(rank, local, 0, 4, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_U32, &second, 6, window) == ALCOR_ERR_REFUSED);
    EXPECT_TRUE(alcor_put_signal(rank, local, 13, 4, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_U32, &second, 4, window) == ALCOR_ERR_MEMORY_BOUNDS);
    EXPECT_TRUE(alcor_put_signal(rank, local, 0, 4, right, 0, window, ALCOR_ATOMIC_XOR, ALCOR_U32, &second, 4, window) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_put_signal(rank, local, 0, 4, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_F32, &second, 4, window) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_put_signal(rank, local, 0, 4, right, 0, window, ALCOR_ATOMIC_ADD, ALCOR_U32, NULL, 4, window) == ALCOR_ERR_NULL);
    word = 77;
    EXPECT_TRUE(alcor_wait_until(rank, part, 14, ALCOR_EQ, ALCOR_U32, &word, &word) == ALCOR_ERR_MEMORY_BOUNDS);
    EXPECT_TRUE(alcor_wait_until(rank, part, 2, ALCOR_EQ, ALCOR_U32, &word, &word) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_wait_until(rank, part, 4, 0, ALCOR_U32, &word, &word) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_wait_until(rank, part, 4, 7, ALCOR_U32, &word, &word) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_wait_until(rank, part, 4, ALCOR_EQ, ALCOR_U8, &word, &word) == ALCOR_ERR_ARGUMENT);
    EXPECT_TRUE(alcor_wait_until(rank, part, 4, ALCOR_EQ, ALCOR_U32, NULL, &word) == ALCOR_ERR_NULL);
    EXPECT_TRUE(word == 77);
    CHECK(alcor_barrier(rank));

    /* One that nobody waits for. */
    CHECK(alcor_iput(rank, local, 0, 4, right, 0, window, &request));
    CHECK(alcor_request_free(rank, &request));
    EXPECT_TRUE(request == NULL);
    CHECK(alcor_request_free(rank, &request));
    CHECK(alcor_flush(rank, right));
    CHECK(alcor_flush_all(rank));
    /* One that is refused, and that nobody waits for: the flush says so. */
    CHECK(alcor_iput(rank, local, 0, 4, right, 14, window, &request));
    CHECK(alcor_request_free(rank, &request));
    EXPECT_TRUE(alcor_flush_all(rank) == ALCOR_ERR_WINDOW_BOUNDS);
    /* And among others that all are waited for. */
    alcor_request_t three[3] = {NULL, NULL, NULL};
    alcor_status_t statuses[3];
    CHECK(alcor_iput(rank, local, 0, 4, right, 14, window, &three[0]));
    CHECK(alcor_iput(rank, local, 0, 4, right, 0, window, &three[2]));
    EXPECT_TRUE(alcor_wait_all(rank, 3, three, statuses) == ALCOR_ERR_WINDOW_BOUNDS);
    EXPECT_TRUE(statuses[0].result == ALCOR_ERR_WINDOW_BOUNDS && statuses[1].result == ALCOR_OK && statuses[2].result == ALCOR_OK);
    EXPECT_TRUE(three[0] == NULL && three[2] == NULL);

    /* Or one: the first in order, and then that one alone is gone. */
    uint32_t place = 7;
    CHECK(alcor_wait_any(rank, 3, three, &place, &statuses[0]));
    EXPECT_TRUE(place == ALCOR_UNDEFINED && statuses[0].result == ALCOR_OK);
    CHECK(alcor_iput(rank, local, 0, 4, right, 0, window, &three[1]));
    CHECK(alcor_iput(rank, local, 0, 4, right, 14, window, &three[2]));
    CHECK(alcor_fence(rank));
    CHECK(alcor_wait_any(rank, 3, three, &place, &statuses[0]));
    EXPECT_TRUE(place == 1 && three[1] == NULL && three[2] != NULL && statuses[0].result == ALCOR_OK);
    EXPECT_TRUE(alcor_wait_any(rank, 3, three, &place, &statuses[0]) == ALCOR_ERR_WINDOW_BOUNDS);
    EXPECT_TRUE(place == 2 && three[2] == NULL && statuses[0].result == ALCOR_ERR_WINDOW_BOUNDS);
    CHECK(alcor_barrier(rank));

    CHECK(alcor_deregister(rank, &window));
    EXPECT_TRUE(window == NULL);
    CHECK(alcor_register(rank, part, ALCOR_REMOTE_READ, &window));
    EXPECT_TRUE(alcor_put(rank, local, 0, 4, right, 0, window) == ALCOR_ERR_DENIED);
    EXPECT_TRUE(alcor_put(rank, local, 0, 4, size, 0, window) == ALCOR_ERR_BAD_RANK);
    CHECK(alcor_deregister(rank, &window));
    CHECK(alcor_free(rank, &part));
    CHECK(alcor_free(rank, &local));
    EXPECT_TRUE(part == NULL);
    CHECK(alcor_free(rank, &part));
}

/* Synchronous sends, exchanges, matched probes, and lists of requests, with `memory` of 64 bytes. */
static void exchanges(alcor_memory_t memory)
{
    const uint32_t to = (me + 1) % size, from = (me + size - 1) % size;
    alcor_request_t request, three[3] = {NULL, NULL, NULL};
    alcor_message_t message, other;
    alcor_status_t status, statuses[3];
    uint32_t words[2] = {me + 1, me + 2}, found[2] = {0, 0}, ended, places[3];
    bool is_so;
    CHECK(alcor_write(rank, memory, 0, words, 8));
    CHECK(alcor_sendrecv(rank, memory, 0, 8, to, 21, memory, 12, 8, from, 21, world, &status));
    EXPECT_TRUE(status.source == from && status.tag == 21 && status.bytes == 8 && status.result == ALCOR_OK);
    CHECK(alcor_read(rank, memory, 12, found, 8));
    EXPECT_TRUE(found[0] == from + 1 && found[1] == from + 2);
    CHECK(alcor_sendrecv_replace(rank, memory, 0, 8, to, 22, ALCOR_ANY_SOURCE, 22, world, &status));
    CHECK(alcor_read(rank, memory, 0, found, 8));
    EXPECT_TRUE(status.source == from && found[0] == from + 1 && found[1] == from + 2);
    EXPECT_TRUE(alcor_sendrecv(rank, memory, 0, 8, to, 23, memory, 12, 4, from, 23, world, &status) == ALCOR_ERR_TRUNCATED);
    EXPECT_TRUE(status.bytes == 8 && status.result == ALCOR_ERR_TRUNCATED);
    CHECK(alcor_barrier(rank));

    /* A synchronous send, whose message a matched probe holds: only its own receive takes it. */
    CHECK(alcor_write(rank, memory, 0, words, 8));
    CHECK(alcor_improbe(rank, from, 24, world, &message, NULL));
    EXPECT_TRUE(message == NULL);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_issend(rank, memory, 0, 8, to, 24, world, &request));
    CHECK(alcor_mprobe(rank, from, ALCOR_ANY_TAG, world, &message, &status));
    EXPECT_TRUE(message != NULL && status.source == from && status.tag == 24 && status.bytes == 8);
    CHECK(alcor_iprobe(rank, from, 24, world, &is_so, NULL));
    EXPECT_TRUE(!is_so);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_test(rank, &request, &is_so, NULL));
    EXPECT_TRUE(!is_so);
    CHECK(alcor_barrier(rank));
    EXPECT_TRUE(alcor_mrecv(rank, memory, 60, 8, &message, &status) == ALCOR_ERR_MEMORY_BOUNDS && message != NULL);
    CHECK(alcor_mrecv(rank, memory, 12, 8, &message, &status));
    EXPECT_TRUE(message == NULL && status.tag == 24 && status.bytes == 8);
    CHECK(alcor_read(rank, memory, 12, found, 8));
    EXPECT_TRUE(found[0] == from + 1 && found[1] == from + 2);
    CHECK(alcor_wait(rank, &request, NULL));
    /* A message that is returned is received by others; one that is received in part. */
    CHECK(alcor_send_data(rank, words, 8, to, 25, world));
    CHECK(alcor_send_data(rank, words, 4, to, 26, world));
    CHECK(alcor_mprobe(rank, from, 26, world, &other, NULL));
    do
        CHECK(alcor_improbe(rank, from, 25, world, &message, &status));
    while (message == NULL);
    EXPECT_TRUE(status.tag == 25);
    CHECK(alcor_message_free(rank, &other));
    EXPECT_TRUE(other == NULL);
    CHECK(alcor_recv(rank, memory, 12, 8, from, ALCOR_ANY_TAG, world, &status));
    EXPECT_TRUE(status.tag == 26 && status.bytes == 4);
    CHECK(alcor_imrecv(rank, memory, 12, 4, &message, &request));
    EXPECT_TRUE(message == NULL);
    EXPECT_TRUE(alcor_wait(rank, &request, &status) == ALCOR_ERR_TRUNCATED);
    EXPECT_TRUE(status.tag == 25 && status.bytes == 8);
    if (me == 0)
        CHECK(alcor_ssend(rank, memory, 0, 8, 1, 27, world));
    else if (me == 1)
        CHECK(alcor_recv(rank, memory, 12, 8, 0, 27, world, NULL));

    /* The first and the last of three are complete; then all are. */
    CHECK(alcor_wait_some(rank, 3, three, &ended, places, statuses));
    EXPECT_TRUE(ended == ALCOR_UNDEFINED);
    CHECK(alcor_test_some(rank, 3, three, &ended, places, statuses));
    EXPECT_TRUE(ended == ALCOR_UNDEFINED);
    CHECK(alcor_test_any(rank, 3, three, &is_so, &ended, &status));
    EXPECT_TRUE(is_so && ended == ALCOR_UNDEFINED);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(alcor_irecv(rank, memory, 12 + 4 * i, 4, from, 30 + i, world, &three[i]));
    CHECK(alcor_test_any(rank, 3, three, &is_so, &ended, &status));
    EXPECT_TRUE(!is_so && ended == ALCOR_UNDEFINED);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_send_data(rank, words, 4, to, 30, world));
    CHECK(alcor_send_data(rank, words, 8, to, 32, world));
    CHECK(alcor_barrier(rank));
    CHECK(alcor_test_all(rank, 3, three, &is_so, statuses));
    EXPECT_TRUE(!is_so && three[0] != NULL && three[1] != NULL && three[2] != NULL);
    EXPECT_TRUE(alcor_wait_some(rank, 3, three, &ended, places, statuses) == ALCOR_ERR_TRUNCATED);
    EXPECT_TRUE(ended == 2 && places[0] == 0 && places[1] == 2);
    EXPECT_TRUE(three[0] == NULL && three[1] != NULL && three[2] == NULL);
    EXPECT_TRUE(statuses[0].tag == 30 && statuses[0].result == ALCOR_OK);
    EXPECT_TRUE(statuses[1].tag == 32 && statuses[1].result == ALCOR_ERR_TRUNCATED);
    CHECK(alcor_irecv(rank, memory, 12, 4, from, 33, world, &three[0]));
    CHECK(alcor_send_data(rank, words, 4, to, 31, world));
    do
        CHECK(alcor_test_any(rank, 3, three, &is_so, &ended, &status));
    while (!is_so);
    EXPECT_TRUE(ended == 1 && three[1] == NULL && status.tag == 31);
    CHECK(alcor_send_data(rank, words, 4, to, 33, world));
    do
        CHECK(alcor_test_all(rank, 3, three, &is_so, statuses));
    while (!is_so);
    EXPECT_TRUE(three[0] == NULL && statuses[0].tag == 33 && statuses[1].result == ALCOR_OK);
    CHECK(alcor_barrier(rank));

    /* The same without a wait. */
    for (uint32_t i = 0; i < 3; i++)
        CHECK(alcor_irecv(rank, memory, 12 + 4 * i, 4, from, 30 + i, world, &three[i]));
    CHECK(alcor_test_some(rank, 3, three, &ended, places, statuses));
    EXPECT_TRUE(ended == 0 && three[0] != NULL);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_send_data(rank, words, 8, to, 31, world));
    CHECK(alcor_send_data(rank, words, 4, to, 32, world));
    CHECK(alcor_barrier(rank));
    EXPECT_TRUE(alcor_test_some(rank, 3, three, &ended, places, statuses) == ALCOR_ERR_TRUNCATED);
    EXPECT_TRUE(ended == 2 && places[0] == 1 && places[1] == 2 && statuses[1].tag == 32);
    EXPECT_TRUE(three[0] != NULL && three[1] == NULL && three[2] == NULL);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_send_data(rank, words, 4, to, 30, world));
    CHECK(alcor_wait(rank, &three[0], &status));
    CHECK(alcor_barrier(rank));
}

static void host_memory(void)
{
    alcor_memory_t memory;
    void *data, *nothing;
    CHECK(alcor_alloc_host(rank, 0, &nothing));
    EXPECT_TRUE(nothing == NULL);
    CHECK(alcor_free_host(rank, &nothing));
    CHECK(alcor_alloc_host(rank, 5000, &data));
    EXPECT_TRUE((uintptr_t)data % 8 == 0);
    unsigned char *bytes = data;
    EXPECT_TRUE(bytes[0] == 0 && bytes[4999] == 0);
    for (int i = 0; i < 5000; i++)
        bytes[i] = (unsigned char)(i * 7 + (int)me);
    CHECK(alcor_alloc(rank, 5000, &memory));
    CHECK(alcor_write(rank, memory, 0, bytes, 5000));
    CHECK(alcor_read(rank, memory, 1000, bytes, 3000));
    for (int i = 0; i < 3000; i++)
        EXPECT_TRUE(bytes[i] == (unsigned char)((i + 1000) * 7 + (int)me));
    EXPECT_TRUE(bytes[3000] == (unsigned char)(3000 * 7 + (int)me));
    CHECK(alcor_free(rank, &memory));
    CHECK(alcor_free_host(rank, &data));
    EXPECT_TRUE(data == NULL);
}

static void messages(void)
{
    alcor_memory_t memory;
    alcor_request_t request;
    alcor_status_t status;
    bool is_so;
    CHECK(alcor_alloc(rank, 64, &memory));
    if (me == 0) {
        uint32_t words[4] = {1, 2, 3, 4};
        CHECK(alcor_write(rank, memory, 8, words, sizeof words));
        CHECK(alcor_send(rank, memory, 8, 16, 1, 5, world));
        CHECK(alcor_send_data(rank, words, 16, 1, 6, world));
        CHECK(alcor_send_data(rank, words, 12, 1, 6, world));
    } else if (me == 1) {
        uint32_t words[4] = {9, 9, 9, 9};
        do
            CHECK(alcor_iprobe(rank, 0, ALCOR_ANY_TAG, world, &is_so, &status));
        while (!is_so);
        EXPECT_TRUE(status.source == 0 && status.tag == 5 && status.bytes == 16);
        CHECK(alcor_iprobe(rank, 0, 77, world, &is_so, &status));
        EXPECT_TRUE(!is_so);
        CHECK(alcor_probe(rank, ALCOR_ANY_SOURCE, 5, world, &status));
        EXPECT_TRUE(status.source == 0 && status.tag == 5 && status.bytes == 16);
        CHECK(alcor_recv(rank, memory, 4, 60, ALCOR_ANY_SOURCE, 5, world, &status));
        EXPECT_TRUE(status.source == 0 && status.tag == 5 && status.bytes == 16);
        CHECK(alcor_read(rank, memory, 4, words, sizeof words));
        EXPECT_TRUE(words[0] == 1 && words[3] == 4);
        /* Longer than there is room for. */
        uint32_t three[4] = {9, 9, 9, 9};
        EXPECT_TRUE(alcor_recv_data(rank, three, 12, 0, ALCOR_ANY_TAG, world, &status) == ALCOR_ERR_TRUNCATED);
        EXPECT_TRUE(status.bytes == 16 && status.tag == 6 && status.result == ALCOR_ERR_TRUNCATED);
        EXPECT_TRUE(three[2] == 3 && three[3] == 9);
        /* Shorter. */
        memset(three, 0xFF, sizeof three);
        CHECK(alcor_recv_data(rank, three, 16, 0, 6, world, &status));
        EXPECT_TRUE(status.bytes == 12 && three[2] == 3 && three[3] == 0xFFFFFFFF);
    }
    /* A short message of send_data is buffered; one of isend or send waits until it is taken. */
    uint32_t short_message = 100 + me;
    CHECK(alcor_write(rank, memory, 0, &short_message, 4));
    CHECK(alcor_send_data(rank, &short_message, 4, (me + 1) % size, 70, world));
    CHECK(alcor_isend(rank, memory, 0, 4, (me + 1) % size, 71, world, &request));
    CHECK(alcor_barrier(rank));
    CHECK(alcor_test(rank, &request, &is_so, NULL));
    EXPECT_TRUE(!is_so);
    CHECK(alcor_barrier(rank));
    CHECK(alcor_recv_data(rank, &short_message, 4, (me + size - 1) % size, 70, world, NULL));
    EXPECT_TRUE(short_message == 100 + (me + size - 1) % size);
    CHECK(alcor_recv(rank, memory, 4, 4, (me + size - 1) % size, 71, world, NULL));
    CHECK(alcor_wait(rank, &request, NULL));
    /* Polled until it comes. */
    CHECK(alcor_irecv(rank, memory, 0, 8, (me + 1) % size, 1, world, &request));
    CHECK(alcor_test(rank, &request, &is_so, &status));
    EXPECT_TRUE(!is_so && request != NULL);
    /* A limited wait keeps the request. */
    is_so = true;
    CHECK(alcor_wait_timeout(rank, &request, 2000, &is_so, &status));
    EXPECT_TRUE(!is_so && request != NULL);
    CHECK(alcor_barrier(rank));
    uint64_t number = me;
    CHECK(alcor_send_data(rank, &number, sizeof number, (me + size - 1) % size, 1, world));
    do
        CHECK(alcor_test(rank, &request, &is_so, &status));
    while (!is_so);
    EXPECT_TRUE(request == NULL && status.source == (me + 1) % size && status.bytes == 8);
    CHECK(alcor_test(rank, &request, &is_so, NULL));
    EXPECT_TRUE(is_so);
    CHECK(alcor_irecv(rank, memory, 0, 8, (me + 1) % size, 4, world, &request));
    CHECK(alcor_send_data(rank, &number, sizeof number, (me + size - 1) % size, 4, world));
    is_so = false;
    CHECK(alcor_wait_timeout(rank, &request, UINT64_MAX, &is_so, &status));
    EXPECT_TRUE(is_so && request == NULL && status.tag == 4 && status.bytes == 8);
    CHECK(alcor_wait_timeout(rank, &request, 0, &is_so, NULL));
    EXPECT_TRUE(is_so);
    /* The second of two that are waited for comes first, and the other stays. */
    alcor_request_t two[2];
    uint32_t place;
    CHECK(alcor_irecv(rank, memory, 0, 8, (me + 1) % size, 2, world, &two[0]));
    CHECK(alcor_irecv(rank, memory, 8, 8, (me + 1) % size, 3, world, &two[1]));
    CHECK(alcor_send_data(rank, &number, sizeof number, (me + size - 1) % size, 3, world));
    CHECK(alcor_wait_any(rank, 2, two, &place, &status));
    EXPECT_TRUE(place == 1 && two[0] != NULL && two[1] == NULL && status.tag == 3 && status.source == (me + 1) % size);
    CHECK(alcor_cancel(rank, two[0]));
    CHECK(alcor_wait_any(rank, 2, two, &place, &status));
    EXPECT_TRUE(place == 0 && two[0] == NULL && status.cancelled);
    /* One that never comes. */
    CHECK(alcor_irecv(rank, memory, 0, 8, ALCOR_ANY_SOURCE, ALCOR_TAG_UB, world, &request));
    CHECK(alcor_cancel(rank, request));
    CHECK(alcor_wait(rank, &request, &status));
    EXPECT_TRUE(status.cancelled && request == NULL);
    exchanges(memory);
    CHECK(alcor_free(rank, &memory));
    CHECK(alcor_barrier(rank));
}

static alcor_memory_t source, destination;

/* Sets `count` words of the source, at byte 4, to value + i. */
static void give(uint32_t value, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = value + i, none = 0xEEEEEEEE;
        CHECK(alcor_write(rank, source, 4 + 4 * i, &word, 4));
        CHECK(alcor_write(rank, destination, 8 + 4 * i, &none, 4));
    }
}

/* Word i of the destination, at byte 8. */
static uint32_t got(uint32_t i)
{
    uint32_t word;
    CHECK(alcor_read(rank, destination, 8 + 4 * i, &word, 4));
    return word;
}

/* Each collective over `comm`, whose members have the ranks `mine` of `members`; waited for, or started and then waited for. */
static void collectives(alcor_comm_t comm, bool starts)
{
    alcor_request_t request = NULL;
    uint32_t mine, members;
    CHECK(alcor_comm_rank(rank, comm, &mine));
    CHECK(alcor_comm_size(rank, comm, &members));
    const uint32_t last = members - 1;
    const uint32_t sum = 100 * (members * (members - 1) / 2);
#define EITHER(waits, begins)                    \
    if (starts) {                                \
        CHECK(begins);                           \
        CHECK(alcor_wait(rank, &request, NULL)); \
    } else {                                     \
        CHECK(waits);                            \
    }

    EITHER(alcor_comm_barrier(rank, comm), alcor_comm_ibarrier(rank, comm, &request));

    give(100 * mine, 3);
    EITHER(alcor_reduce(rank, source, 4, destination, 8, 3, ALCOR_I32, ALCOR_MAX, last, comm),
           alcor_ireduce(rank, source, 4, destination, 8, 3, ALCOR_I32, ALCOR_MAX, last, comm, &request));
    EXPECT_TRUE(got(2) == (mine == last ? 100 * last + 2 : 0xEEEEEEEE));

    give(100 * mine, 3);
    EITHER(alcor_allreduce(rank, source, 4, destination, 8, 3, ALCOR_U32, ALCOR_SUM, comm),
           alcor_iallreduce(rank, source, 4, destination, 8, 3, ALCOR_U32, ALCOR_SUM, comm, &request));
    EXPECT_TRUE(got(0) == sum && got(2) == sum + 2 * members);

    give(100 * mine, 2 * members);
    EITHER(alcor_reduce_scatter(rank, source, 4, destination, 8, 2, ALCOR_U32, ALCOR_SUM, comm),
           alcor_ireduce_scatter(rank, source, 4, destination, 8, 2, ALCOR_U32, ALCOR_SUM, comm, &request));
    EXPECT_TRUE(got(0) == sum + 2 * mine * members && got(1) == sum + (2 * mine + 1) * members);

    uint32_t word = mine + 50;
    CHECK(alcor_write(rank, destination, 8, &word, 4));
    EITHER(alcor_bcast(rank, destination, 8, 1, ALCOR_U32, last, comm),
           alcor_ibcast(rank, destination, 8, 1, ALCOR_U32, last, comm, &request));
    EXPECT_TRUE(got(0) == last + 50);

    give(100 * mine, 2 * members);
    EITHER(alcor_scatter(rank, mine == last ? source : NULL, 4, destination, 8, 2, ALCOR_F32, last, comm),
           alcor_iscatter(rank, mine == last ? source : NULL, 4, destination, 8, 2, ALCOR_F32, last, comm, &request));
    EXPECT_TRUE(got(0) == 100 * last + 2 * mine && got(1) == 100 * last + 2 * mine + 1);

    give(100 * mine, 2 * members);
    EITHER(alcor_gather(rank, source, 4, mine == last ? destination : NULL, 8, 2, ALCOR_U32, last, comm),
           alcor_igather(rank, source, 4, mine == last ? destination : NULL, 8, 2, ALCOR_U32, last, comm, &request));
    for (uint32_t i = 0; i < 2 * members; i++)
        EXPECT_TRUE(got(i) == (mine == last ? 100 * (i / 2) + i % 2 : 0xEEEEEEEE));

    give(100 * mine, 2 * members);
    EITHER(alcor_allgather(rank, source, 4, destination, 8, 2, ALCOR_U32, comm),
           alcor_iallgather(rank, source, 4, destination, 8, 2, ALCOR_U32, comm, &request));
    for (uint32_t i = 0; i < 2 * members; i++)
        EXPECT_TRUE(got(i) == 100 * (i / 2) + i % 2);

    give(100 * mine, 2 * members);
    EITHER(alcor_alltoall(rank, source, 4, destination, 8, 2, ALCOR_F32, comm),
           alcor_ialltoall(rank, source, 4, destination, 8, 2, ALCOR_F32, comm, &request));
    for (uint32_t i = 0; i < 2 * members; i++)
        EXPECT_TRUE(got(i) == 100 * (i / 2) + 2 * mine + i % 2);
}

/* Each type and operation: 3 and 5 combined at every rank but the first, which has 6 and 5. */
#define TYPE(name, c_type, is_float)                                                                            \
    do {                                                                                                        \
        const c_type mine_[2] = {(c_type)(me == 0 ? 6 : 3), 5};                                                 \
        c_type two_[2];                                                                                         \
        for (alcor_op_t op_ = ALCOR_SUM; op_ <= ALCOR_BXOR; op_++) {                                            \
            CHECK(alcor_write(rank, source, 8, mine_, sizeof mine_));                                           \
            if (is_float && op_ >= ALCOR_BAND) {                                                                \
                EXPECT_TRUE(alcor_allreduce(rank, source, 8, destination, 8, 2, name, op_, world) == ALCOR_ERR_OPERATION); \
                continue;                                                                                       \
            }                                                                                                   \
            CHECK(alcor_allreduce(rank, source, 8, destination, 8, 2, name, op_, world));                       \
            CHECK(alcor_read(rank, destination, 8, two_, sizeof two_));                                         \
            uint64_t a_ = 6, b_ = 5;                                                                            \
            for (uint32_t i_ = 1; i_ < size; i_++) {                                                            \
                a_ = combined(op_, a_, 3);                                                                      \
                b_ = combined(op_, b_, 5);                                                                      \
            }                                                                                                   \
            EXPECT_TRUE(two_[0] == (c_type)a_ && two_[1] == (c_type)b_);                                             \
        }                                                                                                       \
    } while (0)

static uint64_t combined(alcor_op_t op, uint64_t a, uint64_t b)
{
    switch (op) {
    case ALCOR_SUM: return a + b;
    case ALCOR_MIN: return a < b ? a : b;
    case ALCOR_MAX: return a > b ? a : b;
    case ALCOR_PROD: return a * b;
    case ALCOR_BAND: return a & b;
    case ALCOR_BOR: return a | b;
    default: return a ^ b;
    }
}

/* The least of all ones at the first rank, and 1 elsewhere. */
#define LEAST(name, c_type, expected)                                                      \
    do {                                                                                   \
        const c_type least_ = (c_type)(me == 0 ? -1 : 1);                                  \
        c_type found_;                                                                     \
        CHECK(alcor_write(rank, source, 0, &least_, sizeof least_));                       \
        CHECK(alcor_allreduce(rank, source, 0, destination, 0, 1, name, ALCOR_MIN, world)); \
        CHECK(alcor_read(rank, destination, 0, &found_, sizeof found_));                   \
        EXPECT_TRUE(found_ == (expected));                                                 \
    } while (0)

static void types(void)
{
    TYPE(ALCOR_F64, double, true);
    TYPE(ALCOR_F32, float, true);
    TYPE(ALCOR_I64, int64_t, false);
    TYPE(ALCOR_I32, int32_t, false);
    TYPE(ALCOR_U64, uint64_t, false);
    TYPE(ALCOR_U32, uint32_t, false);
    TYPE(ALCOR_I16, int16_t, false);
    TYPE(ALCOR_U16, uint16_t, false);
    TYPE(ALCOR_I8, int8_t, false);
    TYPE(ALCOR_U8, uint8_t, false);
    /* Negative numbers are less than others where there are any, and only there. */
    LEAST(ALCOR_I64, int64_t, -1);
    LEAST(ALCOR_I32, int32_t, -1);
    LEAST(ALCOR_I16, int16_t, -1);
    LEAST(ALCOR_I8, int8_t, -1);
    LEAST(ALCOR_U64, uint64_t, 1);
    LEAST(ALCOR_U32, uint32_t, 1);
    LEAST(ALCOR_U16, uint16_t, 1);
    LEAST(ALCOR_U8, uint8_t, 1);
}

static void communicators(void)
{
    alcor_comm_t same, copy, backwards, other;
    uint32_t number;
    CHECK(alcor_world(rank, &same));
    EXPECT_TRUE(same == world);
    CHECK(alcor_comm_dup(rank, world, &copy));
    EXPECT_TRUE(copy != world);
    collectives(copy, false);
    CHECK(alcor_comm_free(rank, &copy));
    EXPECT_TRUE(copy == NULL);
    /* Queues by source: each rank names its sources. */
    CHECK(alcor_comm_dup_with_queues(rank, world, ALCOR_QUEUES_BY_SOURCE, 2, &copy));
    const uint32_t mine = me + 7;
    uint32_t theirs = 0;
    CHECK(alcor_send_data(rank, &mine, sizeof mine, (me + 1) % size, 0, copy));
    EXPECT(ALCOR_ERR_COMMUNICATOR,
           alcor_recv_data(rank, &theirs, sizeof theirs, ALCOR_ANY_SOURCE, 0, copy, NULL));
    CHECK(alcor_recv_data(rank, &theirs, sizeof theirs, (me + size - 1) % size, 0, copy, NULL));
    EXPECT_TRUE(theirs == (me + size - 1) % size + 7);
    CHECK(alcor_comm_free(rank, &copy));
    /* The last rank and the first, in this order; the others get none. */
    const uint32_t list[2] = {size - 1, 0};
    CHECK(alcor_comm_create(rank, world, 2, list, &copy));
    EXPECT_TRUE((copy != NULL) == (me == 0 || me == size - 1));
    if (copy != NULL) {
        CHECK(alcor_comm_rank(rank, copy, &number));
        EXPECT_TRUE(number == (me == 0 ? 1 : 0));
        CHECK(alcor_comm_size(rank, copy, &number));
        EXPECT_TRUE(number == 2);
        CHECK(alcor_comm_free(rank, &copy));
    }
    CHECK(alcor_clock_khz(rank, &number));
    EXPECT_TRUE(number == 250000);
    /* The other way round. */
    CHECK(alcor_comm_split(rank, world, 3, -(int32_t)me, &backwards));
    CHECK(alcor_comm_rank(rank, backwards, &number));
    EXPECT_TRUE(number == size - 1 - me);
    collectives(backwards, true);
    /* All but the first, which gets none. */
    CHECK(alcor_comm_split(rank, world, me == 0 ? ALCOR_UNDEFINED : 0, 0, &other));
    EXPECT_TRUE((other == NULL) == (me == 0));
    if (other != NULL) {
        CHECK(alcor_comm_size(rank, other, &number));
        EXPECT_TRUE(number == size - 1);
        CHECK(alcor_comm_free(rank, &other));
    }
    CHECK(alcor_comm_free(rank, &backwards));
}

/* Started by `alcor run` or by hand, with a rank in the environment; or with the cluster's URI and a rank as arguments. */
int main(int count, char **arguments)
{
    alcor_options_t options = {0};
    options.watchdog_cycles = 1000000;
    options.ring_entries = 128;
    options.flags = ALCOR_GO_BACK_N;
    if (count == 4)
        CHECK(alcor_init(arguments[1], (uint32_t)atoi(arguments[2]), (uint32_t)atoi(arguments[3]), &options, &rank));
    else
        CHECK(alcor_init_from_env(&options, &rank));
    CHECK(alcor_pid(rank, &me));
    CHECK(alcor_nprocs(rank, &size));
    puts_and_gets();
    CHECK(alcor_world(rank, &world));
    host_memory();
    messages();
    CHECK(alcor_alloc(rank, 256, &source));
    CHECK(alcor_alloc(rank, 256, &destination));
    collectives(world, false);
    collectives(world, true);
    types();
    communicators();
    CHECK(alcor_finish(rank));
    printf("rank %u: all calls\n", me);
    return 0;
}
