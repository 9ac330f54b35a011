import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDriver } from '@beige/sandbox'
import { execdMissing, type Script, startModelServer } from '@beige/test-support'
import { agentSection, type TestHome, testHome } from './home.ts'

// The whole way: command line → gateway → session → scripted model → sandbox → script → launcher → plugin → audit.
const SCRIPT_OF_TWENTY = `i=0; while [ $i -lt 20 ]; do kv set "k$i" "value $i" || exit 9; i=$((i+1)); done; kv list | wc -l; kv get k7`

function home(url: string, driver: string): TestHome {
  const provider = {
    auth: 'none',
    baseUrl: url,
    api: 'anthropic-messages',
    models: [{ id: 'demo', contextWindow: 200_000, maxTokens: 8192 }],
  }
  const sandbox = { driver, ...(driver === 'docker' ? { image: 'host-usr' } : {}) }
  return testHome({ llm: { providers: { scripted: provider } }, agents: { scout: agentSection(sandbox) } })
}

const exec = (command: string) => ({ calls: [{ name: 'exec', input: { command } }] })
/** What the last tool call of the conversation answered. */
const lastResult = (request: Parameters<Extract<Script, (...args: never[]) => unknown>>[0]) =>
  request.messages.at(-1)?.results.at(-1)?.text ?? ''

/** Looked at before any test is registered: a runner may end a file whose tests so far have ended. */
const DRIVERS = await Promise.all(
  (['docker', 'bubblewrap'] as const).map(async driver => {
    const fault = await openDriver({ kind: driver }).unavailable(AbortSignal.timeout(10_000))
    return { driver, skip: execdMissing() || (fault?.reason ?? false) }
  }),
)

for (const { driver, skip } of DRIVERS) {
  test(`${driver}: a script in the sandbox calls a plugin twenty times in one exec`, {
    skip,
    timeout: 120_000,
  }, async () => {
    const seen: string[] = []
    await using server = await startModelServer({
      script: request => {
        if (request.index === 0) return exec(SCRIPT_OF_TWENTY)
        seen.push(lastResult(request))
        return { text: 'Twenty facts are in kv.' }
      },
    })
    const place = home(server.url, driver)
    const started = await place.beige('gateway', 'start')
    assert.equal(started.code, 0, started.out + started.err)
    assert.doesNotMatch(started.out, /not available/)
    try {
      const ran = await place.beige('prompt', 'scout', 'store twenty facts')
      assert.deepEqual(ran, { code: 0, out: 'Twenty facts are in kv.\n', err: '' })
    } finally {
      await place.beige('gateway', 'stop')
    }
    assert.match(seen[0] ?? '', /^20\nvalue 7$/)
    assert.deepEqual(server.refusals, [])
    const records = auditOf(place)
    const ends = records.filter(record => record.phase === 'end' && record.tool === 'kv')
    assert.equal(ends.length, 22)
    const model = records.find(record => record.phase === 'start' && record.tool === 'exec')
    for (const record of ends) {
      assert.equal(record.origin, 'launcher')
      assert.equal(record.parent, model?.id, 'the token says which exec it came from')
      assert.equal(record.session, model?.session)
      assert.ok(typeof record.session === 'string')
    }
    const session = join(place.layout.agent('scout').root, 'sessions', String(model?.session))
    assert.ok(statSync(session).isDirectory())
    assert.equal((await place.beige('audit', 'verify')).code, 0)
  })

  test(`${driver}: a tool that is not on the list is refused at the socket; a copied launcher changes nothing`, {
    skip,
    timeout: 120_000,
  }, async () => {
    const results: string[] = []
    const commands = [
      'ls /tools/bin; command -v kv',
      '/beige/tool-client git push; echo "exit $?"',
      'cp /beige/execd /tmp/git && /tmp/git status; echo "exit $?"; ln -s /beige/tool-client /tmp/kv2 && /tmp/kv2 list; echo "exit $?"',
      'BEIGE_TOKEN=bgx_v1.c_x.00 kv list; echo "exit $?"',
      'env -u BEIGE_TOKEN BEIGE_SESSION_KEY=other kv set a b; echo "exit $?"',
      `kv set 'a key' "$(printf 'v \\001\\377 $(x)')" && kv get --raw 'a key' | od -An -tx1`,
      'env | grep -c "^HOME=/root" ; id -u',
    ]
    await using server = await startModelServer({
      script: request => {
        if (request.index > 0) results.push(lastResult(request))
        const command = commands[request.index]
        return command === undefined ? { text: 'done' } : exec(command)
      },
    })
    const place = home(server.url, driver)
    await place.beige('gateway', 'start')
    try {
      assert.equal((await place.beige('prompt', 'scout', 'try things')).code, 0)
    } finally {
      await place.beige('gateway', 'stop')
    }
    const denial = (tool: string) => `Permission denied: tool '${tool}' not allowed for agent 'scout'`
    assert.match(results[0] ?? '', /^kv\n\/tools\/bin\/kv$/)
    assert.ok(results[1]?.includes(denial('git')) && results[1].includes('exit 1'), results[1])
    assert.ok(results[2]?.includes(denial('git')) && results[2].includes(denial('kv2')), results[2])
    assert.equal(results[2]?.match(/exit 1/g)?.length, 2)
    assert.match(results[3] ?? '', /belongs to no running call of this agent/)
    assert.match(results[3] ?? '', /exit 1/)
    assert.match(results[4] ?? '', /exit 0/)
    assert.match(results[5] ?? '', /76 20 01 ff 20 24 28 78 29/)
    const [count, uid] = (results[6] ?? '').split('\n')
    assert.equal(count, '0')
    assert.notEqual(uid, '0')
    const records = auditOf(place)
    const denied = records.filter(record => record.decision === 'denied')
    assert.deepEqual(
      denied.map(record => [record.tool, record.by, record.phase]),
      [
        ['git', 'policy', 'end'],
        ['git', 'policy', 'end'],
        ['kv2', 'policy', 'end'],
      ],
    )
    const noToken = records.find(
      record => record.tool === 'kv' && JSON.stringify(record.args) === '["set","a","b"]',
    )
    assert.equal(noToken?.session, undefined)
    assert.equal(noToken?.channel, 'socket')
    assert.ok(records.some(record => record.event === 'identity_mismatch'))
  })
}

function auditOf(place: TestHome): Record<string, unknown>[] {
  return readFileSync(place.layout.audit, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))
}
