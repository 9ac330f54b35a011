/** Drives a limiter with tasks that come, wait, are aborted and end, and checks it after every step against a model. */
import assert from 'node:assert/strict'
import { manualClock } from '@beige/test-support'
import { createLimiter, type Limiter } from '../src/limiter.ts'

type Task = {
  id: number
  abort: AbortController
  state: 'waiting' | 'holding' | 'gone'
  release: (() => void) | null
  positions: number[]
}

export type LimiterModel = {
  begin(): number
  /** Aborts it, wherever it is: in the queue, on the way to its slot, or with it. */
  abort(id: number): void
  /** Its request has ended; nothing happens while it waits. */
  end(id: number): void
  /** Lets promises settle. */
  settle(): Promise<void>
  live(): readonly number[]
  check(): void
  limiter: Limiter
  granted: number[]
}

export function limiterModel(limit: number): LimiterModel {
  const limiter = createLimiter(limit, manualClock())
  const tasks = new Map<number, Task>()
  // Who must hold a slot and who must wait, in order; what the limiter says is compared with it.
  const holding = new Set<number>()
  const queue: number[] = []
  const granted: number[] = []
  const errors: unknown[] = []
  let nextId = 0

  const promote = (): void => {
    while (holding.size < limit) {
      const next = queue.shift()
      if (next === undefined) return
      holding.add(next)
      granted.push(next)
    }
  }
  const leave = (task: Task): void => {
    task.state = 'gone'
    tasks.delete(task.id)
  }
  return {
    limiter,
    granted,
    live: () => [...tasks.keys()],
    begin() {
      const task: Task = {
        id: nextId++,
        abort: new AbortController(),
        state: 'waiting',
        release: null,
        positions: [],
      }
      tasks.set(task.id, task)
      queue.push(task.id)
      promote()
      limiter
        .acquire(task.abort.signal, position => task.positions.push(position))
        .then(
          release => {
            // As its user does: an abort that came too late to take the slot away gives it back.
            if (task.abort.signal.aborted) return release()
            task.state = 'holding'
            task.release = release
          },
          error => {
            if (!task.abort.signal.aborted) errors.push(error)
          },
        )
      return task.id
    },
    abort(id) {
      const task = tasks.get(id)
      if (task === undefined) return
      const place = queue.indexOf(id)
      if (place >= 0) queue.splice(place, 1)
      const isOnTheWay = holding.has(id) && task.release === null
      task.abort.abort()
      task.release?.()
      task.release?.() // a second time changes nothing
      leave(task)
      // A slot that is on its way comes back only when its promise has settled.
      if (!isOnTheWay) holding.delete(id)
      else void Promise.resolve().then(() => holding.delete(id) && promote())
      promote()
    },
    end(id) {
      const task = tasks.get(id)
      if (task?.release == null) return
      task.release()
      task.release()
      leave(task)
      holding.delete(id)
      promote()
    },
    async settle() {
      for (let i = 0; i < 4; i++) await null
    },
    check() {
      const { active, waiting, isStuck } = limiter.health()
      assert.ok(active <= limit, `${active} of ${limit}`)
      assert.ok(waiting === 0 || active === limit, 'a waiter beside a free slot')
      // Millions of times: deepEqual would take most of it.
      const isAsExpected =
        active === holding.size && waiting === queue.length && errors.length === 0 && !isStuck
      if (!isAsExpected)
        assert.fail(JSON.stringify({ active, holding: [...holding], waiting, queue, isStuck }))
      for (const [place, id] of queue.entries())
        if (tasks.get(id)?.positions.at(-1) !== place + 1) assert.fail(`task ${id} was told a wrong place`)
    },
  }
}

/** Every order in which `count` tasks begin and end, each by an end of its own or by an abort. */
export async function everyInterleaving(count: number, limit: number, isHasty: boolean): Promise<number> {
  let paths = 0
  for (const order of orders(count))
    for (let aborts = 0; aborts < 2 ** count; aborts++) {
      await walk(order, aborts, limit, isHasty)
      paths++
    }
  return paths
}

/** Places in time: the first of a number is the beginning of that task, the second its end. */
function* orders(count: number, begun = 0, open: readonly number[] = []): Generator<number[]> {
  if (begun === count && open.length === 0) yield []
  if (begun < count) for (const rest of orders(count, begun + 1, [...open, begun])) yield [begun, ...rest]
  for (const id of open)
    for (const rest of orders(
      count,
      begun,
      open.filter(other => other !== id),
    ))
      yield [id, ...rest]
}

/** Hasty: events follow each other before a promise can settle, so an abort meets a slot on its way. */
async function walk(
  order: readonly number[],
  aborts: number,
  limit: number,
  isHasty: boolean,
): Promise<void> {
  const model = limiterModel(limit)
  const begun = new Set<number>()
  const wantEnd = new Set<number>()
  const endWanted = async (): Promise<void> => {
    await model.settle()
    for (const id of wantEnd) model.end(id)
  }
  for (const id of order) {
    if (!begun.has(id)) {
      begun.add(model.begin())
    } else if ((aborts >> id) % 2 === 1) model.abort(id)
    else {
      wantEnd.add(id)
      model.end(id)
    }
    if (isHasty) continue
    await endWanted()
    model.check()
  }
  // What still waits gets its turn when those before it have ended.
  for (let round = 0; round <= begun.size && model.live().length > 0; round++) await endWanted()
  await model.settle()
  model.check()
  assert.deepEqual(model.live(), [])
  assert.deepEqual([model.limiter.health().active, model.limiter.health().waiting], [0, 0])
  assert.deepEqual(
    model.granted,
    [...model.granted].sort((a, b) => a - b),
    'first come, first served',
  )
}

/** Seeded: the same steps for the same seed. */
export async function randomSteps(steps: number, seed: number): Promise<void> {
  let state = seed >>> 0
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const limit = 1 + random(5)
  const model = limiterModel(limit)
  let waitedSince = new Map<number, number>()
  for (let step = 0; step < steps; step++) {
    const live = model.live()
    const some = live[random(live.length)]
    const action = random(10)
    if (some === undefined || (action < 4 && live.length < 40)) model.begin()
    else if (action < 8) model.end(some)
    else model.abort(some)
    if (random(3) > 0) continue
    await model.settle()
    model.check()
    if (step % 1000 > 2) continue
    // Nobody starves: whoever is here now is gone when as many have ended as were before it.
    waitedSince = new Map(model.live().map(id => [id, step]))
    for (let round = 0; round < waitedSince.size; round++) {
      for (const id of model.live()) model.end(id)
      await model.settle()
      model.check()
    }
    assert.deepEqual(model.live(), [])
  }
}
