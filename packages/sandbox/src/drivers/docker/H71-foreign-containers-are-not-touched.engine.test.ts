import assert from 'node:assert/strict'
import { testOnDrivers } from '../../../test/machine.ts'
import { hostUsr } from '../host-usr.ts'
import { createEngine } from './engine.ts'
import { DEFAULT_SOCKET } from './index.ts'
import { skeletonImage } from './skeleton.ts'

testOnDrivers(
  'a container that has our name and not our label stays as it is',
  async ({ open, spec, signal }) => {
    const engine = createEngine(DEFAULT_SOCKET)
    const name = `beige-${spec().id}`
    const image = await skeletonImage(engine, hostUsr(), signal)
    const foreign = await engine.create(
      name,
      { Image: image, Cmd: ['true'], Labels: { 'beige.agent': 'x' } },
      signal,
    )
    assert.ok(foreign !== null)
    try {
      await assert.rejects(open(), { code: 'foreign_container' })
      assert.equal((await engine.find(name, signal))?.id, foreign)
    } finally {
      await engine.remove(foreign, signal)
    }
  },
  ['docker'],
)

testOnDrivers(
  'our own container is found by its labels when its record is lost',
  async ({ open, signal, spec, driver }) => {
    const first = await open()
    const runDir = `${spec().runDir}-other`
    const labels = { 'beige.home': 'h1' }
    await first.close()
    const second = await driver.open(spec({ labels }), signal)
    await second.detach()
    // The same home and agent from a run folder that knows nothing: it is ended and made anew.
    const third = await driver.open(spec({ labels, runDir }), signal)
    assert.notEqual(third.generation, second.generation)
    await third.close()
  },
  ['docker'],
)
