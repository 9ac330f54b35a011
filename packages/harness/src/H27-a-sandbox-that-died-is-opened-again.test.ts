/** H27: a sandbox that died while nothing ran in it, or was started anew behind its address, is noticed before the next call. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createExecClient, DEFAULT_LIMITS, type SandboxDriver, type SandboxSpec } from '@beige/sandbox'
import { sandboxHands } from './hands.ts'

const signal = new AbortController().signal

test('H27-a-sandbox-that-died-while-idle: the next call has another one, and is told so by its generation', async context => {
  const { driver, endpoints } = await world(context)
  const hands = sandboxHands(async () => driver, spec)
  const before = await hands.open(signal)
  await endpoints[0]?.end()
  const after = await hands.open(signal)
  assert.notEqual(after.generation, before.generation)
  assert.equal((await after.exec.health(signal))?.instance, after.generation)
  assert.equal(endpoints.length, 2)
  await hands.close()
})

test('H27-an-endpoint-that-another-instance-took-over: opened again under the new generation', async context => {
  const { driver, endpoints } = await world(context)
  const hands = sandboxHands(async () => driver, spec)
  await hands.open(signal)
  const [first] = endpoints
  assert.ok(first)
  first.instance = 'somebody else'
  assert.equal((await hands.open(signal)).generation, 'instance 2')
  await hands.close()
})

test('H27-calls-at-once-after-a-death: open one new sandbox', async context => {
  const { driver, endpoints } = await world(context)
  const hands = sandboxHands(async () => driver, spec)
  await hands.open(signal)
  await endpoints[0]?.end()
  const opened = await Promise.all(Array.from({ length: 8 }, () => hands.open(signal)))
  assert.deepEqual([...new Set(opened.map(one => one.generation))], ['instance 2'])
  await hands.close()
})

test('H27-one-that-answers: is not opened twice', async context => {
  const { driver, endpoints } = await world(context)
  const hands = sandboxHands(async () => driver, spec)
  for (let calls = 0; calls < 3; calls++) await hands.open(signal)
  assert.equal(endpoints.length, 1)
  await hands.close()
})

const spec: SandboxSpec = {
  id: 'idle',
  labels: {},
  workspaceDir: '/nowhere',
  runDir: '/nowhere',
  mounts: [],
  env: {},
  network: 'none',
  limits: DEFAULT_LIMITS,
}

type Endpoint = { instance: string; end(): Promise<void> }

/** A driver whose every sandbox is a real endpoint on a socket of its own that knows `/health` alone. */
async function world(context: TestContext): Promise<{ driver: SandboxDriver; endpoints: Endpoint[] }> {
  const folder = await mkdtemp(join(tmpdir(), 'hands-'))
  context.after(() => rm(folder, { recursive: true, force: true }))
  const endpoints: Endpoint[] = []
  const driver: SandboxDriver = {
    name: 'remote',
    unavailable: async () => null,
    async open() {
      const number = endpoints.length + 1
      const server = createServer((_request, response) => {
        response.end(
          JSON.stringify({
            protocol: 'exec/2',
            version: '0',
            instance: endpoint.instance,
            features: [],
            limits: { max_request_bytes: 1000, max_response_bytes: 1000 },
          }),
        )
      })
      const endpoint: Endpoint = {
        instance: `instance ${number}`,
        async end() {
          server.close()
          server.closeAllConnections()
          if (server.listening) await once(server, 'close')
        },
      }
      endpoints.push(endpoint)
      context.after(() => endpoint.end())
      const socketPath = join(folder, `${number}.sock`)
      server.listen(socketPath)
      await once(server, 'listening')
      const exec = createExecClient({ kind: 'unix', socketPath, basePath: '' })
      return {
        driver: 'remote',
        exec,
        generation: endpoint.instance,
        workspace: '/workspace',
        sleep: async () => 'never',
        wake: async () => undefined,
        inspect: () => assert.fail('nobody asks'),
        detach: () => exec.close(),
        close: () => exec.close(),
      }
    },
  }
  return { driver, endpoints }
}
