/**
 * A provider as a process of its own: OpenAI Chat Completions, streamed, a piece every so often. Each piece says when it
 * was written, by a clock that all processes of the machine share, so that whoever reads it knows how long it took.
 *
 *   node paced-provider.ts <pieces> <ms between them>      prints its port
 */
import { createServer, type ServerResponse } from 'node:http'
import { nowUs } from './shared-clock.ts'

const [pieces = '50', everyMs = '20'] = process.argv.slice(2)
const WORDS = ' and so it went on, word by word'

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'demo' }
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = `data: ${JSON.stringify({ ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: 60, total_tokens: 80 } })}\n\n`

const server = createServer((request, response) => {
  request.resume()
  request.once('end', () => answer(response))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})

function answer(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  let left = Number(pieces)
  const piece = () => response.write(chunk({ content: `@${nowUs()};${WORDS}` }))
  piece()
  const timer = setInterval(() => {
    if (--left > 0) return void piece()
    clearInterval(timer)
    response.end(`${chunk({}, 'stop')}${usage}data: [DONE]\n\n`)
  }, Number(everyMs))
  response.once('close', () => clearInterval(timer))
}
