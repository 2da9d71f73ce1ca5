/* What the test programs check with: the first that is not as it should be is told, and ends the program. */
#include <alcor.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) EXPECT(ALCOR_OK, call)
#define EXPECT(expected, call)                                                                            \
    do {                                                                                                  \
        const alcor_result_t result_ = (call);                                                            \
        if (result_ != (expected)) {                                                                      \
            fprintf(stderr, "line %d: %s, not %s: %s\n", __LINE__, alcor_error_name(result_),             \
                    alcor_error_name(expected), alcor_error_message());                                   \
            exit(1);                                                                                      \
        }                                                                                                 \
        if (result_ != ALCOR_OK && alcor_error_message()[0] == 0) {                                       \
            fprintf(stderr, "line %d: no message\n", __LINE__);                                           \
            exit(1);                                                                                      \
        }                                                                                                 \
    } while (0)
#define EXPECT_TRUE(condition)                                              \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)
