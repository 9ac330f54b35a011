/** H24: no shell and no quoting between the caller's argv and the command's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skip, startExecd } from './execd.ts'

const HOSTILE = [
  '',
  ' ',
  'a b',
  '"',
  "'",
  '\\',
  '\n',
  '$(touch x)',
  '`id`',
  '$HOME',
  '*',
  '~',
  '-n',
  '--',
  ';',
  '&&',
  '|',
  '>x',
  '\t',
  'é',
  '😀',
  '\u007f',
  '%s',
  '!',
]

test('argv with spaces, quotes, newlines and nothing at all', { skip }, async t => {
  const execd = await startExecd(t)
  const { stdout } = await execd.run({
    command: 'sh',
    args: ['-c', 'for a; do printf "<%s>" "$a"; done', 'sh', ...HOSTILE],
  })
  assert.equal(stdout.toString(), HOSTILE.map(text => `<${text}>`).join(''))
})

test('the naive way, one string for a shell, makes another command of it', { skip }, async t => {
  const execd = await startExecd(t)
  const { stdout } = await execd.run({
    command: 'sh',
    args: ['-c', `printf '<%s>' ${HOSTILE.slice(2, 3).join(' ')}`],
  })
  assert.equal(stdout.toString(), '<a><b>')
})

test('a command string is a name and no script', { skip }, async t => {
  const execd = await startExecd(t)
  const answer = await execd.run({ command: 'echo hi' })
  assert.equal(answer.exit_code, 127)
  assert.match(answer.stderr.toString(), /echo hi: command not found/)
})

test('many and long arguments', { skip }, async t => {
  const execd = await startExecd(t)
  const args = Array.from({ length: 2000 }, (_, index) => `${index}`.padEnd(100, 'x'))
  const { stdout } = await execd.run({
    command: 'sh',
    args: ['-c', 'echo $#; printf %s "$@" | wc -c', 'sh', ...args],
  })
  assert.deepEqual(stdout.toString().split(/\s+/).slice(0, 2), ['2000', '200000'])
  const tooLong = await execd.run({ command: 'echo', args: ['x'.repeat(4_000_000)] })
  assert.equal(tooLong.exit_code, 126)
})
