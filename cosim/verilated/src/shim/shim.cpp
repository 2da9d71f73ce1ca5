// The C side of the bindings: one instance of a model behind plain functions. `tables.h` is generated for each model
// (its ports, its DPI imports). The structs below are mirrored in `abi.rs`.

#include "Vmodel.h"
#include "tables.h"
#if ALCOR_HAS_STATE
#include "Vmodel__Syms.h"
#endif

#include "svdpi.h"
#include "verilated_syms.h"
#if ALCOR_TRACE
#if ALCOR_VCD
#include "verilated_vcd_c.h"
#else
#include "verilated_fst_c.h"
#endif
#endif
#if ALCOR_COVERAGE
#include "verilated_cov.h"
#endif

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

#if ALCOR_TRACE
#if ALCOR_VCD
using Trace = VerilatedVcdC;
#else
using Trace = VerilatedFstC;
#endif
#endif

enum Failure : uint32_t {
    kFinish = 0,
    kStop = 1,
    kFatal = 2,
    kException = 3,
    kMisdirected = 4,
    kDiverged = 5,
    kPanic = 6,
};

struct Callbacks {
    // Gives 0 to go on, 1 to stop after this cycle, 2 if the call failed.
    uint8_t (*dpi)(void* user, uint32_t function, const uint32_t* input, size_t input_words, uint32_t* output,
                   size_t output_words);
    void (*print)(void* user, const char* text, size_t length);
    void (*failure)(void* user, uint32_t kind, const char* file, uint32_t line, const char* message,
                    uint64_t cycle);
};

struct Recording {
    const uint64_t* calls;
    const uint32_t* functions;
    const uint64_t* offsets;  // one more than there are entries
    const uint32_t* words;
    uint64_t entries;
};

struct Variable {
    const char* scope;
    const char* name;
    void* data;
    uint64_t elements;
    uint32_t dimensions;
    uint32_t element_bits;
    uint32_t element_bytes;
    uint8_t writable;
};

struct Bare {
    uint64_t cycles;
    uint64_t calls;
    uint64_t nanoseconds;
};

struct Signal {
    const char* name;
    uint32_t direction;
    uint32_t width;
    uint32_t bytes;
};

struct Part {
    void* data;
    uint64_t bytes;
    uint32_t width;
    uint32_t kind;
};

struct Replay {
    Recording recording;
    uint64_t next = 0;
    uint64_t call = 0;
};

}  // namespace

struct AlcorInstance {
    Callbacks callbacks{};
    void* user = nullptr;
    VerilatedContext* context = nullptr;
    Vmodel* model = nullptr;
#if ALCOR_TRACE
    Trace* trace = nullptr;
#endif
    Replay* replay = nullptr;
    uint64_t half_period = 2000;
    uint64_t cycle = 0;
    bool has_started = false;
    bool stop = false;
    bool broken = false;  // an exception left the model in no state to go on with, nor to run its final blocks
};

