/** Real pages in Chromium against the real `agent serve`: a hostile one, a rebound name, and one that may. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { taskScript } from '@beige/test-support'
import { chromium, type Page } from 'playwright-core'
import { type AgentBench, agentBench } from './agent-bench.ts'

const BROWSER = '/usr/bin/chromium'
const TEST_MS = 120_000
const skip = existsSync(BROWSER) ? false : 'absent: chromium'
const REBOUND = 'rebound.test'

/** Each tries to run a prompt from a page; answers what it could read, or how it was kept out. */
const ATTEMPTS = {
  'fetch with JSON': `fetch(AGENT, { method: 'POST', headers: { 'content-type': 'application/json' }, body: PROMPT }).then(r => 'read ' + r.status)`,
  'fetch without CORS': `fetch(AGENT, { method: 'POST', mode: 'no-cors', body: PROMPT }).then(r => r.type)`,
  'fetch with credentials': `fetch(AGENT, { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'content-type': 'text/plain' }, body: PROMPT }).then(r => r.type)`,
  'a guessed token': `fetch(AGENT, { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer guessed' }, body: PROMPT }).then(r => 'read ' + r.status)`,
  'event stream': `new Promise(done => { const s = new EventSource(AGENT); s.onmessage = () => done('read'); s.onerror = () => { s.close(); done('error') } })`,
  WebSocket: `new Promise(done => { const s = new WebSocket(AGENT.replace('http', 'ws')); s.onopen = () => { s.send(PROMPT); done('read') }; s.onerror = () => done('error') })`,
  beacon: `navigator.sendBeacon(AGENT, new Blob([PROMPT], { type: 'application/json' })) ? Promise.resolve('sent') : Promise.resolve('error')`,
  image: `new Promise(done => { const i = new Image(); i.onload = () => done('read'); i.onerror = () => done('error'); i.src = AGENT })`,
} as const

test('a page of another origin, a form and a rebound name start nothing; a listed origin with the token works', {
  skip,
  timeout: TEST_MS,
}, async context => {
  await using bench = await agentBench(taskScript([{ text: 'Hello page.' }]))
  await using pages = await somePages()
  const allowed = `http://localhost:${pages.port}`
  const port = await listening(bench, allowed)
  const agent = `http://127.0.0.1:${port}/_beyond/agent?session_id=s_page`
  const prompt = JSON.stringify({ type: 'prompt', message: 'from a page' })
  const browser = await chromium.launch({
    executablePath: BROWSER,
    args: ['--no-sandbox', `--host-resolver-rules=MAP *.test 127.0.0.1`],
  })
  try {
    const page = await browser.newPage()
    const attempt = (code: string): Promise<string> =>
      page.evaluate(
        `(async () => { const AGENT = ${JSON.stringify(agent)}, PROMPT = ${JSON.stringify(prompt)}; return ${code} })().catch(error => 'error')`,
      )
    const nothingStarted = (after: string): void => {
      assert.equal(bench.seen.length, 0, `${after}: a model was asked`)
      assert.deepEqual(sessionsOf(bench), [], `${after}: a session was made`)
    }

    for (const origin of [`http://127.0.0.1:${pages.port}`, `http://hostile.test:${pages.port}`]) {
      await page.goto(origin)
      for (const [name, code] of Object.entries(ATTEMPTS)) {
        const came = await attempt(code)
        assert.ok(['error', 'opaque', 'sent'].includes(came), `${name} from ${origin}: ${came}`)
        nothingStarted(`${name} from ${origin}`)
      }
      assert.equal(await formStatus(page, agent, prompt), 403)
      nothingStarted(`form from ${origin}`)
    }

    // The name of the page leads to the agent itself, so it is the same origin for the browser.
    const rebound = await page.goto(`http://${REBOUND}:${port}/_beyond/agent?session_id=s_page`)
    assert.equal(rebound?.status(), 403)
    const own = agent.replace('127.0.0.1', REBOUND)
    const answer = await page.evaluate(
      `fetch(${JSON.stringify(own)}, { method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(prompt)} }).then(r => r.status)`,
    )
    assert.equal(answer, 403)
    nothingStarted('rebound name')

    await page.goto(allowed)
    const token = readFileSync(join(bench.home, 'serve-tokens'), 'utf8').split(/\s/)[0]
    const code = `new Promise((done, fail) => {
      const socket = new WebSocket(AGENT.replace('http', 'ws'), ['beige.v1', 'bearer.${token}'])
      socket.onerror = () => fail(new Error('refused'))
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data)
        if (frame.type === 'ready') socket.send(PROMPT)
        if (frame.type === 'response') done(socket.protocol + ' ' + frame.data.text)
      }
    })`
    assert.equal(await attempt(code), 'beige.v1 Hello page.')
    assert.equal(bench.seen.length, 1)
    context.diagnostic(browser.version())
  } finally {
    await browser.close()
  }
})

async function listening(bench: AgentBench, origin: string): Promise<number> {
  const child = bench.start(['serve', '--listen', '127.0.0.1:0', '--allow-origin', origin])
  await child.lines(1)
  return Number(new URL(`http://${Object(child.json()[0]).listeners[0].address}`).port)
}

function sessionsOf({ home }: AgentBench): string[] {
  const folder = join(home, 'sessions')
  return existsSync(folder) ? readdirSync(folder).filter(name => !name.startsWith('.')) : []
}

/** A form needs no script and no preflight; its answer is the next page. */
async function formStatus(page: Page, action: string, text: string): Promise<number | undefined> {
  await page.setContent(
    `<form method="post" action="${action}" enctype="text/plain"><textarea name="x"></textarea><button>go</button></form>`,
  )
  await page.fill('textarea', text)
  const [response] = await Promise.all([page.waitForNavigation(), page.click('button')])
  return response?.status()
}

async function somePages(): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
