# The remote `sh` runs this script until it becomes an agent. Lines of this script begin with a mark, so
# cassay can separate them from the output of startup files. cassay sends the request only after the
# script announces that it waits, because `head` may read more bytes than its limit.
umask 077
say() { echo "cassay-agent: $*"; }
no() { say "no $*"; exit 1; }
has() { command -v "$1" > /dev/null 2>&1; }
sum() { has sha256sum && set -- "$(sha256sum < "$1")" && [ "${1%% *}" = "$digest" ]; }

pack=plain
if has gzip; then pack=gzip; fi
at=${SSH_CONNECTION#* * }
at=${at%% *}
say "is $(uname -s) $(uname -m) $pack ${at:--}"
read -r digest bytes folder user name || exit 1

# Use the program of an installed package if it has the same bytes.
program=$(command -v cassay)
case $program in /*) ;; *) program= ;; esac
if [ -z "$program" ] || ! sum "$program"; then
  if [ "$folder" = - ]; then
    folder=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
    [ -n "$folder" ] || no home
    folder=$folder/cassay/agents
  fi
  mkdir -p "$folder" || no folder "$folder"
  program=$folder/agent-$digest
  # The new time marks the program as used, so that another cleanup keeps it.
  if [ -f "$program" ]; then touch "$program"; fi
  right() {
    if has sha256sum; then sum "$1"; else [ "$(wc -c < "$1")" -eq "$bytes" ]; fi
  }
  if ! [ -x "$program" ] || ! right "$program"; then
    # The name of the part is unique, even if machines share a home. Only an executable part is filled.
    part=$program.$(uname -n).$$.part
    touch "$part" && chmod 700 "$part" || no write "$folder"
    [ -x "$part" ] || { rm -f "$part"; no exec "$folder"; }
    say send
    read -r length || { rm -f "$part"; exit 1; }
    if [ "$pack" = gzip ]; then head -c "$length" | gzip -dc; else head -c "$length"; fi > "$part" ||
      { rm -f "$part"; no write "$folder"; }
    right "$part" || { rm -f "$part"; no whole "$folder"; }
    mv -f "$part" "$program" || { rm -f "$part"; no write "$folder"; }
  fi
  # Keep this program, the program that was used before it, and parts that may still be arriving.
  # Remove all other programs and parts of cassay.
  others=0
  ls -t "$folder" | while IFS= read -r name; do
    if expr "$name" : 'agent-[0-9a-f]\{64\}$' && [ "$name" != "agent-$digest" ]; then
      others=$((others + 1))
      if [ "$others" -gt 1 ]; then rm -f "$folder/$name"; fi
    elif expr "$name" : 'agent-[0-9a-f]\{64\}\..*\.part$'; then
      find "$folder/$name" -mtime +0 -exec rm -f {} \;
    fi
  done > /dev/null 2>&1
fi
# A waiting container reads the process id from this file, and ends with the process.
if [ -n "$CASSAY_WAITS" ]; then echo $$ > "$CASSAY_WAITS" || no write "$CASSAY_WAITS"; fi
say run
if [ "$user" = root ] && [ "$(id -u)" != 0 ]; then
  exec sudo -n "$program" agent "$name"
fi
exec "$program" agent "$name"
