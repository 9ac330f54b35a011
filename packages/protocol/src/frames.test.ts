import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isError } from './errors.ts'
import { type BinaryFrame, createFrameDecoder, encodeFrame, MAX_FRAME_BYTES } from './frames.ts'
import { maxToolFrameBytes, TOOL_FRAME } from './tool-socket.ts'

const SEED = Number(process.env.FUZZ_SEED ?? 1)
const CASES = Number(process.env.FUZZ_CASES ?? 300)

const FRAMES: readonly BinaryFrame[] = [
  { type: TOOL_FRAME.hello, id: 0, payload: bytes('{"client":"test"}') },
  { type: TOOL_FRAME.request, id: 1, payload: bytes('{"tool":"kv","args":["get","k"]}') },
  { type: TOOL_FRAME.stdin, id: 1, payload: new Uint8Array([0, 255, 10, 13, 0]) },
  { type: TOOL_FRAME.stdin, id: 1, payload: new Uint8Array(0) },
  { type: TOOL_FRAME.window, id: 4294967295, payload: new Uint8Array([0, 4, 0, 0]) },
]

test('a stream of frames torn at every byte gives the same frames', () => {
  const wire = concat(FRAMES.map(frame => encodeFrame(frame.type, frame.id, frame.payload)))
  for (let cut = 0; cut <= wire.length; cut++) {
    const decoder = createFrameDecoder(maxToolFrameBytes)
    const got = [...decoder.push(wire.subarray(0, cut)), ...decoder.push(wire.subarray(cut))]
    assert.deepEqual(got, FRAMES, `cut at ${cut}`)
    assert.equal(decoder.pendingBytes, 0)
  }
})

test('one byte at a time gives the same frames', () => {
  const wire = concat(FRAMES.map(frame => encodeFrame(frame.type, frame.id, frame.payload)))
  const decoder = createFrameDecoder(maxToolFrameBytes)
  const got: BinaryFrame[] = []
  for (const byte of wire) got.push(...decoder.push(new Uint8Array([byte])))
  assert.deepEqual(got, FRAMES)
})

test('a length that is not allowed is refused from its head alone', () => {
  const tooLong = new Uint8Array([0xff, 0xff, 0xff, 0xff, TOOL_FRAME.stdin])
  assert.throws(() => createFrameDecoder(maxToolFrameBytes).push(tooLong), { code: 'frame_too_long' })
  const tooShort = new Uint8Array([0, 0, 0, 4, TOOL_FRAME.stdin])
  assert.throws(() => createFrameDecoder(maxToolFrameBytes).push(tooShort), { code: 'frame_too_short' })
})

test('only a request may be longer than a plain frame', () => {
  const payload = new Uint8Array(MAX_FRAME_BYTES)
  assert.equal(
    createFrameDecoder(maxToolFrameBytes).push(encodeFrame(TOOL_FRAME.request, 1, payload)).length,
    1,
  )
  assert.throws(() => createFrameDecoder(maxToolFrameBytes).push(encodeFrame(TOOL_FRAME.stdout, 1, payload)))
})

test(`random bytes never make a decoder hold more than it was given (seed ${SEED}, ${CASES} cases)`, () => {
  const next = random(SEED)
  for (let round = 0; round < CASES; round++) {
    const decoder = createFrameDecoder(maxToolFrameBytes)
    let given = 0
    try {
      for (let part = 0; part < 8; part++) {
        const chunk = Uint8Array.from({ length: next() % 64 }, () => (next() % 3 === 0 ? 0 : next() % 256))
        given += chunk.length
        decoder.push(chunk)
        assert.ok(decoder.pendingBytes <= given)
      }
    } catch (error) {
      assert.ok(isError(error, 'frame_too_long', 'frame_too_short'))
    }
  }
})

/** xorshift32 */
function random(seed: number): () => number {
  let state = seed | 0 || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap(part => [...part]))
}
