import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { boundText, createCapture, MAX_BYTES, MAX_LINES } from './index.ts'

const MIB = 1024 * 1024

function captured(...chunks: (string | Uint8Array)[]) {
  const capture = createCapture()
  for (const chunk of chunks) capture.push('stdout', Buffer.from(chunk))
  return { ...capture.finish(), total: capture.totalBytes }
}

const withinBounds = (text: string) => {
  assert.ok(Buffer.byteLength(text) <= MAX_BYTES, `${Buffer.byteLength(text)} bytes`)
  assert.ok(text.split('\n').length <= MAX_LINES, `${text.split('\n').length} lines`)
}

test('H30 512 MiB of output leave a bounded text and hardly any memory behind', () => {
  const chunk = Buffer.from(`${'x'.repeat(63)}\n`.repeat(1024))
  const capture = createCapture()
  let peak = 0
  const before = process.memoryUsage().rss
  for (let at = 0; at < 8192; at++) {
    capture.push('stdout', chunk)
    if (at % 256 === 0) peak = Math.max(peak, process.memoryUsage().rss - before)
  }
  const { text, missingLines } = capture.finish()
  withinBounds(text)
  assert.equal(capture.totalBytes, 512 * MIB)
  const shown = text.split('\n').length - 1 // the marker is no line of the output
  assert.equal(missingLines + shown, 8 * MIB)
  assert.ok(peak < 200 * MIB, `${Math.round(peak / MIB)} MiB`)
})

test('H30 head and tail stay, the marker counts what is between them', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index + 1}`)
  const { text, missingLines, missingBytes } = captured(`${lines.join('\n')}\n`)
  withinBounds(text)
  const shown = text.split('\n')
  const at = shown.findIndex(line => line.startsWith('[…'))
  assert.deepEqual(shown.slice(0, at), lines.slice(0, 200))
  const rest = shown.slice(at + 1)
  assert.deepEqual(rest, lines.slice(-rest.length))
  assert.equal(missingLines, 10_000 - 200 - rest.length)
  const missing = lines.slice(200, 10_000 - rest.length)
  assert.equal(missingBytes, Buffer.byteLength(`${missing.join('\n')}\n`))
  assert.match(shown[at] ?? '', /^\[… 8,004 lines \(\d+\.\dKB\) left out here; it was not kept/)
})

test('H30 a single line over the cap is cut in its middle, between characters', () => {
  const { text, missingBytes } = captured('日'.repeat(400_000))
  withinBounds(text)
  assert.ok(!text.includes('\ufffd'))
  const [above = '', marker = '', below = ''] = text.split('\n')
  assert.match(above, /^日+$/)
  assert.match(below, /^日+$/)
  assert.match(marker, /^\[… 1\.1MB left out here/)
  assert.equal(missingBytes, 1_200_000 - Buffer.byteLength(above + below))
})

test('H30 what fits is shown whole, whatever the chunks', () => {
  const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
  console.log(`seed ${seed}`)
  let state = seed
  const random = (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return Math.floor((state / 0x7fffffff) * below)
  }
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: random(900) }, () => 'aé日𝒳'.repeat(random(4))).join('\n')
    const bytes = Buffer.from(text)
    const capture = createCapture()
    for (let at = 0; at < bytes.length; ) {
      const to = Math.min(bytes.length, at + 1 + random(5000))
      capture.push('stdout', bytes.subarray(at, to))
      at = to
    }
    const { text: shown, missingBytes } = capture.finish()
    assert.equal(missingBytes, 0, `seed ${seed} round ${round}`)
    assert.equal(shown, text.endsWith('\n') ? text.slice(0, -1) : text, `seed ${seed} round ${round}`)
  }
})

test('H30 a carriage return leaves the last state of its line, however long the line was', () => {
  assert.equal(captured('10%\r50%\r', '100%\r\ndone\r\n').text, '100%\ndone')
  assert.equal(captured('a\n', 'x'.repeat(2 * MIB), '\rb\n').missingBytes > 0, false)
  assert.equal(captured('a\n', 'x'.repeat(2 * MIB), '\rb\n').text, 'a\nb')
  assert.equal(captured('never finished\r').text, 'never finished')
})

test('H30 a text that is already there is bounded the same way, and twice is once', () => {
  const text = Array.from({ length: 5000 }, (_, index) => `row ${index}`).join('\n')
  for (const keep of ['head', 'head_and_tail'] as const) {
    const bounded = boundText(text, keep, 'narrow it')
    withinBounds(bounded)
    assert.match(bounded, /narrow it/)
    assert.equal(boundText(bounded, keep, 'narrow it'), bounded)
  }
  assert.match(
    boundText(text, 'head', 'narrow it'),
    /row 1998\n\[… 3,001 more lines \(\d+\.\dKB\) left out; narrow it\]$/,
  )
})
