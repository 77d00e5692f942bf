# The command of the pod of a run: it waits for the program, runs the study, and then waits until cassay
# has copied the results, for at most a day.
run=
trap '[ -z "$run" ] || { kill -INT "$run"; wait "$run"; }; exit 143' TERM INT
left=600
while [ ! -e /cassay/go ]; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || exit 1
  sleep 1
done
for program in /cassay/agent-*; do
  case $program in *.part) ;; *) break ;; esac
done
cd /cassay/study || exit 1
CASSAY_CACHE=/cassay/cache CASSAY_DATA=/cassay/data HOME=/cassay "$program" run study.yaml \
  --out /results "$@" < /dev/null &
run=$!
wait "$run"
code=$?
run=
echo "$code" > /cassay/code
echo "cassay-inside: $code"
left=86400
while [ ! -e /cassay/taken ] && [ "$left" -gt 0 ]; do
  left=$((left - 1))
  sleep 1
done
exit "$code"
