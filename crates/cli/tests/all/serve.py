"""Every command and every error of NBD, by libnbd, against the server at argv[1]."""
import errno
import sys

import nbd

PAGE = 4096


def fails(number, call, *args):
    try:
        call(*args)
    except nbd.Error as error:
        assert error.errnum == number, error
    else:
        raise AssertionError(f"{call} {args} succeeded")


h = nbd.NBD()
h.add_meta_context("base:allocation")
h.connect_uri(sys.argv[1])
h.set_strict_mode(0)
size = h.get_size()
assert h.can_multi_conn() and h.can_fua() and h.can_df() and h.can_cache()
assert [h.get_block_size(kind) for kind in range(3)] == [512, PAGE, 32 << 20]
assert h.get_structured_replies_negotiated()

ones = b"1" * PAGE
h.pwrite(ones, 0, nbd.CMD_FLAG_FUA)
h.pwrite(ones, PAGE)
assert h.pread(2 * PAGE, 0) == 2 * ones
h.zero(512, 512)
assert h.pread(1536, 0) == ones[:512] + bytes(512) + ones[:512]
h.zero(2 * PAGE, 0, nbd.CMD_FLAG_FAST_ZERO)
assert h.pread(2 * PAGE, 0) == bytes(2 * PAGE)
h.zero(PAGE, 0, nbd.CMD_FLAG_NO_HOLE)
h.pwrite(ones, 2 * PAGE)
h.trim(PAGE, 2 * PAGE, nbd.CMD_FLAG_FUA)
assert h.pread(PAGE, 2 * PAGE) == bytes(PAGE)
h.cache(PAGE, 0)
h.flush()
h.pwrite(ones, 8 * PAGE)

told = []
h.block_status(PAGE * 16, 0, lambda context, offset, extents, error: told.extend(extents))
runs = [(told[at], told[at + 1]) for at in range(0, len(told), 2)]
assert sum(length for length, _ in runs) == PAGE * 16, runs
assert runs == [(3 * PAGE, 3), (13 * PAGE, 0)], runs

chunks = []
buffer = h.pread_structured(PAGE, 8 * PAGE, lambda *chunk: chunks.append(chunk[1:3]), nbd.CMD_FLAG_DF)
assert buffer == ones and chunks == [(8 * PAGE, nbd.READ_DATA)], chunks

fails(errno.EINVAL, h.pread, PAGE, size)
fails(errno.EINVAL, h.pread, 100, 0)
fails(errno.EINVAL, h.pread, 512, 100)
fails(errno.ENOSPC, h.pwrite, ones, size)
fails(errno.ENOSPC, h.zero, PAGE, size)
fails(errno.EINVAL, h.trim, PAGE, size)
fails(errno.EINVAL, h.trim, 0, 0)
fails(errno.EINVAL, h.pread, PAGE, 0, 1 << 15)
assert h.pread(PAGE, 8 * PAGE) == ones
h.shutdown()

h = nbd.NBD()
h.set_opt_mode(True)
h.connect_uri(sys.argv[1])
names = []
h.opt_list(lambda name, description: names.append(name))
assert names == ["manx"], names
h.set_export_name("another")
fails(errno.ENOENT, h.opt_go)
h.set_export_name("manx")
h.opt_info()
h.opt_go()
assert h.get_size() == size
h.shutdown()
