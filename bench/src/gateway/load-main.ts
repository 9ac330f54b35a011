/**
 * The load as a process of its own: so many streams at once, one request after the other in each, until the time is up.
 *
 *   node load-main.ts <url> <key> <model> <streams> <ms>      prints one JSON object
 */
import { Agent, request } from 'node:http'
import { quantile } from '../quantile.ts'
import { nowUs } from './shared-clock.ts'

export type LoadResult = {
  requests: number
  chunks: number
  seconds: number
  ttfbMs: { p50: number; p99: number }
  chunkMs: { p50: number; p99: number }
}

const [url = '', key = '', model = '', streams = '1', forMs = '1000'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
const body = JSON.stringify({
  model,
  stream: true,
  max_tokens: 1000,
  messages: [
    { role: 'system', content: 'You answer at length.' },
    { role: 'user', content: 'Tell me how it went on.' },
  ],
})
const headers = {
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  'content-length': Buffer.byteLength(body),
}
const ttfb: number[] = []
const chunks: number[] = []
let requests = 0

function once(isCounted: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const sentUs = nowUs()
    let rest = ''
    let isFirst = true
    const asked = request(url, { method: 'POST', agent, headers }, response => {
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        const atUs = nowUs()
        rest += text
        for (let end = rest.indexOf(';'); end >= 0; end = rest.indexOf(';')) {
          const start = rest.lastIndexOf('@', end)
          if (start >= 0 && isCounted()) {
            if (isFirst) ttfb.push((atUs - sentUs) / 1000)
            else chunks.push((atUs - Number(rest.slice(start + 1, end))) / 1000)
          }
          isFirst = false
          rest = rest.slice(end + 1)
        }
      })
      response.once('end', () => {
        if (response.statusCode !== 200 || !rest.includes('[DONE]'))
          return reject(new Error(`status ${response.statusCode}: ${rest.slice(0, 300)}`))
        if (isCounted()) requests++
        resolve()
      })
      response.once('error', reject)
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

// The first requests of each stream open connections and warm code up: they are not counted.
await Promise.all(Array.from({ length: Number(streams) }, () => once(() => false)))
const startUs = nowUs()
const isOver = () => nowUs() - startUs > Number(forMs) * 1000
const stream = async (index: number): Promise<void> => {
  // Streams of different people do not begin in the same instant.
  await new Promise(resolve => setTimeout(resolve, (index * 1000) / Number(streams)))
  while (!isOver()) await once(() => true)
}
await Promise.all(Array.from({ length: Number(streams) }, (_, index) => stream(index)))
const result: LoadResult = {
  requests,
  chunks: chunks.length + ttfb.length,
  seconds: (nowUs() - startUs) / 1e6,
  ttfbMs: { p50: quantile(ttfb, 0.5), p99: quantile(ttfb, 0.99) },
  chunkMs: { p50: quantile(chunks, 0.5), p99: quantile(chunks, 0.99) },
}
process.stdout.write(`${JSON.stringify(result)}\n`)
agent.destroy()
