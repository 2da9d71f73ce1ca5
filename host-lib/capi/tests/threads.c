/*
 * Two threads and one rank: whoever comes second is told, and each thread has messages of its own. And one rank that aborts: its peer learns of it.
 * For two ranks.
 */
#define _POSIX_C_SOURCE 200809L
#include <alcor.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static alcor_rank_t rank;

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, alcor_error_message());
    exit(1);
}

/* Waits for the other rank, which comes when this one is known to wait. */
static void *waits(void *unused)
{
    if (alcor_barrier(rank) != ALCOR_OK)
        fail("barrier");
    if (alcor_error_message()[0] != 0)
        fail("a message of another thread");
    return unused;
}

static void pause_briefly(void)
{
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    uint32_t me, number;
    if (argc != 2 || alcor_init_from_env(NULL, &rank) != ALCOR_OK || alcor_pid(rank, &me) != ALCOR_OK)
        fail("init");
    if (me == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, waits, NULL) != 0)
            fail("pthread_create");
        alcor_result_t result;
        while ((result = alcor_pid(rank, &number)) == ALCOR_OK)
            pause_briefly();
        if (result != ALCOR_ERR_BUSY || strstr(alcor_error_message(), "another thread") == NULL)
            fail("a second thread");
        if (alcor_finish(rank) != ALCOR_ERR_BUSY)
            fail("an end in the middle of a call");
        fclose(fopen(argv[1], "w"));
        pthread_join(thread, NULL);
        if (alcor_pid(rank, &number) != ALCOR_OK)
            fail("after the other thread");
        if (alcor_abort(rank, 42) != ALCOR_OK)
            fail("abort");
        if (alcor_finish(rank) != ALCOR_ERR_ABORTED)
            fail("the end of an aborted run");
    } else {
        FILE *file;
        while ((file = fopen(argv[1], "r")) == NULL)
            pause_briefly();
        fclose(file);
        if (alcor_barrier(rank) != ALCOR_OK)
            fail("barrier");
        if (alcor_barrier(rank) != ALCOR_ERR_ABORTED || strstr(alcor_error_message(), "abort(42)") == NULL)
            fail("the other has aborted");
        if (alcor_finish(rank) != ALCOR_ERR_ABORTED)
            fail("the end of an aborted run");
    }
    printf("rank %u: threads and abort\n", me);
    return 0;
}
