#!/bin/sh
# Starts the Docker engine where none answers, and waits until it does. Installs nothing. Needs root, docker.io and curl or docker.
# Never a second engine: one started with another bridge setting takes the first one's docker0 away.
# Exit 0: an engine answers. Exit 1: none could be started; the last lines of its log are on stderr.
set -u

SOCKET=/var/run/docker.sock
LOG=${DOCKERD_LOG:-/tmp/dockerd.log}
WAIT_S=${DOCKERD_WAIT_S:-60}

answers() {
  if command -v curl >/dev/null 2>&1; then
    curl -fsS --max-time 5 --unix-socket "$SOCKET" http://engine/_ping >/dev/null 2>&1
  else
    docker version >/dev/null 2>&1
  fi
}

runs() { pidof dockerd >/dev/null 2>&1; }

# Until it answers, or has ended, or the time is over.
wait_for_it() {
  left=$((WAIT_S * 5))
  while [ "$left" -gt 0 ]; do
    answers && return 0
    runs || return 1
    sleep 0.2
    left=$((left - 1))
  done
  return 1
}

start() {
  # A session of its own, so that it outlives whoever called us; no open descriptor of ours, so that nobody waits for it.
  setsid dockerd "$@" >"$LOG" 2>&1 </dev/null &
  sleep 0.2
}

answers && exit 0
if runs; then
  wait_for_it && exit 0
  echo "start-dockerd: a dockerd runs and does not answer at $SOCKET" >&2
  exit 1
fi
if ! command -v dockerd >/dev/null 2>&1; then
  echo "start-dockerd: dockerd is missing. Install it: apt-get install docker.io" >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "start-dockerd: only root can start dockerd" >&2
  exit 1
fi

start
wait_for_it && exit 0
runs && { echo "start-dockerd: no answer within $WAIT_S s" >&2; tail -n 20 "$LOG" >&2; exit 1; }
# Without the right to make bridges or rules; sandboxes have no network anyway.
start --iptables=false --bridge=none
wait_for_it && exit 0
echo "start-dockerd: dockerd does not start:" >&2
tail -n 20 "$LOG" >&2
exit 1
