import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runEpisode } from './world/episode.ts'

const TURNS = 12

for (const store of ['files', 'memory'] as const) {
  test(`${store}: two runs of one seed are equal to the last event, another seed is not`, async () => {
    const episode = (seed: number) =>
      runEpisode({ seed, number: 3, turns: TURNS, store, plant: {}, print: null })
    const first = await episode(7)
    assert.deepEqual([first.turns, first.violations, first.unexpected], [TURNS, [], []])
    assert.deepEqual(await episode(7), first)
    assert.notEqual((await episode(8)).traceHash, first.traceHash)
  })
}
