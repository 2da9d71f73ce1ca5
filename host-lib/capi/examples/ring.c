/*
 * Puts, gets and messages in the ring of all ranks. Each rank checks the received data.
 *
 *     cc -std=c99 ring.c $(pkg-config --cflags --libs alcor) -o ring
 *     alcor run --config rma4 -- ./ring
 */
#include <alcor.h>
#include <stdio.h>
#include <stdlib.h>

#define WORDS 64
#define BYTES (WORDS * sizeof(uint32_t))

static void check(alcor_result_t result, const char *what)
{
    if (result != ALCOR_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, alcor_error_name(result), alcor_error_message());
        exit(1);
    }
}

static void fill(uint32_t *words, uint32_t value)
{
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = value * 1000 + i;
}

static void expect(const uint32_t *words, uint32_t value, const char *what)
{
    for (uint32_t i = 0; i < WORDS; i++) {
        if (words[i] != value * 1000 + i) {
            fprintf(stderr, "%s: word %u is %u, not %u\n", what, i, words[i], value * 1000 + i);
            exit(1);
        }
    }
}

int main(void)
{
    alcor_rank_t rank;
    uint32_t me, size;
    check(alcor_init_from_env(NULL, &rank), "init");
    check(alcor_pid(rank, &me), "pid");
    check(alcor_nprocs(rank, &size), "nprocs");
    const uint32_t right = (me + 1) % size, left = (me + size - 1) % size;

    /* Two buffers in this rank's node memory: other ranks may put to one and get from the other. */
    alcor_memory_t inbox, outbox;
    alcor_window_t inboxes, outboxes;
    check(alcor_alloc(rank, BYTES, &inbox), "alloc");
    check(alcor_alloc(rank, BYTES, &outbox), "alloc");
    check(alcor_register(rank, inbox, ALCOR_REMOTE_WRITE, &inboxes), "register");
    check(alcor_register(rank, outbox, ALCOR_REMOTE_READ, &outboxes), "register");

    uint32_t words[WORDS];
    fill(words, me);
    check(alcor_write(rank, outbox, 0, words, BYTES), "write");

    /* Put to the right, in two halves. After the fence, the data of the left rank is here. */
    alcor_request_t halves[2];
    check(alcor_iput(rank, outbox, 0, BYTES / 2, right, 0, inboxes, &halves[0]), "iput");
    check(alcor_iput(rank, outbox, BYTES / 2, BYTES / 2, right, BYTES / 2, inboxes, &halves[1]), "iput");
    check(alcor_wait_all(rank, 2, halves, NULL), "wait_all");
    check(alcor_fence(rank), "fence");
    check(alcor_read(rank, inbox, 0, words, BYTES), "read");
    expect(words, left, "what the left has put");

    /* Get from the right. */
    check(alcor_get_data(rank, words, BYTES, right, 0, outboxes), "get");
    expect(words, right, "what was got from the right");

    /* A message to the left, while a message comes from the right. */
    alcor_comm_t world;
    alcor_request_t send, receive;
    alcor_status_t status;
    check(alcor_world(rank, &world), "world");
    check(alcor_fence(rank), "fence");
    check(alcor_irecv(rank, inbox, 0, BYTES, ALCOR_ANY_SOURCE, 7, world, &receive), "irecv");
    check(alcor_isend(rank, outbox, 0, BYTES, left, 7, world, &send), "isend");
    check(alcor_wait(rank, &receive, &status), "wait");
    check(alcor_wait(rank, &send, NULL), "wait");
    if (status.source != right || status.tag != 7 || status.bytes != BYTES) {
        fprintf(stderr, "received %zu bytes of rank %u, tag %u\n", status.bytes, status.source, status.tag);
        return 1;
    }
    check(alcor_read(rank, inbox, 0, words, BYTES), "read");
    expect(words, right, "what the right has sent");

    /* Each rank adds its number to a token. */
    uint64_t token = 0;
    if (me == 0)
        check(alcor_send_data(rank, &token, sizeof token, right, 1, world), "send");
    check(alcor_recv_data(rank, &token, sizeof token, left, 1, world, &status), "recv");
    token += me + 1;
    if (me != 0)
        check(alcor_send_data(rank, &token, sizeof token, right, 1, world), "send");
    if (me == 0 && token != (uint64_t)size * (size + 1) / 2) {
        fprintf(stderr, "the token came back as %llu\n", (unsigned long long)token);
        return 1;
    }

    uint64_t cycle;
    check(alcor_barrier(rank), "barrier");
    check(alcor_now(rank, &cycle), "now");
    printf("rank %u of %u: the ring is whole, cycle %llu\n", me, size, (unsigned long long)cycle);
    check(alcor_deregister(rank, &inboxes), "deregister");
    check(alcor_deregister(rank, &outboxes), "deregister");
    check(alcor_free(rank, &inbox), "free");
    check(alcor_free(rank, &outbox), "free");
    check(alcor_finish(rank), "finish");
    return 0;
}
