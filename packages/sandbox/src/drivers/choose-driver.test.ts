import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explain } from '@beige/protocol'
import { chooseDriver, openDriver } from './choose-driver.ts'

const signal = new AbortController().signal
const ELSEWHERE = 'tcp://192.0.2.1:2375'

test('an engine elsewhere makes docker unavailable, and is no reason to have no driver at all', async () => {
  const fault = await openDriver({ kind: 'docker' }, { dockerHost: ELSEWHERE }).unavailable(signal)
  assert.match(fault?.reason ?? '', /tcp:\/\/192\.0\.2\.1:2375.*only an engine on this machine/)
  const chosen = await chooseDriver({ kind: 'auto' }, signal, { dockerHost: ELSEWHERE }).then(
    driver => driver.name,
    error => explain(error),
  )
  assert.match(chosen, /^bubblewrap$|^no sandbox works here: docker: .*192\.0\.2\.1.*; bubblewrap: /)
})

test('a driver that was asked for by name says why it can not be had, once', async () => {
  const dockerHost = 'unix:///nowhere/docker.sock'
  await assert.rejects(chooseDriver({ kind: 'docker' }, signal, { dockerHost }), error => {
    const said = explain(error)
    assert.match(said, /^no Docker engine answers at \/nowhere\/docker\.sock: ENOENT\. Start it /)
    return said.split('no Docker engine').length === 2
  })
})
