/** As PID 1 of a namespace: who may end it, who may talk to it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_NAMESPACE, needsNamespaces, startExecd } from './execd.ts'

test('a signal from inside does not end it, one from outside does', { skip: needsNamespaces }, async t => {
  const execd = await startExecd(t, {}, IN_NAMESPACE)
  for (const signal of ['TERM', 'INT', 'HUP', 'KILL', 'STOP']) {
    await execd.run({ command: 'sh', args: ['-c', `kill -${signal} 1`] })
  }
  const forged =
    'import ctypes,os;l=ctypes.CDLL(None);b=(ctypes.c_int*32)(15,0,-1);print(l.syscall(129,1,15,b))'
  await execd.run({ command: 'python3', args: ['-c', forged] })
  const inside = await execd.run({
    command: 'sh',
    args: ['-c', 'echo $PPID; cut -d" " -f4 /proc/$PPID/stat'],
  })
  assert.match(inside.stdout.toString(), /^\d+\n1\n$/)
  execd.kill('SIGTERM')
  assert.equal(await execd.ended, 0)
})

/** Asks for /health from inside and prints what came of it. */
function asking(socketPath: string) {
  const script = `
    const request = require('node:http').request({ socketPath: ${JSON.stringify(socketPath)}, path: '/health' })
    const say = text => { console.log(text); process.exit() }
    request.on('response', response => say(response.statusCode)).on('error', () => say('refused')).end()`
  return { command: process.execPath, args: ['-e', script] }
}

test('a command inside can not drive it, nobody outside is kept away', { skip: needsNamespaces }, async t => {
  const execd = await startExecd(t, {}, IN_NAMESPACE)
  const inside = await execd.run(asking(execd.socketPath))
  // The answer may lose the race against the end of the connection.
  assert.match(inside.stdout.toString(), /^(401|refused)\n$/)
  assert.equal((await execd.send('GET', '/health')).status, 200)
})

test('EXECD_PEERS=any lets a command in', { skip: needsNamespaces }, async t => {
  const execd = await startExecd(t, { EXECD_PEERS: 'any' }, IN_NAMESPACE)
  const inside = await execd.run(asking(execd.socketPath))
  assert.equal(inside.stdout.toString(), '200\n')
})
