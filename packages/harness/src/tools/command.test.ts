import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import { codeOf, textOf, withTools } from '../../test/tool-bench.ts'

const options = { skip: execdMissing() }
const withCommands = (use: Parameters<typeof withTools>[1]) => withTools('commands', use)

test('bash: output, exit code, signal, silence', options, () =>
  withCommands(async ({ root, call }) => {
    const ok = await call('bash', { command: 'echo out; echo err >&2; pwd' })
    // Two pipes: what is written at the same moment has no order between them.
    assert.deepEqual(textOf(ok).split('\n').sort(), [root, 'err', 'out'].sort())
    assert.deepEqual([ok.isError, ok.details.exit_code], [false, 0])
    assert.equal(textOf(await call('bash', { command: 'true' })), '(no output)')
    const failed = await call('bash', { command: 'echo x; exit 3' })
    assert.equal(textOf(failed), 'x\n[exit code 3]')
    assert.deepEqual([failed.isError, failed.details.exit_code], [true, 3])
    assert.equal(textOf(await call('bash', { command: 'false' })), '[exit code 1]')
    assert.equal(textOf(await call('bash', { command: 'kill -9 $$' })), '[killed by SIGKILL]')
  }),
)

test('bash: cwd, a missing cwd, the environment', options, () =>
  withCommands(async ({ root, call }) => {
    mkdirSync(join(root, 'sub dir'))
    assert.equal(textOf(await call('bash', { command: 'pwd', cwd: 'sub dir' })), `${root}/sub dir`)
    assert.equal(textOf(await call('bash', { command: 'pwd', cwd: '~' })), root)
    const missing = await call('bash', { command: 'pwd', cwd: 'nowhere' })
    assert.equal(codeOf(missing), 'not_found')
    assert.match(textOf(missing), /\[no such directory: .*\/nowhere\]$/)
    const notRun = await call('bash', { command: 'exit 126' })
    assert.equal(textOf(notRun), '[exit code 126]')
    const env = { BEIGE_TOKEN: 't o "k" $en' }
    const shown = await call(
      'bash',
      { command: 'echo "$BEIGE_TOKEN/$PAGER/$GIT_PAGER/$GIT_TERMINAL_PROMPT/$TERM"' },
      { env },
    )
    assert.equal(textOf(shown), 't o "k" $en/cat/cat/0/dumb')
  }),
)

test('H24 bash and exec: quoting is crossed once', options, () =>
  withCommands(async ({ call }) => {
    const odd = ['a b', '"', "'", '$(echo x)', '`echo x`', '\\', '', '*', 'new\nline', '-n', '日本', '$&']
    const listed = await call('exec', { args: ['printf', '<%s>', ...odd] })
    assert.equal(textOf(listed), odd.map(arg => `<${arg}>`).join(''))
    assert.equal(textOf(await call('exec', { command: 'echo "$0" \'$HOME\'' })), 'bash $HOME')
    assert.equal(codeOf(await call('exec', { command: 'a', args: ['b'] })), 'invalid_input')
    assert.equal(codeOf(await call('exec', {})), 'invalid_input')
    assert.equal(codeOf(await call('bash', { command: 'echo \0' })), 'invalid_input')
    assert.match(textOf(await call('exec', { args: ['no-such-program'] })), /\[exit code 127\]$/)
  }),
)

test(
  'H24 bash: a text too long for an argument goes in by stdin, and its commands see an empty stdin',
  options,
  () =>
    withCommands(async ({ call }) => {
      const filler = `# ${'x'.repeat(1000)}\n`.repeat(300)
      const command = `${filler}cat; echo "it's \${#BASH_VERSION} $((1 + 1)) é"\n${filler}exit 7`
      const result = await call('bash', { command: command.replace('${#BASH_VERSION} ', '') })
      assert.equal(textOf(result), "it's 2 é\n[exit code 7]")
      assert.equal(textOf(await call('bash', { command: 'cat; echo closed' })), 'closed')
    }),
)

