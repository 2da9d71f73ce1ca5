// The part of LZ4 that the FST writer calls: a greedy compressor of the block format. It makes tracing independent of
// what libraries the machine has.
#ifndef ALCOR_LZ4_H_
#define ALCOR_LZ4_H_

#include <cstdint>
#include <cstring>
#include <vector>

static inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

static inline int LZ4_compress_default(const char* source, char* target, int size, int capacity) {
    if (size < 0 || capacity < LZ4_compressBound(size)) return 0;
    constexpr int kHashBits = 14;
    constexpr int kMinMatch = 4;
    constexpr int kMaxOffset = 65535;
    // The format asks that the last match starts 12 bytes, and that the last 5 bytes are literals.
    const int match_limit = size - 12;
    const int length_limit = size - 5;
    const auto* const src = reinterpret_cast<const uint8_t*>(source);
    auto* out = reinterpret_cast<uint8_t*>(target);

    const auto put_length = [&out](int rest) {
        for (; rest >= 255; rest -= 255) *out++ = 255;
        *out++ = static_cast<uint8_t>(rest);
    };
    const auto put_sequence = [&](int anchor, int literals, int offset, int match) {
        uint8_t* const token = out++;
        *token = static_cast<uint8_t>((literals < 15 ? literals : 15) << 4);
        if (literals >= 15) put_length(literals - 15);
        if (literals) std::memcpy(out, src + anchor, literals);
        out += literals;
        if (!match) return;
        *out++ = static_cast<uint8_t>(offset);
        *out++ = static_cast<uint8_t>(offset >> 8);
        const int code = match - kMinMatch;
        *token |= static_cast<uint8_t>(code < 15 ? code : 15);
        if (code >= 15) put_length(code - 15);
    };

    std::vector<int> table(size_t{1} << kHashBits, -1);
    int anchor = 0;
    int at = 0;
    while (at < match_limit) {
        uint32_t here;
        std::memcpy(&here, src + at, 4);
        int& slot = table[(here * 2654435761U) >> (32 - kHashBits)];
        const int candidate = slot;
        slot = at;
        uint32_t there = 0;
        if (candidate >= 0) std::memcpy(&there, src + candidate, 4);
        if (candidate < 0 || at - candidate > kMaxOffset || there != here) {
            ++at;
            continue;
        }
        int match = kMinMatch;
        while (at + match < length_limit && src[candidate + match] == src[at + match]) ++match;
        put_sequence(anchor, at - anchor, at - candidate, match);
        at += match;
        anchor = at;
    }
    put_sequence(anchor, size - anchor, 0, 0);
    return static_cast<int>(out - reinterpret_cast<uint8_t*>(target));
}

#endif
