#!/bin/busybox sh
# The first process of a guest. It runs each file of /steps in order and says what it wrote to
# stdout on the second serial line, between marks; stderr and the kernel are on the first.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
# The kernel has unpacked all files on one node, which may be half of its memory: a process that is
# bound to it would find it full. They move to where they are spread over all nodes.
if [ "${1:-}" != spread ]; then
  mkdir /spread
  mount -t tmpfs -o mpol=interleave spread /spread
  for one in /*; do
    test "$one" = /spread || cp -a "$one" /spread/
  done
  exec switch_root /spread /init spread
fi
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mpol=interleave tmp /tmp
stty -F /dev/ttyS1 raw -echo
stty -F /dev/ttyS2 raw -echo
exec 3>/dev/ttyS1
for step in /steps/*; do
  echo "init: ${step##*/}" >&2
  echo "@@begin ${step##*/}" >&3
  "$step" </dev/null >&3
  code=$?
  # The line before may have no end of its own.
  echo >&3
  echo "@@end ${step##*/} $code" >&3
done
read -r up _ </proc/uptime
echo "@@done $up" >&3
exec 3>&-
sync
poweroff -f