test('H25 bash: past its timeout the output so far comes with it and the tree is gone', options, () =>
  withCommands(async ({ root, call }) => {
    const command = 'echo before; setsid sleep 1000 & echo $! > pid; sleep 1000'
    const result = await call('bash', { command, timeout_ms: 300 })
    assert.equal(textOf(result), 'before\n[timed out after 300 ms]')
    assert.deepEqual([codeOf(result), result.details.timed_out], ['timeout', true])
    assert.throws(() => process.kill(Number(readFileSync(join(root, 'pid'), 'utf8')), 0))
    const seconds = await call('exec', { args: ['sleep', '1000'], timeout: 1 })
    assert.equal(textOf(seconds), '[timed out after 1 s]')
  }),
)

test('H20 bash: an abort keeps the output so far and leaves nothing running', options, () =>
  withCommands(async ({ root, call, progress }) => {
    const abort = new AbortController()
    const context = {
      signal: abort.signal,
      progress: (newest: () => string) => {
        const snapshot = newest()
        progress.push(snapshot)
        if (snapshot.includes('ready')) abort.abort()
      },
    }
    const command = 'setsid sleep 1000 & echo $! > pid; echo ready; sleep 1000'
    const result = await call('bash', { command }, context)
    assert.equal(result.outcome, 'interrupted')
    assert.match(textOf(result), /^ready\n\[interrupted/)
    assert.equal(codeOf(result), 'interrupted')
    await gone(Number(readFileSync(join(root, 'pid'), 'utf8')))
  }),
)

test(
  'bash: a lost endpoint is told with the output so far and whether the command had started',
  options,
  () =>
    withCommands(async ({ call, kill }) => {
      const context = {
        progress: (newest: () => string) => {
          const snapshot = newest()
          if (snapshot.includes('started')) kill()
        },
      }
      const result = await call('bash', { command: 'echo started; sleep 1000' }, context)
      assert.equal(codeOf(result), 'endpoint')
      assert.equal(result.outcome, 'unknown')
      assert.match(textOf(result), /^started\n\[lost the exec endpoint .*command started: true/)
    }),
)

test('H30 bash: 64 MiB of output are a bounded result', options, () =>
  withCommands(async ({ call }) => {
    const result = await call('bash', { command: 'head -c 67108864 /dev/zero | tr "\\0" x; echo; echo end' })
    const text = textOf(result)
    assert.ok(Buffer.byteLength(text) <= 51_200)
    assert.match(
      text,
      /\[… 6[34]\.\dMB left out here; it was not kept, so if you need it run the command again with > FILE/,
    )
    assert.ok(text.endsWith('x\nend'))
    assert.equal(result.details.output_bytes, 67_108_864 + 5)
  }),
)

test('H23 bash: a process left behind does not hold the answer', options, () =>
  withCommands(async ({ call }) => {
    const result = await call('bash', { command: 'sleep 1000 & echo done' })
    assert.match(textOf(result), /^done\n\[a process that it left behind held its output open/)
    assert.equal(result.isError, false)
  }),
)

test('bash: the shell is asked for once a sandbox, and is sh where there is no bash', options, () =>
  withCommands(async ({ root, call, exec }) => {
    const asked: string[] = []
    const noBash = {
      ...exec,
      run: async (...args: Parameters<typeof exec.run>) => {
        asked.push(args[0].command)
        return args[0].command === 'bash'
          ? await exec.run({ command: 'no-bash-here' }, args[1])
          : await exec.run(...args)
      },
    }
    const hands = { id: 'x', open: async () => ({ exec: noBash, generation: 'g', workspace: root }) }
    for (let round = 0; round < 3; round++) {
      assert.equal(textOf(await call('bash', { command: 'echo $0' }, { hands })), 'sh')
    }
    assert.deepEqual(asked, ['bash'])
    writeFileSync(join(root, 'x'), '')
  }),
)

/** Waits until there is no such process; the test's own deadline ends it otherwise. */
async function gone(pid: number): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    assert.ok(Date.now() < deadline, `process ${pid} is still there`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
