// Included ahead of every file of a model and of the Verilator runtime: sends what the runtime prints, and what it
// would stop or abort the process with, to the shim.
#ifndef ALCOR_HOOKS_H_
#define ALCOR_HOOKS_H_

#include <cstdarg>
#include <cstdio>

__attribute__((format(printf, 1, 2))) int alcor_printf(const char* format, ...);
[[noreturn]] void alcor_runtime_check_failed(const char* what);

// The runtime declares this one in none of its headers.
void vl_stop_maybe(const char* file, int line, const char* hier, bool maybe);

#define VL_PRINTF alcor_printf
#define VL_USER_FINISH 1
#define VL_USER_STOP 1
#define VL_USER_STOP_MAYBE 1
#define VL_USER_FATAL 1
#define VL_USER_WARN 1
#define VL_TIME_CONTEXT 1

// The FST writer aborts the process when a check fails; here a check throws, and the shim reports it.
#if defined(ALCOR_FST_RUNTIME) && __has_include("fstcpp/fstcpp_assertion.h")
#include "fstcpp/fstcpp_assertion.h"
#undef FST_CHECK
#undef FST_CHECK_EQ
#undef FST_CHECK_NE
#undef FST_CHECK_GT
#undef FST_CHECK_GE
#undef FST_CHECK_LT
#undef FST_CHECK_LE
#define ALCOR_FST_CHECK(ok, text) \
    do { \
        if (!(ok)) alcor_runtime_check_failed("FST writer: " text); \
    } while (0)
#define FST_CHECK(a) ALCOR_FST_CHECK(a, #a)
#define FST_CHECK_EQ(a, b) ALCOR_FST_CHECK((a) == (b), #a " == " #b)
#define FST_CHECK_NE(a, b) ALCOR_FST_CHECK((a) != (b), #a " != " #b)
#define FST_CHECK_GT(a, b) ALCOR_FST_CHECK((a) > (b), #a " > " #b)
#define FST_CHECK_GE(a, b) ALCOR_FST_CHECK((a) >= (b), #a " >= " #b)
#define FST_CHECK_LT(a, b) ALCOR_FST_CHECK((a) < (b), #a " < " #b)
#define FST_CHECK_LE(a, b) ALCOR_FST_CHECK((a) <= (b), #a " <= " #b)
#endif

#endif
