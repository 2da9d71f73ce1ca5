// Heat along a rod that is divided among the ranks. In each step, neighbours exchange their outermost cells by
// messages. At the end rank 0 gathers the rod, and compares it bit for bit with its own computation.
//
//     c++ -std=c++11 stencil.cpp $(pkg-config --cflags --libs alcor) -o stencil
//     alcor run --config rma4 -- ./stencil
#include <alcor.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(alcor_result_t result)
{
    if (result != ALCOR_OK)
        throw std::runtime_error(std::string(alcor_error_name(result)) + ": " + alcor_error_message());
}

// A rank that leaves the run at the end of its scope. An exception aborts the run, so that no peer waits.
class Rank {
public:
    Rank() { check(alcor_init_from_env(nullptr, &handle_)); }
    Rank(const Rank &) = delete;
    Rank &operator=(const Rank &) = delete;
    ~Rank()
    {
        if (handle_ != nullptr) {
            alcor_abort(handle_, 1);
            alcor_finish(handle_);
        }
    }

    void finish()
    {
        alcor_rank_t ended = handle_;
        handle_ = nullptr;
        check(alcor_finish(ended));
    }

    operator alcor_rank_t() const { return handle_; }

private:
    alcor_rank_t handle_ = nullptr;
};

// Doubles in node memory.
class Doubles {
public:
    Doubles(const Rank &rank, std::size_t count) : rank_(rank) { check(alcor_alloc(rank, count * sizeof(double), &handle_)); }
    Doubles(const Doubles &) = delete;
    Doubles &operator=(const Doubles &) = delete;
    ~Doubles() { alcor_free(rank_, &handle_); }

    void write(const std::vector<double> &values) { check(alcor_write(rank_, handle_, 0, values.data(), values.size() * sizeof(double))); }
    double read(std::size_t at) const
    {
        double value;
        check(alcor_read(rank_, handle_, at * sizeof(double), &value, sizeof value));
        return value;
    }
    std::vector<double> read_all(std::size_t count) const
    {
        std::vector<double> values(count);
        check(alcor_read(rank_, handle_, 0, values.data(), count * sizeof(double)));
        return values;
    }

    operator alcor_memory_t() const { return handle_; }

private:
    alcor_rank_t rank_;
    alcor_memory_t handle_ = nullptr;
};

const std::size_t CELLS = 32; // of a rank
const int STEPS = 20;

// One step; the cells at both ends are copies of the neighbours' cells and stay unchanged.
void step(std::vector<double> &cells)
{
    const std::vector<double> before = cells;
    for (std::size_t i = 1; i + 1 < cells.size(); i++)
        cells[i] = before[i] + 0.25 * (before[i - 1] - 2 * before[i] + before[i + 1]);
}

double at_first(std::size_t cell) { return static_cast<double>(cell * cell % 17); }

bool run()
{
    Rank rank;
    alcor_comm_t world;
    uint32_t me, size;
    check(alcor_world(rank, &world));
    check(alcor_comm_rank(rank, world, &me));
    check(alcor_comm_size(rank, world, &size));

    std::vector<double> cells(CELLS + 2, 0);
    for (std::size_t i = 0; i < CELLS; i++)
        cells[i + 1] = at_first(me * CELLS + i);

    // Cells to and from the left and the right. An end of the rod has no neighbour there: a NULL request is complete.
    Doubles halo(rank, 4);
    const std::size_t word = sizeof(double);
    for (int i = 0; i < STEPS; i++) {
        alcor_request_t requests[4] = {nullptr, nullptr, nullptr, nullptr};
        halo.write({cells[1], cells[CELLS], 0, 0});
        if (me > 0) {
            check(alcor_isend(rank, halo, 0 * word, word, me - 1, 0, world, &requests[0]));
            check(alcor_irecv(rank, halo, 2 * word, word, me - 1, 1, world, &requests[2]));
        }
        if (me + 1 < size) {
            check(alcor_isend(rank, halo, 1 * word, word, me + 1, 1, world, &requests[1]));
            check(alcor_irecv(rank, halo, 3 * word, word, me + 1, 0, world, &requests[3]));
        }
        check(alcor_wait_all(rank, 4, requests, nullptr));
        cells[0] = halo.read(2);
        cells[CELLS + 1] = halo.read(3);
        step(cells);
    }

    Doubles mine(rank, CELLS), rod(rank, size * CELLS);
    mine.write(std::vector<double>(cells.begin() + 1, cells.end() - 1));
    check(alcor_gather(rank, mine, 0, rod, 0, CELLS, ALCOR_F64, 0, world));
    bool is_right = true;
    if (me == 0) {
        std::vector<double> alone(size * CELLS + 2, 0);
        for (std::size_t i = 0; i < size * CELLS; i++)
            alone[i + 1] = at_first(i);
        for (int i = 0; i < STEPS; i++)
            step(alone);
        const std::vector<double> found = rod.read_all(size * CELLS);
        is_right = found == std::vector<double>(alone.begin() + 1, alone.end() - 1);
        std::printf("%zu cells, %d steps, %u ranks: %s\n", found.size(), STEPS, size, is_right ? "as computed alone" : "WRONG");
    }
    rank.finish();
    return is_right;
}

} // namespace

int main()
{
    try {
        return run() ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
