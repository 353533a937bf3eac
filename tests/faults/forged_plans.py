"""Plan files that say something else, with check sums that are right."""
import struct


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_record(plan, text):
    """The plan with another record of decisions (converter/emit/decisions_record.hpp)."""
    data = text.encode()
    return plan[:plan.rindex(b"TNDC")] + b"TNDC" + struct.pack("<IQ", crc32c(data), len(data)) + data


def with_number(plan, old, new):
    """The plan with another number of 64 bits wherever it has `old` (sdk/schema/plan.fbs, FileHeader: its
    bytes and their sum, which is that with zeros in its own place)."""
    changed = plan.replace(struct.pack("<Q", old), struct.pack("<Q", new))
    for at in range(0, len(plan) - 8, 4):
        size, total = struct.unpack_from("<II", plan, at)
        if 64 <= size <= len(plan) and crc32c(plan[:at + 4] + bytes(4) + plan[at + 8:size]) == total:
            sealed = changed[:at + 4] + bytes(4) + changed[at + 8:]
            return sealed[:at + 4] + struct.pack("<I", crc32c(sealed[:size])) + sealed[at + 8:]
    raise ValueError("no header whose sum is right")
