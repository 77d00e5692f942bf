# The command of a container that cassay creates: it waits until this program runs as an agent in the
# container, and ends with the agent. An agent without a controller ends, so the container ends soon too.
trap 'exit 0' TERM INT
left=$CASSAY_WAIT_S
while [ ! -s "$CASSAY_WAITS" ]; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || exit 1
  sleep 1
done
read -r agent < "$CASSAY_WAITS"
while [ -d "/proc/$agent" ]; do sleep 1; done
