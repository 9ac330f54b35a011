/** Grows trees, aborts each at its moment, and looks for what is left when the abort was answered. */
import { isError } from '@beige/protocol'
import { PLAIN_P99_MS, STUBBORN_P99_MS } from './bounds.ts'
import { openTarget, type Target, type TargetName } from './targets.ts'
import { makeTree, type Tree } from './trees.ts'

export type TortureOptions = {
  count: number
  seed: number
  /** The first tree's number: a failure is replayed with its own and a count of 1. */
  first: number
  targets: readonly TargetName[]
  /** Trees at once on each target. */
  lanes: number
  say: (text: string) => void
  signal: AbortSignal
}

export type TortureResult = {
  trees: number
  left: number
  /** Of every abort, and of those whose trees ignore SIGTERM or do not. */
  abortMs: number[]
  stubbornMs: number[]
  plainMs: number[]
  /** Trees that had ended before their abort came. */
  endedFirst: number
  targets: readonly TargetName[]
}

const TREE_MS = 60_000

export async function runTrees(options: TortureOptions): Promise<TortureResult> {
  await using opened = new AsyncDisposableStack()
  const lanes: Target[] = []
  for (const name of options.targets) {
    for (let lane = 0; lane < options.lanes; lane += 1) {
      lanes.push(opened.use(await openTarget(name, lane, options.signal)))
    }
  }
  const result: TortureResult = {
    trees: 0,
    left: 0,
    abortMs: [],
    stubbornMs: [],
    plainMs: [],
    endedFirst: 0,
    targets: options.targets,
  }
  let next = options.first
  const end = options.first + options.count
  await Promise.all(
    lanes.map(async target => {
      while (next < end && !options.signal.aborted) await growOne(target, next++, options, result)
    }),
  )
  return result
}

async function growOne(
  target: Target,
  number: number,
  { seed, say, signal }: TortureOptions,
  result: TortureResult,
): Promise<void> {
  const tree = makeTree(seed, number, target)
  const replay = `tree ${number} on ${target.name} (--seed ${seed} --first ${number} --count 1)`
  try {
    const tookMs = await abortOne(target, tree, AbortSignal.any([signal, AbortSignal.timeout(TREE_MS)]))
    if (tookMs === null) {
      result.endedFirst += 1
    } else {
      result.abortMs.push(tookMs)
      if (tookMs > (tree.isStubborn ? STUBBORN_P99_MS : PLAIN_P99_MS)) {
        say(`${replay}: ${Math.round(tookMs)} ms; ${tree.traits.join(', ')}`)
      }
      ;(tree.isStubborn ? result.stubbornMs : result.plainMs).push(tookMs)
    }
  } catch (error) {
    result.left += 1
    say(`${replay}: ${error instanceof Error ? error.message : String(error)}`)
  }
  const left = await target.leftovers(signal)
  result.trees += 1
  result.left += left.length
  if (left.length > 0) say(`${replay}: ${left.length} left: ${left.join(', ')}; ${tree.traits.join(', ')}`)
}

/** How long the abort took, or null when the tree had ended by itself. */
async function abortOne(target: Target, tree: Tree, deadline: AbortSignal): Promise<number | null> {
  const abort = new AbortController()
  let abortedAtMs: number | null = null
  const timer = setTimeout(() => {
    abortedAtMs = performance.now()
    abort.abort()
  }, tree.abortAfterMs)
  try {
    const command = { command: 'sh', args: ['-c', tree.script, tree.script] }
    await target.exec.stream(command, () => {}, AbortSignal.any([abort.signal, deadline]))
    return null
  } catch (error) {
    if (abortedAtMs === null || !isError(error, 'aborted')) throw error
    if (error.data.ended !== true) throw error
    return performance.now() - abortedAtMs
  } finally {
    clearTimeout(timer)
  }
}
