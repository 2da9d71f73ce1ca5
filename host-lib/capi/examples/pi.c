/*
 * Pi by collectives: rank 0 broadcasts the number of strips of the area below 4 / (1 + x * x). Each rank adds up every
 * size-th strip, and all ranks get the sum. Rank 0 also gathers the parts and compares their sum.
 *
 *     cc -std=c99 pi.c $(pkg-config --cflags --libs alcor) -lm -o pi
 *     alcor run --config rma4 -- ./pi 10000
 */
#include <alcor.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(alcor_result_t result, const char *what)
{
    if (result != ALCOR_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, alcor_error_name(result), alcor_error_message());
        exit(1);
    }
}

int main(int argc, char **argv)
{
    alcor_rank_t rank;
    alcor_comm_t world;
    uint32_t me, size;
    check(alcor_init_from_env(NULL, &rank), "init");
    check(alcor_world(rank, &world), "world");
    check(alcor_comm_rank(rank, world, &me), "comm_rank");
    check(alcor_comm_size(rank, world, &size), "comm_size");

    /* Node memory for the collectives: the number of strips, this rank's part, the sum, and at rank 0 all parts. */
    alcor_memory_t strips_at, part_at, sum_at, parts_at = NULL;
    check(alcor_alloc(rank, sizeof(uint64_t), &strips_at), "alloc");
    check(alcor_alloc(rank, sizeof(double), &part_at), "alloc");
    check(alcor_alloc(rank, sizeof(double), &sum_at), "alloc");
    if (me == 0)
        check(alcor_alloc(rank, size * sizeof(double), &parts_at), "alloc");

    uint64_t strips = 0;
    if (me == 0) {
        strips = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
        check(alcor_write(rank, strips_at, 0, &strips, sizeof strips), "write");
    }
    check(alcor_bcast(rank, strips_at, 0, 1, ALCOR_U64, 0, world), "bcast");
    check(alcor_read(rank, strips_at, 0, &strips, sizeof strips), "read");
    if (strips == 0) {
        fprintf(stderr, "how many strips?\n");
        return 1;
    }

    double part = 0, sum = 0;
    for (uint64_t strip = me; strip < strips; strip += size) {
        const double x = ((double)strip + 0.5) / (double)strips;
        part += 4 / (1 + x * x) / (double)strips;
    }
    check(alcor_write(rank, part_at, 0, &part, sizeof part), "write");
    check(alcor_allreduce(rank, part_at, 0, sum_at, 0, 1, ALCOR_F64, ALCOR_SUM, world), "allreduce");
    check(alcor_read(rank, sum_at, 0, &sum, sizeof sum), "read");
    /* The error of the midpoint rule is at most 1 / (12 strips^2). */
    const double pi = 3.14159265358979323846;
    if (fabs(sum - pi) > 1 / (12.0 * (double)strips * (double)strips) + 1e-12) {
        fprintf(stderr, "rank %u: %.15f is not pi\n", me, sum);
        return 1;
    }

    check(alcor_gather(rank, part_at, 0, parts_at, 0, 1, ALCOR_F64, 0, world), "gather");
    if (me == 0) {
        double again = 0;
        for (uint32_t member = 0; member < size; member++) {
            check(alcor_read(rank, parts_at, member * sizeof part, &part, sizeof part), "read");
            again += part;
        }
        if (fabs(again - sum) > 1e-12) {
            fprintf(stderr, "the parts add up to %.15f, not %.15f\n", again, sum);
            return 1;
        }
        printf("pi is %.12f, by %u ranks and %llu strips\n", sum, size, (unsigned long long)strips);
    }
    /* alcor_finish frees all objects of the rank. */
    check(alcor_finish(rank), "finish");
    return 0;
}
