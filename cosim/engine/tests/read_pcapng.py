"""Prints the packets of a pcapng file of Alcor, a line each; knows the format from its specification and docs/timeline.md."""

import struct
import sys

data = open(sys.argv[1], "rb").read()
at = 0
kinds = []
while at < len(data):
    kind, length = struct.unpack_from("<II", data, at)
    assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4)[0] == length, "a block's lengths differ"
    body = data[at + 8 : at + length - 4]
    kinds.append(kind)
    if kind == 0x0A0D0D0A:
        magic, major, minor, section = struct.unpack_from("<IHHq", body)
        assert (magic, major, minor, section) == (0x1A2B3C4D, 1, 0, -1)
    elif kind == 1:
        link_type, reserved, snap = struct.unpack_from("<HHI", body)
        assert (link_type, reserved, snap) == (147, 0, 0)
        assert struct.unpack_from("<HHB", body, 8) == (9, 1, 9), "no nanoseconds"
        assert body[16:] == bytes(4), "no end of options"
    elif kind == 6:
        interface, high, low, captured, original = struct.unpack_from("<IIIII", body)
        assert interface == 0 and captured == original <= len(body) - 20 < captured + 4
        record = body[20 : 20 + captured]
        version, header, flags, channel, board, number, cycle, cycles, run = struct.unpack_from("<BBBBHHQII", record)
        assert version == 1 and header == 24 and len(record) % 4 == 0
        assert (high << 32 | low) % 4 == 0
        words = struct.unpack_from(f"<{(len(record) - header) // 4}I", record, header)
        print(run, cycle, cycles, board, number, channel, flags, *words)
    at += length
assert at == len(data) and kinds[:2] == [0x0A0D0D0A, 1]
