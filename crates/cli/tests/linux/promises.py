"""What a file system promises, kept for a while and judged after a power cut: in the guest of `cuts`.

promises.py keep ordered|journal|xfs     makes a file system on /dev/vda; every promise that it has kept is a line
promises.py check ordered|journal|xfs    fails where a promise of /run/manx-before is broken, or the file system is
"""
import os
import subprocess
import sys

FILES = 120
MKFS = {"xfs": ["mkfs.xfs", "-q"]}
OPTIONS = {"ordered": ["-o", "data=ordered"], "journal": ["-o", "data=journal"]}
CHECK = {"xfs": ["xfs_repair", "-n"]}


def body(number):
    """The bytes of a file."""
    return b"%d\n" % number * (number * 37 % 4000 + 1)


def say(what):
    os.write(1, f"{what}\n".encode())


def durable(path, text, flags=os.O_TRUNC):
    file = os.open(path, os.O_CREAT | os.O_WRONLY | flags, 0o644)
    os.write(file, text)
    os.fsync(file)
    os.close(file)


def keep(kind):
    subprocess.check_call([*MKFS.get(kind, ["mkfs.ext4", "-q"]), "/dev/vda"])
    subprocess.check_call(["mount", *OPTIONS.get(kind, []), "/dev/vda", "/mnt"])
    subprocess.check_call(["sync"])
    say("made")
    folder = os.open("/mnt", os.O_RDONLY)
    for i in range(1, FILES + 1):
        durable(f"/mnt/f{i}", body(i))
        os.fsync(folder)
        say(f"file {i}")
        durable("/mnt/new", b"%d" % i)
        os.rename("/mnt/new", "/mnt/state")
        os.fsync(folder)
        say(f"state {i}")
        durable("/mnt/log", b"%08d\n" % i, os.O_APPEND)
        os.fsync(folder)
        say(f"log {i}")
        if i % 5 == 0:
            os.unlink(f"/mnt/f{i - 3}")
            os.fsync(folder)
            say(f"gone {i - 3}")
        if i % 7 == 0:
            # Not promised: it may be lost, and may not hurt.
            with open("/mnt/loose", "wb", buffering=0) as loose:
                loose.write(body(i) * 3)


def wrong(why):
    print(why)
    sys.exit(1)


def check(kind):
    said = []
    if os.path.exists("/run/manx-before"):
        said = [line.split() for line in open("/run/manx-before")]
    mounted = subprocess.call(["mount", "/dev/vda", "/mnt"], stderr=subprocess.DEVNULL) == 0
    if not said:
        return
    if not mounted:
        wrong("it cannot be mounted")
    numbers = {kind: [int(words[1]) for words in said if words[0] == kind] for kind in ("file", "state", "log", "gone")}
    last = {kind: max(of, default=0) for kind, of in numbers.items()}
    for i in range(1, last["file"] + 1):
        path = f"/mnt/f{i}"
        if i in numbers["gone"]:
            if os.path.exists(path):
                wrong(f"file {i} is back")
            continue
        # It may be gone already, before that was said.
        if i % 5 == 2 and last["log"] == i + 3 and not os.path.exists(path):
            continue
        if not os.path.exists(path) or open(path, "rb").read() != body(i):
            wrong(f"file {i} is not whole")
    if last["state"]:
        state = int(open("/mnt/state").read() or 0) if os.path.exists("/mnt/state") else 0
        if state not in (last["state"], last["state"] + 1):
            wrong(f"state {state} after {last['state']}")
    if last["log"]:
        log = open("/mnt/log").read().split("\n")[:-1] if os.path.exists("/mnt/log") else []
        if log[: last["log"]] != ["%08d" % i for i in range(1, last["log"] + 1)] or len(log) > last["log"] + 1:
            wrong(f"log of {len(log)} lines after {last['log']}")
    subprocess.check_call(["umount", "/mnt"])
    judged = subprocess.run([*CHECK.get(kind, ["e2fsck", "-fn"]), "/dev/vda"], capture_output=True, text=True)
    if judged.returncode:
        wrong(judged.stdout + judged.stderr)


if __name__ == "__main__":
    {"keep": keep, "check": check}[sys.argv[1]](sys.argv[2])
