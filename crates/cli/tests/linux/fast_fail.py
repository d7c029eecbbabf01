"""Reads of an NVMe namespace by the kernel's passthrough, with IODA's predictable-latency flag, while fio writes.

fast_fail.py DEVICE READS: how many were served and how many failed fast, with their times and the time that the drive
said it would still be busy.
"""
import ctypes
import fcntl
import os
import random
import subprocess
import sys
import time

IO64 = 0xC0504E48  # NVME_IOCTL_IO64_CMD of linux/nvme_ioctl.h
READ = 2
PREDICTABLE = int(os.environ.get("PL", "1"))  # CDW2 bits 1:0


class Command(ctypes.Structure):
    _fields_ = [("opcode", ctypes.c_uint8), ("flags", ctypes.c_uint8), ("rsvd1", ctypes.c_uint16),
                ("nsid", ctypes.c_uint32), ("cdw2", ctypes.c_uint32), ("cdw3", ctypes.c_uint32),
                ("metadata", ctypes.c_uint64), ("addr", ctypes.c_uint64), ("metadata_len", ctypes.c_uint32),
                ("data_len", ctypes.c_uint32), ("cdw10", ctypes.c_uint32), ("cdw11", ctypes.c_uint32),
                ("cdw12", ctypes.c_uint32), ("cdw13", ctypes.c_uint32), ("cdw14", ctypes.c_uint32),
                ("cdw15", ctypes.c_uint32), ("timeout_ms", ctypes.c_uint32), ("rsvd2", ctypes.c_uint32),
                ("result", ctypes.c_uint64)]


def read(device, page):
    """The status of a read of 4 KiB, its result and its time in us."""
    buffer = ctypes.create_string_buffer(4096)
    command = Command(opcode=READ, nsid=1, cdw2=PREDICTABLE, addr=ctypes.addressof(buffer), data_len=4096,
                      cdw10=page * 8, cdw12=7)
    begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    status = fcntl.ioctl(device, IO64, command)
    return status, command.result, (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - begun) / 1000


def main():
    name, reads = sys.argv[1], int(sys.argv[2])
    device = os.open(name, os.O_RDONLY)
    pages = os.lseek(device, 0, os.SEEK_END) // 4096
    drawn = random.Random(1)
    writer = subprocess.Popen(
        ["fio", "--name=w", f"--filename={name}", "--rw=randwrite", "--bs=4k", "--iodepth=8", "--ioengine=libaio",
         "--direct=1", "--number_ios=20000", "--clocksource=clock_gettime", "--randseed=3", "--output=/dev/null"])
    told = {}
    for _ in range(reads):
        status, result, took = read(device, drawn.randrange(pages))
        told.setdefault(status, []).append((took, result))
        time.sleep(0.001)
    for status, all_of in sorted(told.items()):
        took = sorted(took for took, _ in all_of)
        busy = max(result for _, result in all_of)
        print(f"status {status:#x}: {len(took)} reads, median {took[len(took) // 2]:.1f} us, max {took[-1]:.1f} us, "
              f"busy at most {busy / 1000:.1f} us")
    writer.kill()
    writer.wait()


main()
