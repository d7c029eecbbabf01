#!/bin/sh
# A file system of the host's kernel on a served drive: nbdfuse makes a file of it, a loop device a disk of that.
#
#   serve_loop.sh FOLDER URI        as root; exit code 77: the kernel has no FUSE or no loop devices for us
set -eu
folder="$1" uri="$2" fuse= device= mounted=
for program in nbdfuse losetup mkfs.ext4 e2fsck mount; do
    PATH="$PATH:/usr/sbin:/sbin"
    command -v "$program" >/dev/null || { echo "$program is not installed"; exit 77; }
done
[ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && losetup -f >/dev/null 2>&1 || { echo "no FUSE or no loop devices here"; exit 77; }
# The verdict stands when this begins: it takes away what is left, also where a part is gone already, and must not replace
# the exit code.
end() {
    [ -z "$mounted" ] || umount "$folder/mount" || true
    [ -z "$device" ] || losetup -d "$device" || true
    [ -z "$fuse" ] || { kill "$fuse"; wait "$fuse" || true; }
}
trap end EXIT
mkdir -p "$folder/fuse" "$folder/mount"
nbdfuse "$folder/fuse/disk" "$uri" &
fuse=$!
waited=0
until [ -s "$folder/fuse/disk" ]; do
    kill -0 "$fuse" 2>/dev/null && [ "$waited" -lt 200 ] || { fuse=; echo "nbdfuse may not mount here"; exit 77; }
    waited=$((waited + 1))
    sleep 0.05
done
device="$(losetup -f --show --direct-io=on "$folder/fuse/disk")" || { device=; echo "no loop device to be had"; exit 77; }
mkfs.ext4 -q "$device"
mount "$device" "$folder/mount" && mounted=yes
for number in $(seq 40); do
    head -c $((number * 20000)) /dev/urandom >"$folder/mount/$number"
done
(cd "$folder/mount" && sha256sum [0-9]*) >"$folder/sums"
rm "$folder/mount/7" "$folder/mount/30"
# A kernel whose FUSE has no holes refuses it; the files and e2fsck are the check, with the trim and without.
fstrim "$folder/mount" || true
umount "$folder/mount" && mounted=
e2fsck -fn "$device"
mount "$device" "$folder/mount" && mounted=yes
grep -v -E '  (7|30)$' "$folder/sums" >"$folder/left"
(cd "$folder/mount" && sha256sum -c --quiet "$folder/left")
umount "$folder/mount" && mounted=
