#!/usr/bin/env bash
# Apache Otava 0.8.0: it reads the rows of a CSV file in the order of the file, and ignores the order of `time_column`.
#
# Expected: a tool that requires the name of the time column orders its series by this column. Observed: the script
# writes the same forty rows twice (a latency that rises by 30 % in the middle). With the newest row first, as many
# tools export data, Otava finds a fall of 23 %. So `--output regressions_only` reports nothing, and the file passes.
# The printed table is also in the order of the file.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "apache-otava==0.8.0"
cd "$work"
python3 - <<'PYTHON'
rows = [
    f"2026-11-{1 + i // 24:02d}T{i % 24:02d}:00:00+00:00,r{i:02d},{(13 if i >= 20 else 10) + (i * 7 % 5) / 20}"
    for i in range(40)
]
for name, lines in (("oldest_first", rows), ("newest_first", rows[::-1])):
    with open(f"{name}.csv", "w") as out:
        out.write("time,run,p99_ms\n" + "\n".join(lines) + "\n")
with open("otava.yaml", "w") as out:
    out.write("tests:\n")
    for name in ("oldest_first", "newest_first"):
        out.write(f"""  {name}:
    type: csv
    file: {name}.csv
    time_column: time
    attributes: [run]
    metrics:
      p99_ms: {{column: p99_ms, direction: -1}}
""")
PYTHON
"$work/venv/bin/pip" show apache-otava | grep -i '^version'
failed=0
for name in oldest_first newest_first; do
  found=$("$work/venv/bin/otava" analyze --config-file otava.yaml "$name" 2>/dev/null | grep -oE '[+-][0-9]+\.[0-9]+%' | head -n 1)
  regressions=$("$work/venv/bin/otava" analyze --config-file otava.yaml --output regressions_only "$name" 2>/dev/null | grep -c p99_ms || true)
  printf '%s: change %s, lines of regressions_only that name p99_ms: %s\n' "$name" "$found" "$regressions"
  case "$name $found" in
    "oldest_first +"*) [ "$regressions" -gt 0 ] || failed=1 ;;
    "newest_first -"*) [ "$regressions" -eq 0 ] || failed=1 ;;
    *) failed=1 ;;
  esac
done
[ "$failed" -eq 0 ] || { echo "otherwise than seen with 0.8.0"; exit 1; }
