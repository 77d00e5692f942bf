#!/bin/busybox sh
# The first process of a guest. It runs each file of /steps in order. It writes their stdout to the second
# serial line, between marks. Their stderr and the messages of the kernel go to the first serial line.
/bin/busybox --install -s /bin
export PATH=/bin HOME=/root
# The kernel has unpacked all files into the memory of one NUMA node, where they may take half of it. A
# process that is bound to this node would lack memory. So the files move to a folder on all nodes.
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
  # The last line of the output may lack its line end.
  echo >&3
  echo "@@end ${step##*/} $code" >&3
done
read -r up _ </proc/uptime
echo "@@done $up" >&3
exec 3>&-
sync
poweroff -f
