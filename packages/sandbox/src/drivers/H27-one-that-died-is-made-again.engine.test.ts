import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isError } from '@beige/protocol'
import { sh, testOnDrivers } from '../../test/machine.ts'

testOnDrivers(
  'after its end calls say so, and opening makes a new one on the same workspace',
  async bench => {
    const { open, signal, spec } = bench
    const first = await open()
    await sh(first.exec, 'echo kept > kept', signal)

    // From outside, as the kernel does it when memory is out.
    const state = JSON.parse(readFileSync(join(spec().runDir, 'sandbox.json'), 'utf8'))
    if (state.handle.containerId) execFileSync('docker', ['kill', state.handle.containerId])
    else process.kill(state.handle.pid, 'SIGKILL')

    await assert.rejects(first.exec.run({ command: 'true' }, signal), error => {
      return isError(error, 'endpoint_lost', 'endpoint_unreachable') && error.retryable
    })
    const second = await open()
    assert.notEqual(second.generation, first.generation)
    assert.equal(await sh(second.exec, 'cat kept', signal), 'kept\n')
  },
)
