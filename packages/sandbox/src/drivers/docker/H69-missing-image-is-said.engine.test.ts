import assert from 'node:assert/strict'
import { testOnDrivers } from '../../../test/machine.ts'
import { createEngine } from './engine.ts'
import { imageTag, resolveImage } from './image.ts'
import { DEFAULT_SOCKET } from './index.ts'

testOnDrivers(
  'an image that is not there is an error, ours falls back to this machine and says so',
  async ({ signal }) => {
    const engine = createEngine(DEFAULT_SOCKET)
    await assert.rejects(resolveImage(engine, 'no-such-image:1', signal), { code: 'image_missing' })
    for (const wanted of [undefined, 'beige-sandbox', 'beige-sandbox:latest']) {
      const { name, note, usr } = await resolveImage(engine, wanted, signal)
      if (name === `beige-sandbox:${imageTag()}`) continue
      assert.match(name, /^beige-sandbox:host-usr-[0-9a-f]{12}$/)
      assert.match(note, /build-local\.sh/)
      assert.ok(usr)
    }
    const chosen = await resolveImage(engine, 'host-usr', signal)
    assert.match(chosen.name, /^beige-sandbox:host-usr-/)
  },
  ['docker'],
)