namespace {

struct Unwind final {};

thread_local AlcorInstance* t_current = nullptr;

// The runtime keeps a few process-wide lists that construction and destruction touch.
std::mutex s_lifetime;

// Makes an instance, and its context, the one being evaluated on this thread.
class Entered final {
    AlcorInstance* const m_previous = t_current;

public:
    explicit Entered(AlcorInstance* self) {
        t_current = self;
        if (self->context) Verilated::threadContextp(self->context);
    }
    ~Entered() {
        t_current = m_previous;
        if (m_previous && m_previous->context) Verilated::threadContextp(m_previous->context);
    }
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
};

void fail(AlcorInstance* self, Failure kind, const char* file, int line, const char* message) {
    self->stop = true;
    self->callbacks.failure(self->user, kind, file ? file : "", line < 0 ? 0 : line, message ? message : "",
                            self->cycle);
}

template <typename Body>
void guarded(AlcorInstance* self, Body&& body) {
    const Entered entered{self};
    try {
        body();
    } catch (const Unwind&) {
        self->broken = true;
    } catch (const std::exception& error) {
        self->broken = true;
        fail(self, kException, "", 0, error.what());
    } catch (...) {
        self->broken = true;
        fail(self, kException, "", 0, "unknown C++ exception");
    }
}

void print(const char* text, size_t length) {
    if (t_current) {
        t_current->callbacks.print(t_current->user, text, length);
    } else {
        std::fwrite(text, 1, length, stderr);
    }
}

void serve_from_recording(AlcorInstance* self, uint32_t function, svBitVecVal* output, size_t words) {
    Replay& replay = *self->replay;
    const Recording& recording = replay.recording;
    const uint64_t call = replay.call++;
    if (replay.next == recording.entries || recording.calls[replay.next] != call) return;
    const uint64_t at = recording.offsets[replay.next];
    if (recording.functions[replay.next] != function || recording.offsets[replay.next + 1] - at != words) {
        fail(self, kDiverged, "", 0, "the calls differ from those that were recorded");
        return;
    }
    std::memcpy(output, recording.words + at, words * sizeof(uint32_t));
    ++replay.next;
}

inline void deliver(AlcorInstance* self, uint32_t function, const char* name, const uint32_t* input, size_t input_words,
                    uint32_t* output, size_t output_words) {
    if (VL_UNLIKELY(self->replay)) {
        serve_from_recording(self, function, output, output_words);
        return;
    }
    const uint8_t flow = self->callbacks.dpi(self->user, function, input, input_words, output, output_words);
    if (VL_UNLIKELY(flow)) {
        self->stop = true;
        if (flow == 2) fail(self, kPanic, "", 0, name);
    }
}

inline void dispatch(uint32_t function, const char* name, unsigned long long handle, const svBitVecVal* input,
                     size_t input_words, svBitVecVal* output, size_t output_words) {
    std::memset(output, 0, output_words * sizeof(svBitVecVal));
    AlcorInstance* const self = t_current;
    if (VL_UNLIKELY(!self)) return;
    if (VL_UNLIKELY(handle != reinterpret_cast<uintptr_t>(self))) {
        fail(self, kMisdirected, "", 0, name);
        return;
    }
    deliver(self, function, name, input, input_words, output, output_words);
}

// A call of an import with a signature of its own: the instance is the one that this thread evaluates.
inline void call_host(uint32_t function, const char* name, const uint32_t* input, size_t input_words, uint32_t* output,
                      size_t output_words) {
    std::memset(output, 0, output_words * sizeof(uint32_t));
    if (VL_LIKELY(t_current)) deliver(t_current, function, name, input, input_words, output, output_words);
}

inline void dump(AlcorInstance* self) {
#if ALCOR_TRACE
    if (VL_UNLIKELY(self->trace)) self->trace->dump(self->context->time());
#else
    (void)self;
#endif
}

const Signal s_signals[] = {
#define ALCOR_ROW(ident, name, direction, width, bytes) {name, direction, width, bytes},
    ALCOR_SIGNALS(ALCOR_ROW)
#undef ALCOR_ROW
    {nullptr, 0, 0, 0}};

// ------------------------------------------------------------------------------------------------ entry points

void api_destroy(AlcorInstance* self) {
    const std::lock_guard<std::mutex> lock{s_lifetime};
    guarded(self, [&] {
#if ALCOR_TRACE
        delete self->trace;
        self->trace = nullptr;
#endif
        delete self->model;
        self->model = nullptr;
        VerilatedContext* const context = self->context;
        self->context = nullptr;
        delete context;
    });
    delete self;
}

AlcorInstance* api_create(const Callbacks* callbacks, void* user, int random_seed) {
    auto self = std::make_unique<AlcorInstance>();
    self->callbacks = *callbacks;
    self->user = user;
    const std::lock_guard<std::mutex> lock{s_lifetime};
    guarded(self.get(), [&] {
        self->context = new VerilatedContext;
        Verilated::threadContextp(self->context);
        if (random_seed) {
            self->context->randReset(2);
            self->context->randSeed(random_seed);
        }
#if ALCOR_TRACE
        self->context->traceEverOn(true);
#endif
        self->model = new Vmodel{self->context, ""};
        // A random start is for what is inside.
#define ALCOR_ROW(ident, name, direction, width, bytes) \
    if (direction == 0) std::memset(static_cast<void*>(&self->model->ident), 0, bytes);
        ALCOR_SIGNALS(ALCOR_ROW)
#undef ALCOR_ROW
        ALCOR_SET_HANDLE(self->model, reinterpret_cast<uintptr_t>(self.get()));
    });
    // On failure the half-made context is left behind: nothing is known about its state.
    return self->broken ? nullptr : self.release();
}

void* api_signal(AlcorInstance* self, size_t index) {
    size_t at = 0;
#define ALCOR_ROW(ident, name, direction, width, bytes) \
    if (at++ == index) return const_cast<void*>(static_cast<const void*>(&self->model->ident));
    ALCOR_SIGNALS(ALCOR_ROW)
#undef ALCOR_ROW
    (void)self;
    return nullptr;
}

void api_variables(AlcorInstance* self, void* sink, void (*each)(void* sink, const Variable* variable)) {
    guarded(self, [&] {
        for (const auto& scope : *self->context->scopeNameMap()) {
            if (!scope.second->varsp()) continue;
            for (auto& entry : *scope.second->varsp()) {
                const VerilatedVar& var = entry.second;
                switch (var.vltype()) {
                case VLVT_UINT8:
                case VLVT_UINT16:
                case VLVT_UINT32:
                case VLVT_UINT64:
                case VLVT_WDATA: break;
                default: continue;
                }
                uint64_t elements = 1;
                for (const VerilatedRange& range : var.unpackedRanges()) elements *= range.elements();
                const Variable row{scope.first,
                                   entry.first,
                                   var.datap(),
                                   elements,
                                   static_cast<uint32_t>(var.udims()),
                                   var.entBits(),
                                   var.entSize(),
                                   static_cast<uint8_t>(var.isPublicRW() && !var.isParam())};
                each(sink, &row);
            }
        }
    });
}

void api_state(AlcorInstance* self, void* sink, void (*each)(void* sink, const Part* part)) {
#if ALCOR_HAS_STATE
    Vmodel__Syms* const symbols = self->model->rootp->vlSymsp;
#define ALCOR_ROW(kind, member, width) \
    { \
        const Part part{&symbols->member, sizeof(symbols->member), width, kind}; \
        each(sink, &part); \
    }
    ALCOR_STATE(ALCOR_ROW)
#undef ALCOR_ROW
#else
    (void)self;
    (void)sink;
    (void)each;
#endif
}

void api_skip(AlcorInstance* self, uint64_t cycles) {
    self->cycle += cycles;
    self->context->timeInc(2 * self->half_period * cycles);
}

void api_eval(AlcorInstance* self) {
    self->has_started = true;
    guarded(self, [&] { self->model->eval(); });
}

// The first evaluation runs initial blocks and takes signals as they are: no edge is seen in it.
void start(AlcorInstance* self, uint8_t* clock) {
    if (self->has_started) return;
    self->has_started = true;
    *clock = 0;
    self->model->eval();
}

uint64_t api_run(AlcorInstance* self, uint8_t* clock, uint64_t max_cycles) {
    uint64_t done = 0;
    self->stop = false;
    guarded(self, [&] {
        Vmodel* const model = self->model;
        VerilatedContext* const context = self->context;
        start(self, clock);
        while (done < max_cycles) {
            *clock = 1;
            model->eval();
            dump(self);
            context->timeInc(self->half_period);
            *clock = 0;
            model->eval();
            dump(self);
            context->timeInc(self->half_period);
            ++done;
            ++self->cycle;
            if (VL_UNLIKELY(self->stop)) break;
        }
    });
    return done;
}

void api_run_bare(AlcorInstance* self, uint8_t* clock, uint64_t cycles, const Recording* recording, Bare* result) {
    Replay replay;
    replay.recording = *recording;
    uint64_t done = 0;
    self->stop = false;
    self->replay = &replay;
    const auto begin = std::chrono::steady_clock::now();
    guarded(self, [&] {
        Vmodel* const model = self->model;
        VerilatedContext* const context = self->context;
        start(self, clock);
        while (done < cycles) {
            *clock = 1;
            model->eval();
            context->timeInc(self->half_period);
            *clock = 0;
            model->eval();
            context->timeInc(self->half_period);
            ++done;
            ++self->cycle;
            if (VL_UNLIKELY(self->stop)) break;
        }
    });
    const auto end = std::chrono::steady_clock::now();
    self->replay = nullptr;
    result->cycles = done;
    result->calls = replay.call;
    result->nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
}

void api_final(AlcorInstance* self) {
    if (self->broken) return;
    guarded(self, [&] { self->model->final(); });
}

void api_set_half_period(AlcorInstance* self, uint64_t picoseconds) { self->half_period = picoseconds; }

uint64_t api_time(AlcorInstance* self) { return self->context->time(); }

void api_trace_stop(AlcorInstance* self) {
#if ALCOR_TRACE
    guarded(self, [&] {
        Trace* const trace = self->trace;
        self->trace = nullptr;
        if (trace) {
            trace->close();
            delete trace;
        }
    });
#else
    (void)self;
#endif
}

void api_trace_start(AlcorInstance* self, const char* path) {
#if ALCOR_TRACE
    api_trace_stop(self);
    guarded(self, [&] {
        auto trace = std::make_unique<Trace>();
        self->model->trace(trace.get(), 99);
        trace->open(path);
        self->trace = trace.release();
    });
#else
    (void)self;
    (void)path;
#endif
}

void api_coverage_write(AlcorInstance* self, const char* path) {
#if ALCOR_COVERAGE
    guarded(self, [&] { self->context->coveragep()->write(path); });
#else
    (void)self;
    (void)path;
#endif
}

struct Api {
    uint32_t version;
    uint32_t has_trace;
    uint32_t has_coverage;
    uint32_t signal_count;
    const Signal* signals;
    AlcorInstance* (*create)(const Callbacks*, void*, int);
    void (*destroy)(AlcorInstance*);
    void* (*signal)(AlcorInstance*, size_t);
    void (*variables)(AlcorInstance*, void*, void (*)(void*, const Variable*));
    void (*eval)(AlcorInstance*);
    uint64_t (*run)(AlcorInstance*, uint8_t*, uint64_t);
    void (*run_bare)(AlcorInstance*, uint8_t*, uint64_t, const Recording*, Bare*);
    void (*final)(AlcorInstance*);
    void (*set_half_period)(AlcorInstance*, uint64_t);
    uint64_t (*time)(AlcorInstance*);
    void (*trace_start)(AlcorInstance*, const char*);
    void (*trace_stop)(AlcorInstance*);
    void (*coverage_write)(AlcorInstance*, const char*);
    void (*state)(AlcorInstance*, void*, void (*)(void*, const Part*));
    void (*skip)(AlcorInstance*, uint64_t);
};

const Api s_api = {ALCOR_SHIM_VERSION,
                   ALCOR_TRACE,
                   ALCOR_COVERAGE,
                   sizeof(s_signals) / sizeof(s_signals[0]) - 1,
                   s_signals,
                   api_create,
                   api_destroy,
                   api_signal,
                   api_variables,
                   api_eval,
                   api_run,
                   api_run_bare,
                   api_final,
                   api_set_half_period,
                   api_time,
                   api_trace_start,
                   api_trace_stop,
                   api_coverage_write,
                   api_state,
                   api_skip};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* alcor_model_api() { return &s_api; }

// ------------------------------------------------------------------------------------------------ DPI imports

extern "C" {
#define ALCOR_DPI_DEFINE(index, name, input_words, output_words) \
    void name(unsigned long long handle, const svBitVecVal* input, svBitVecVal* output) { \
        dispatch(index, #name, handle, input, input_words, output, output_words); \
    }
ALCOR_DPI(ALCOR_DPI_DEFINE)
#undef ALCOR_DPI_DEFINE
}

// The imports with signatures of their own. Values cross to the host as words, the least significant word first.
namespace {

template <typename T>
inline uint32_t* pack(uint32_t* to, T value) {
    static_assert(std::is_integral<T>::value, "a number");
    // A plain char is signed, as byte is.
    using Wide = typename std::conditional<std::is_same<T, char>::value, signed char, T>::type;
    const uint64_t wide = static_cast<uint64_t>(static_cast<int64_t>(static_cast<Wide>(value)));
    *to++ = static_cast<uint32_t>(wide);
    if (sizeof(T) > 4) *to++ = static_cast<uint32_t>(wide >> 32);
    return to;
}
inline uint32_t* pack(uint32_t* to, double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return pack(to, bits);
}
inline uint32_t* pack(uint32_t* to, void* value) { return pack(to, static_cast<uint64_t>(reinterpret_cast<uintptr_t>(value))); }
inline size_t text_words(const char* text) { return text ? (std::strlen(text) + 3) / 4 : 0; }
inline uint32_t* pack(uint32_t* to, const char* text) {
    const size_t length = text ? std::strlen(text) : 0;
    *to++ = static_cast<uint32_t>(length);
    std::memcpy(to, text ? text : "", length);
    return to + (length + 3) / 4;
}
inline uint32_t* pack(uint32_t* to, const svBitVecVal* value, size_t words) {
    std::memcpy(to, value, words * sizeof(uint32_t));
    return to + words;
}
inline uint32_t* pack(uint32_t* to, const svLogicVecVal* value, size_t words) {
    for (size_t at = 0; at < words; ++at) *to++ = value[at].aval;
    return to;
}

template <typename T>
inline const uint32_t* unpack(const uint32_t* from, T& value) {
    static_assert(std::is_integral<T>::value, "a number");
    uint64_t wide = *from++;
    if (sizeof(T) > 4) wide |= static_cast<uint64_t>(*from++) << 32;
    value = static_cast<T>(wide);
    return from;
}
inline const uint32_t* unpack(const uint32_t* from, double& value) {
    std::memcpy(&value, from, sizeof(value));
    return from + 2;
}
inline const uint32_t* unpack(const uint32_t* from, void*& value) {
    uint64_t bits;
    from = unpack(from, bits);
    value = reinterpret_cast<void*>(static_cast<uintptr_t>(bits));
    return from;
}
inline const uint32_t* unpack(const uint32_t* from, svBitVecVal* value, size_t words) {
    std::memcpy(value, from, words * sizeof(uint32_t));
    return from + words;
}
inline const uint32_t* unpack(const uint32_t* from, svLogicVecVal* value, size_t words) {
    for (size_t at = 0; at < words; ++at) value[at] = svLogicVecVal{*from++, 0};
    return from;
}

}  // namespace

extern "C" {
#include "imports.h"
}

// ------------------------------------------------------------------------------------------------ runtime hooks

int alcor_printf(const char* format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, args);
    va_end(args);
    if (length > 0) {
        std::string text(static_cast<size_t>(length) + 1, '\0');
        std::vsnprintf(&text[0], text.size(), format, again);
        print(text.data(), static_cast<size_t>(length));
    }
    va_end(again);
    return length;
}

void alcor_runtime_check_failed(const char* what) { throw std::runtime_error(what); }

void vl_finish(const char* file, int line, const char*) {
    Verilated::threadContextp()->gotFinish(true);
    if (t_current) fail(t_current, kFinish, file, line, "");
}

void vl_stop(const char* file, int line, const char*) {
    Verilated::threadContextp()->gotError(true);
    Verilated::threadContextp()->gotFinish(true);
    if (t_current) fail(t_current, kStop, file, line, "");
}

void vl_stop_maybe(const char* file, int line, const char* hier, bool) {
    Verilated::threadContextp()->errorCountInc();
    vl_stop(file, line, hier);
}

// The runtime counts on this not to return: some of its loops would never end.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    Verilated::threadContextp()->gotError(true);
    Verilated::threadContextp()->gotFinish(true);
    if (t_current) fail(t_current, kFatal, file, line, message);
    if (!std::uncaught_exceptions()) throw Unwind{};
}

void vl_warn(const char* file, int line, const char*, const char* message) {
    alcor_printf("%%Warning: %s:%d: %s\n", file, line, message);
}
