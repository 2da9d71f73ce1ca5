/*
 * The last rank dies: it ends without alcor_finish. The others are told at each operation that needs it, agree, shrink the world and
 * go on. For three ranks or more.
 */
#include "check.h"

int main(void)
{
    alcor_rank_t rank;
    alcor_comm_t world, survivors, again;
    alcor_memory_t ones, sums;
    uint32_t me, ranks, flags, failed, dead[2] = {77, 77}, count = 0;
    int32_t sum = 1;
    const alcor_options_t options = {.detection_cycles = 2000};
    CHECK(alcor_init_from_env(&options, &rank));
    CHECK(alcor_pid(rank, &me));
    CHECK(alcor_nprocs(rank, &ranks));
    CHECK(alcor_world(rank, &world));
    CHECK(alcor_alloc(rank, sizeof sum, &ones));
    CHECK(alcor_alloc(rank, sizeof sum, &sums));
    CHECK(alcor_write(rank, ones, 0, &sum, sizeof sum));
    CHECK(alcor_comm_barrier(rank, world));
    if (me == ranks - 1)
        exit(3);
    EXPECT(ALCOR_ERR_PROC_FAILED, alcor_allreduce(rank, ones, 0, sums, 0, 1, ALCOR_I32, ALCOR_SUM, world));
    while (count == 0)
        CHECK(alcor_failed(rank, 2, dead, &count));
    EXPECT_TRUE(count == 1 && dead[0] == ranks - 1 && dead[1] == 77);
    EXPECT(ALCOR_ERR_PROC_FAILED, alcor_barrier(rank));
    flags = 3 - me % 2;
    CHECK(alcor_comm_agree(rank, world, &flags, &failed));
    EXPECT_TRUE(flags == 2 && failed == 1);
    CHECK(alcor_comm_shrink(rank, world, &survivors));
    CHECK(alcor_allreduce(rank, ones, 0, sums, 0, 1, ALCOR_I32, ALCOR_SUM, survivors));
    CHECK(alcor_read(rank, sums, 0, &sum, sizeof sum));
    EXPECT_TRUE(sum == (int32_t)ranks - 1);
    if (me == 0)
        CHECK(alcor_comm_revoke(rank, survivors));
    EXPECT(ALCOR_ERR_REVOKED, alcor_recv(rank, sums, 0, sizeof sum, 0, 0, survivors, NULL));
    CHECK(alcor_comm_shrink(rank, survivors, &again));
    CHECK(alcor_comm_free(rank, &survivors));
    CHECK(alcor_comm_barrier(rank, again));
    CHECK(alcor_finish(rank));
    printf("rank %u has survived\n", (unsigned)me);
    return 0;
}
