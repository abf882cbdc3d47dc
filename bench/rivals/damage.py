"""Damages the newest journal of a fjall store that was killed while writing groups of 128, and opens each damaged copy.

timeout -s KILL 0.8 target/release/engines write fjall /tmp/engines-j 0 | tail -1
python3 damage.py target/release/engines /tmp/engines-j
"""

import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

GROUP_START = b"\x01" + struct.pack("<I", 4 * 128)  # tag, number of items; then a sequence number of 8 bytes
ITEM = 13  # where the first item starts within a group
VALUE_LENGTH = ITEM + 1 + 1 + 1 + 8 + 2 + 4  # after tag, type, compression, keyspace, key length, plain length


def groups(journal: bytes) -> list[int]:
    found, at = [], journal.find(GROUP_START)
    while at >= 0:
        found.append(at)
        at = journal.find(GROUP_START, at + ITEM)
    return found


def flipped(journal: bytes, at: int) -> bytes:
    return journal[:at] + bytes([journal[at] ^ 0x40]) + journal[at + 1 :]


def cases(journal: bytes):
    starts = groups(journal)
    last, middle = starts[-1], starts[len(starts) // 2]
    end, page = len(journal.rstrip(b"\0")), middle & ~4095
    yield f"untouched, {len(starts)} groups", journal
    yield "last 100 bytes cut off", journal[: end - 100]
    yield "bit in a value, last group", flipped(journal, last + 200)
    yield "bit in a value, middle", flipped(journal, middle + 200)
    yield "tag of a group, middle", flipped(journal, middle)
    yield "tag of an item, middle", flipped(journal, middle + ITEM)
    yield "length of a value, middle", flipped(journal, middle + VALUE_LENGTH + 3)
    yield "end mark of a group, middle", flipped(journal, middle - 2)
    yield "4 KiB of zeros, middle", journal[:page] + bytes(4096) + journal[page + 4096 :]


def main() -> None:
    program, store = sys.argv[1:3]
    newest = max(Path(store).glob("*.jnl"), key=lambda path: int(path.stem))
    for name, journal in cases(newest.read_bytes()):
        with tempfile.TemporaryDirectory(prefix="engines-") as folder:
            copy = Path(folder) / "copy"
            shutil.copytree(store, copy)
            (copy / newest.name).write_bytes(journal)
            done = subprocess.run([program, "open", "fjall", copy], capture_output=True, text=True)
            print(f"{name}: {(done.stdout or done.stderr).splitlines()[0]}", flush=True)


main()
