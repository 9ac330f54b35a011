import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from '@beige/protocol'
import { EXIT, lines, out, START } from '../../test/wrong-endpoint.ts'
import { createProgress, readFrames } from './frames.ts'

async function* chunksOf(bytes: Buffer, sizes: () => number) {
  for (let at = 0; at < bytes.length; ) {
    const size = sizes()
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function read(text: string, sizes = () => text.length) {
  const chunks: string[] = []
  const progress = createProgress()
  const end = await readFrames(
    'test',
    chunksOf(Buffer.from(text), sizes),
    chunk => void chunks.push(`${chunk.stream}@${chunk.offset}:${Buffer.from(chunk.bytes).toString('hex')}`),
    progress,
  )
  return { end, chunks, progress }
}

// A small generator, so that a failure names the number that repeats it.
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % below
  }
}

test('output is the same wherever the stream is torn', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const below = numbersFrom(seed)
    const sent = { stdout: 0, stderr: 0 }
    const frames: object[] = [START]
    const expected: string[] = []
    for (let count = below(12); count > 0; count--) {
      const stream = below(2) === 0 ? 'stdout' : 'stderr'
      const bytes = Buffer.from(Array.from({ length: below(40) }, () => below(256)))
      frames.push(out(bytes, sent[stream], stream))
      expected.push(`${stream}@${sent[stream]}:${bytes.toString('hex')}`)
      sent[stream] += bytes.length
      if (below(4) === 0) frames.push({ type: 'heartbeat' })
    }
    const text = lines(...frames, EXIT)
    const { chunks, end } = await read(text, () => 1 + below(30))
    assert.deepEqual(chunks, expected, `seed ${seed}`)
    assert.deepEqual(end, { exitCode: 0, signal: null, timedOut: false, heldPipes: false })
  }
})

test('a character that is split between two frames keeps its bytes', async () => {
  const bytes = Buffer.from('漢')
  const { chunks } = await read(lines(START, out(bytes.subarray(0, 1)), out(bytes.subarray(1), 1), EXIT))
  assert.equal(chunks.map(chunk => chunk.split(':')[1]).join(''), bytes.toString('hex'))
})

const REFUSED: Readonly<Record<string, string>> = {
  'output before start': lines(out('x'), EXIT),
  'two starts': lines(START, START, EXIT),
  'output after exit': lines(START, EXIT, out('x')),
  'two exits': lines(START, EXIT, EXIT),
  'a gap in an offset': lines(START, out('x'), out('y', 2), EXIT),
  'output that is not base64': lines(START, { type: 'stdout', offset: 0, data: 'a*b=' }, EXIT),
  'an unknown frame': lines(START, { type: 'surprise' }, EXIT),
  'no JSON': 'hello\n',
}
for (const [title, text] of Object.entries(REFUSED)) {
  test(`refused: ${title}`, async () => {
    await assert.rejects(read(text), { code: 'endpoint_wrong' })
  })
}

test('a stream without its exit frame is lost, never a success', async () => {
  await assert.rejects(
    read(lines(START, out('x'))),
    (error: unknown) => isError(error, 'endpoint_lost') && error.data.commandStarted === true,
  )
  await assert.rejects(read(''), { code: 'endpoint_lost' })
  await assert.rejects(read(lines(START, EXIT).slice(0, -1)), { code: 'endpoint_lost' })
})

test('an error frame is the failure of the endpoint, with its words', async () => {
  const text = lines(START, { type: 'error', error: { code: 'internal', message: 'no more pids' } })
  await assert.rejects(read(text), { code: 'command_failed', message: /no more pids/ })
})
