# What a container of ours does: it waits until this program is an agent in it, and ends when that
# ends. An agent ends when nobody talks with it, so nothing here outlives a controller for long.
trap 'exit 0' TERM INT
left=$CASSAY_WAIT_S
while [ ! -s "$CASSAY_WAITS" ]; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || exit 1
  sleep 1
done
read -r agent < "$CASSAY_WAITS"
while [ -d "/proc/$agent" ]; do sleep 1; done
