/* All ranks add up their numbers: alcor run --config rma4 -- c/sum */
#include <alcor.h>
#include <stdio.h>
#include <stdlib.h>

static void check(alcor_result_t result)
{
    if (result != ALCOR_OK) {
        fprintf(stderr, "%s\n", alcor_error_message());
        exit(1);
    }
}

int main(void)
{
    alcor_rank_t rank;
    alcor_comm_t world;
    alcor_memory_t number;
    uint32_t me, sum;
    check(alcor_init_from_env(NULL, &rank));
    check(alcor_pid(rank, &me));
    check(alcor_world(rank, &world));
    check(alcor_alloc(rank, sizeof me, &number));
    check(alcor_write(rank, number, 0, &me, sizeof me));
    check(alcor_allreduce(rank, number, 0, number, 0, 1, ALCOR_U32, ALCOR_SUM, world));
    check(alcor_read(rank, number, 0, &sum, sizeof sum));
    check(alcor_finish(rank));
    printf("rank %u: %u\n", me, sum);
    return 0;
}
