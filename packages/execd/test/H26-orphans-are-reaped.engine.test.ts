/** H26: orphans are adopted and reaped while their command runs, and no zombie is left when it has ended. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_NAMESPACE, needsNamespaces, skip, startExecd, until } from './execd.ts'

const MANY_ORPHANS = 'i=0; while [ $i -lt 50 ]; do (sh -c "exit 0" &); i=$((i+1)); done; sleep 0.3'

test('a hundred orphans, and no child is left to execd', { skip }, async t => {
  const execd = await startExecd(t)
  await execd.run({ command: 'sh', args: ['-c', MANY_ORPHANS] })
  await execd.run({ command: 'sh', args: ['-c', MANY_ORPHANS] })
  await until('no child is left', () => execd.children().length === 0)
})

test('no zombie is seen from inside while orphans end', { skip }, async t => {
  const execd = await startExecd(t)
  const script = `${MANY_ORPHANS}; ps -o stat= -s $$ --ppid $PPID | grep -c Z`
  const answer = await execd.run({ command: 'sh', args: ['-c', script] })
  assert.equal(answer.stdout.toString().trim(), '0')
})

test('as PID 1 too', { skip: needsNamespaces }, async t => {
  const execd = await startExecd(t, { EXECD_PEERS: 'any' }, IN_NAMESPACE)
  const answer = await execd.run({
    command: 'sh',
    args: ['-c', `${MANY_ORPHANS}; ps -e -o stat= | grep -c Z`],
  })
  assert.equal(answer.stdout.toString().trim(), '0')
})
