"""TLS of NBD by libnbd: argv is the URI in the clear, the folders of a client's certificates, of a stranger's, of none."""
import sys

import nbd

clear, client, stranger, bare = sys.argv[1:5]
required = "required" in sys.argv


def connect(folder, uri=clear):
    h = nbd.NBD()
    if folder:
        h.set_tls(nbd.TLS_REQUIRE)
        h.set_tls_certificates(folder)
        h.set_tls_verify_peer(True)
    h.connect_uri(uri)
    return h


def refused(folder):
    try:
        h = connect(folder)
        # TLS 1.3: a client hears only afterwards that its certificate is none.
        h.pread(512, 0)
    except nbd.Error as error:
        return str(error)
    raise AssertionError(f"{folder} is served")


h = connect(client)
assert h.get_tls_negotiated()
pattern = bytes(range(256)) * (1 << 14)
h.pwrite(pattern, 0)
h.flush()
assert h.pread(len(pattern), 0) == pattern
# Many at once, and answers of 32 MiB that are read late.
buffers = [nbd.Buffer(1 << 20) for _ in range(64)]
cookies = [h.aio_pread(buffer, (number % 4) << 20) for number, buffer in enumerate(buffers)]
for cookie in cookies:
    while not h.aio_command_completed(cookie):
        h.poll(-1)
assert all(buffer.to_bytearray() == pattern[(number % 4) << 20:][:1 << 20] for number, buffer in enumerate(buffers))
h.pwrite(bytes(32 << 20), 0)
assert h.pread(32 << 20, 0) == bytes(32 << 20)
if required:
    for folder in (stranger, bare, ""):
        print(refused(folder))
else:
    assert connect(bare).get_tls_negotiated()
    other = connect("")
    assert not other.get_tls_negotiated() and other.pread(4096, 0) == bytes(4096)
assert h.pread(4096, 0) == bytes(4096)
h.shutdown()
