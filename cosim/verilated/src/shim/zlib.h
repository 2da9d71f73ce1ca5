// The part of zlib that the FST writer calls. It stores without compressing: the writer then keeps the plain bytes,
// which the format allows, because they are the smaller of the two. Value changes are compressed with LZ4.
#ifndef ALCOR_ZLIB_H_
#define ALCOR_ZLIB_H_

#include <cstdint>
#include <cstring>

typedef unsigned long uLong;
typedef unsigned long uLongf;
typedef unsigned char Bytef;
#define Z_OK 0
#define Z_BUF_ERROR (-5)

static inline uLong compressBound(uLong size) { return size + 5 * (size / 65535 + 1) + 6; }

static inline int compress2(Bytef* target, uLongf* target_size, const Bytef* source, uLong size, int) {
    if (*target_size < compressBound(size)) return Z_BUF_ERROR;
    Bytef* out = target;
    *out++ = 0x78;
    *out++ = 0x01;
    uint32_t a = 1;
    uint32_t b = 0;
    uLong at = 0;
    do {
        const uLong chunk = size - at < 65535 ? size - at : 65535;
        *out++ = at + chunk == size;
        *out++ = static_cast<Bytef>(chunk);
        *out++ = static_cast<Bytef>(chunk >> 8);
        *out++ = static_cast<Bytef>(~chunk);
        *out++ = static_cast<Bytef>(~chunk >> 8);
        for (uLong i = 0; i < chunk; ++i) {
            const Bytef byte = source[at + i];
            *out++ = byte;
            a = (a + byte) % 65521;
            b = (b + a) % 65521;
        }
        at += chunk;
    } while (at < size);
    *out++ = static_cast<Bytef>(b >> 8);
    *out++ = static_cast<Bytef>(b);
    *out++ = static_cast<Bytef>(a >> 8);
    *out++ = static_cast<Bytef>(a);
    *target_size = out - target;
    return Z_OK;
}

#endif
