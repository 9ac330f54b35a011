/** Commands that are hard to kill, each with a marker in the argv of every process that it leaves. */

const LOOP = 'while :; do sleep 0.2; done'

/** Double fork, `setsid`, `nohup`, ignored SIGTERM, and all of it at once; they write `ready` when they stand. */
export const TREES: Readonly<Record<string, (marker: string) => string>> = {
  'a double fork': marker => `(sh -c '${LOOP}' ${marker} &) ; ${ready(marker)}`,
  setsid: marker => `setsid sh -c '${LOOP}' ${marker} & ${ready(marker)}`,
  nohup: marker => `nohup sh -c '${LOOP}' ${marker} >/dev/null 2>&1 & ${ready(marker)}`,
  'ignored SIGTERM': marker => `sh -c 'trap "" TERM; ${LOOP}' ${marker} & ${ready(marker)}`,
  'a cleared environment': marker => `env -i setsid /bin/sh -c '${LOOP}' ${marker} & ${ready(marker)}`,
  'a stopped child': marker => `sh -c 'kill -STOP $$' ${marker} & ${ready(marker)}`,
  'all at once': marker =>
    `(setsid nohup sh -c 'trap "" TERM HUP; (setsid sh -c "trap \\"\\" TERM; ${LOOP}" ${marker} &); ${LOOP}' ${marker} >/dev/null 2>&1 &) ; ${ready(marker)}`,
}

/** Says that it is up, and stays. */
function ready(marker: string): string {
  return `sleep 0.3; echo ready; exec sh -c '${LOOP}' ${marker}`
}
