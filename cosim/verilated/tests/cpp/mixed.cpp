#include "Vmodel__Dpi.h"
#include "twice.h"

int cpp_twice(int value) { return twice(sv_next(value)) + 100; }
