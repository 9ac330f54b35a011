/** `agent acp` driven by the SDK's own client: what an editor does with a session. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import {
  type ClientContext,
  type ContentBlock,
  client,
  ndJsonStream,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk'
import { type Turn, taskScript } from '@beige/test-support'
import { type AgentBench, agentBench } from './agent-bench.ts'
import { ABSENT, SOME_DRIVER } from './machine.ts'

const TEST_MS = 60_000
const skip = ABSENT[SOME_DRIVER]
const SILENT: Turn = { text: 'It goes on and on. '.repeat(20), fault: { kind: 'silence', afterEvents: 6 } }

type Editor = {
  agent: ClientContext
  updates: SessionUpdate[]
  asked: RequestPermissionRequest[]
  of<K extends SessionUpdate['sessionUpdate']>(kind: K): Extract<SessionUpdate, { sessionUpdate: K }>[]
  text(): string
}

async function withEditor(
  bench: AgentBench,
  args: readonly string[],
  answer: string,
  body: (editor: Editor) => Promise<void>,
  meta: Record<string, unknown> = {},
): Promise<void> {
  const child = bench.start(['acp', '--sandbox', SOME_DRIVER, ...args])
  const updates: SessionUpdate[] = []
  const asked: RequestPermissionRequest[] = []
  const app = client({ name: 'test editor' })
    .onNotification('session/update', ({ params }) => void updates.push(params.update))
    .onRequest('session/request_permission', ({ params }) => {
      asked.push(params)
      return { outcome: { outcome: 'selected', optionId: answer } }
    })
  const stream = ndJsonStream(Writable.toWeb(child.process.stdin), Readable.toWeb(child.process.stdout))
  await app.connectWith(stream, async agent => {
    const { protocolVersion, agentCapabilities } = await agent.request('initialize', {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { _meta: meta },
    })
    assert.equal(protocolVersion, PROTOCOL_VERSION)
    assert.equal(agentCapabilities?.loadSession, true)
    await body({
      agent,
      updates,
      asked,
      of: kind =>
        updates.filter(
          (one): one is Extract<SessionUpdate, { sessionUpdate: typeof kind }> => one.sessionUpdate === kind,
        ),
      text: () =>
        updates
          .map(one =>
            one.sessionUpdate === 'agent_message_chunk' && one.content.type === 'text'
              ? one.content.text
              : '',
          )
          .join(''),
    })
  })
  child.process.stdin.end()
  const { code, stderr } = await child.ended
  assert.equal(code, 0, stderr)
}

const sendPrompt = (
  agent: ClientContext,
  sessionId: string,
  prompt: ContentBlock[],
): Promise<PromptResponse> => agent.request('session/prompt', { sessionId, prompt })
const textPrompt = (text: string) => [{ type: 'text' as const, text }]

test('a whole session: text, a command, an edit with its diff, and the answer', {
  skip,
  timeout: TEST_MS,
}, async () => {
  await using bench = await agentBench(
    taskScript([
      { text: 'I look.', calls: [{ name: 'bash', input: { command: 'echo seen; exit 3' } }] },
      { calls: [{ name: 'read', input: { path: 'a.txt' } }] },
      { calls: [{ name: 'edit', input: { path: 'a.txt', old_string: 'hello', new_string: 'good day' } }] },
      { text: 'Done.' },
    ]),
  )
  bench.write('a.txt', 'hello world\n')
  await withEditor(bench, [], 'once', async ({ agent, updates, of, text }) => {
    const { sessionId } = await agent.request('session/new', { cwd: bench.workspace, mcpServers: [] })
    const link = { type: 'resource_link' as const, uri: `file://${bench.workspace}/a.txt`, name: 'a.txt' }
    const { stopReason } = await sendPrompt(agent, sessionId, [...textPrompt('make polite: '), link])
    assert.equal(stopReason, 'end_turn')
    assert.equal(text(), 'I look.Done.')
    const [bash, , edit] = of('tool_call')
    assert.deepEqual([bash?.kind, bash?.title], ['execute', 'bash echo seen; exit 3'])
    assert.deepEqual(edit?.locations, [{ path: join(bench.workspace, 'a.txt') }])
    const diff = { type: 'diff', path: join(bench.workspace, 'a.txt'), oldText: 'hello', newText: 'good day' }
    assert.deepEqual(edit?.content, [diff])
    const endOf = (id: string | undefined) => of('tool_call_update').findLast(one => one.toolCallId === id)
    assert.match(JSON.stringify(endOf(bash?.toolCallId)?.content), /seen/)
    assert.deepEqual(
      [endOf(edit?.toolCallId)?.status, endOf(edit?.toolCallId)?.content],
      ['completed', [diff]],
    )
    assert.ok(updates.length > 0)
  })
  assert.equal(readFileSync(join(bench.workspace, 'a.txt'), 'utf8'), 'good day world\n')
  assert.match(JSON.stringify(bench.seen[0]?.messages), /make polite: \/workspace\/a\.txt/)
})

test('an editor that shows terminals gets a command as one, with its output and exit', {
  skip,
  timeout: TEST_MS,
}, async () => {
  await using bench = await agentBench(
    taskScript([
      { calls: [{ name: 'bash', input: { command: 'echo one; sleep 0.3; echo two; exit 3' } }] },
      { text: 'Done.' },
    ]),
  )
  const show = async ({ agent, of, updates }: Editor): Promise<void> => {
    const { sessionId } = await agent.request('session/new', { cwd: bench.workspace, mcpServers: [] })
    await sendPrompt(agent, sessionId, textPrompt('go'))
    const [call] = of('tool_call')
    assert.deepEqual(call?.content, [{ type: 'terminal', terminalId: call?.toolCallId }])
    const metas = updates.flatMap(one =>
      one.sessionUpdate === 'tool_call_update' && one._meta ? [one._meta] : [],
    )
    assert.match(
      metas.map(one => String(Object(one.terminal_output).data ?? '')).join(''),
      /one\n[\s\S]*two\n/,
    )
    assert.equal(Object(metas.at(-1)?.terminal_exit).exit_code, 3)
  }
  await withEditor(bench, [], 'once', show, { terminal_output: true })
})

test('cancel ends the prompt, and the session is loaded again with its past', {
  timeout: TEST_MS,
}, async () => {
  let asked = 0
  await using bench = await agentBench(() => (asked++ === 0 ? SILENT : { text: 'Here.' }))
  let id = ''
  await withEditor(bench, [], 'once', async ({ agent, of }) => {
    const { sessionId } = await agent.request('session/new', { cwd: bench.workspace, mcpServers: [] })
    id = sessionId
    const first = sendPrompt(agent, sessionId, textPrompt('first'))
    while (of('agent_message_chunk').length === 0) await new Promise(resolve => setTimeout(resolve, 10))
    await agent.notify('session/cancel', { sessionId })
    assert.equal((await first).stopReason, 'cancelled')
    assert.equal((await sendPrompt(agent, sessionId, textPrompt('second'))).stopReason, 'end_turn')
  })
  await withEditor(bench, [], 'once', async ({ agent, of, text }) => {
    const { sessions } = await agent.request('session/list', { cwd: bench.workspace })
    assert.deepEqual(
      sessions.map(one => [one.sessionId, one.title]),
      [[id, 'first']],
    )
    await agent.request('session/load', { sessionId: id, cwd: bench.workspace, mcpServers: [] })
    const users = of('user_message_chunk').map(one => (one.content.type === 'text' ? one.content.text : ''))
    assert.deepEqual(users, ['first', 'second'])
    assert.match(text(), /Here\.$/)
    await assert.rejects(
      agent.request('session/load', { sessionId: 's_none', cwd: bench.workspace, mcpServers: [] }),
      /s_none/,
    )
  })
})

test('what a model fails with is told, and the editor goes on', { timeout: TEST_MS }, async () => {
  const fault = { kind: 'status', status: 400, message: 'no such thing' } as const
  await using bench = await agentBench(taskScript([{ fault }]))
  await withEditor(bench, [], 'once', async ({ agent }) => {
    const { sessionId } = await agent.request('session/new', { cwd: bench.workspace, mcpServers: [] })
    await assert.rejects(sendPrompt(agent, sessionId, textPrompt('go')), /no such thing/)
  })
})

test('the editor is asked before a write and a command; a rejected one does not happen', {
  skip,
  timeout: TEST_MS,
}, async () => {
  const calls = [
    { name: 'write', input: { path: 'new.txt', content: 'new\n' } },
    { name: 'bash', input: { command: 'touch made.txt' } },
  ]
  for (const [answer, files] of [
    ['once', ['made.txt', 'new.txt']],
    ['deny', []],
  ] as const) {
    await using bench = await agentBench(taskScript([{ calls }, { text: 'Done.' }]))
    await withEditor(bench, ['--approve', 'all'], answer, async ({ agent, asked }) => {
      const { sessionId } = await agent.request('session/new', { cwd: bench.workspace, mcpServers: [] })
      assert.equal((await sendPrompt(agent, sessionId, textPrompt('go'))).stopReason, 'end_turn')
      const byKind = new Map(asked.map(one => [one.toolCall.kind, one.toolCall]))
      const diff = { type: 'diff', path: join(bench.workspace, 'new.txt'), oldText: null, newText: 'new\n' }
      assert.deepEqual(byKind.get('edit')?.content, [diff])
      assert.match(JSON.stringify(byKind.get('execute')?.content), /touch made\.txt/)
    })
    assert.deepEqual(readdirSync(bench.workspace).sort(), files)
  }
})
