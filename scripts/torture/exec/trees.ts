/**
 * Makes a random process tree as one shell script that is hard to kill: double forks, sessions of its own, held pipes,
 * ignored SIGTERM, storms. The same seed and number make the same tree. It needs sh and coreutils, and python3 if there.
 */
export type Tree = {
  script: string
  /** Some of it ignores SIGTERM, so that a kill takes its whole grace. */
  isStubborn: boolean
  /** When to abort it, from the moment that it was asked for. */
  abortAfterMs: number
  /** What is in it, for a failure's report. */
  traits: readonly string[]
}

const MAX_NODES = 12
const MAX_DEPTH = 4
const MAX_ABORT_MS = 150
const STUBBORN_SHARE = 0.25
const STORM_SHARE = 0.1
const STORM_DEPTH = 4 // 31 processes at a time, again and again
const BOUNDED_STORM_DEPTH = 9 // 1023, where there is a limit that it meets before

/** What a child is started by; `$0` is the whole script, and the word behind it the part that the child runs. */
const STARTS: Readonly<Record<string, (node: number) => string>> = {
  'a child': node => `n${node} &`,
  'a double fork': node => `( n${node} & )`,
  'a triple fork': node => `( ( n${node} & ) & )`,
  setsid: node => `setsid sh -c "$0" "$0" ${node} &`,
  nohup: node => `nohup sh -c "$0" "$0" ${node} >/dev/null 2>&1 &`,
  'nohup setsid': node => `( nohup setsid sh -c "$0" "$0" ${node} >/dev/null 2>&1 & )`,
  'a cleared environment': node => `env -i "PATH=$PATH" sh -c "$0" "$0" ${node} &`,
  'closed descriptors': node => `setsid sh -c "$0" "$0" ${node} <&- >&- 2>&- &`,
  'a held pipe': node => `{ n${node}; } 2>&1 | cat &`,
  'a daemon of python': node => `daemon ${node} || n${node} &`,
}

/** What a process does when its children are started. */
const LIVES: Readonly<Record<string, string>> = {
  sleeps: 'exec sleep 1000',
  loops: 'while :; do sleep 0.05; done',
  waits: 'wait; exec sleep 1000',
  'is gone at once': 'exit 0',
  'is gone soon': 'sleep 0.03; exit 3',
  writes: 'while :; do echo some words; sleep 0.01; done',
  'writes fast': 'exec yes',
  'stops itself': 'sh -c "kill -STOP \\$PPID"; exec sleep 1000',
  'starts again and again': 'while :; do ( sleep 0.02 & ); sleep 0.02; done',
}

/** What only a process in a pid namespace may do: on the machine itself it would end the machine's processes. */
const LIVES_IN_A_NAMESPACE: Readonly<Record<string, string>> = {
  'kills everybody': 'sleep 0.05; kill -9 -1; exec sleep 1000',
  'kills everybody again and again': 'while :; do kill -9 -1; done',
  'stops everybody': 'sleep 0.05; kill -STOP -1; exec sleep 1000',
}
const IN_A_NAMESPACE_SHARE = 0.1

const DAEMON = [
  'daemon() { command -v python3 >/dev/null && python3 -c',
  `'import os,sys\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execvp("sh",["sh","-c",sys.argv[1],sys.argv[1],sys.argv[2]])'`,
  '"$0" "$1"; }',
].join(' ')
const STORMS = `storm() { [ "$1" -le 0 ] && { sleep 0.05; return; }; storm $(($1-1)) & storm $(($1-1)) & wait; }`

/** Where a tree grows. */
export type Place = {
  /** The number of processes has a limit. */
  hasPidsLimit: boolean
  /** It can name no process but those of its own sandbox. */
  isNamespace: boolean
}

export function makeTree(seed: number, number: number, { hasPidsLimit, isNamespace }: Place): Tree {
  const random = randomFrom(seed, number)
  const traits: string[] = []
  const functions: string[] = []
  const isStubborn = random.chance(STUBBORN_SHARE)
  const hasStorm = random.chance(STORM_SHARE)
  const stormDepth = hasPidsLimit ? BOUNDED_STORM_DEPTH : STORM_DEPTH

  const pickName = (from: Readonly<Record<string, unknown>>): string => {
    const names = Object.keys(from)
    const name = names[random.below(names.length)] ?? ''
    traits.push(name)
    return name
  }
  function addNode(depth: number): number {
    const node = functions.push('') - 1
    const lines: string[] = []
    if (isStubborn && (node === 0 ? random.chance(0.5) : random.chance(0.7))) {
      traits.push('ignores SIGTERM')
      lines.push(`trap '' TERM HUP INT`)
    }
    const children = depth >= MAX_DEPTH ? 0 : random.below(depth === 0 ? 4 : 3)
    for (let n = 0; n < children && functions.length < MAX_NODES; n += 1) {
      const start = STARTS[pickName(STARTS)]
      if (start) lines.push(start(addNode(depth + 1)))
    }
    const lives = isNamespace && random.chance(IN_A_NAMESPACE_SHARE) ? LIVES_IN_A_NAMESPACE : LIVES
    const life = node === 0 && hasStorm ? `while :; do storm ${stormDepth}; done` : lives[pickName(lives)]
    lines.push(life ?? '')
    functions[node] = `n${node}() { ${lines.join('\n')}\n}`
    return node
  }

  addNode(0)
  if (hasStorm) traits.push(`a storm ${stormDepth} deep`)
  const script = [DAEMON, STORMS, ...functions, '"n${1:-0}"'].join('\n')
  return { script, isStubborn, abortAfterMs: random.below(MAX_ABORT_MS), traits }
}

/** mulberry32: small, repeatable, and good enough to pick shapes. */
function randomFrom(seed: number, number: number) {
  let state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b)) >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { below: (bound: number) => Math.floor(next() * bound), chance: (share: number) => next() < share }
}
