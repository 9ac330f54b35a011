import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { applyEdits } from './index.ts'

const ROUNDS = 3000
const LINES = [
  '',
  'a',
  'let x = 1',
  '\tif (“a”) {',
  '  “quoted” – text…',
  'ﬁne\u00a0',
  'caf\u00e9',
  'cafe\u0301',
  '}  ',
  '日本語\t',
  '$&',
  '𝒳',
]
const ENDINGS = ['\n', '\r\n']

/** The naive form: fold everything, replace, write the folded file back. It is what the hazard is about. */
function naive(text: string, old: string, replacement: string): string {
  const fold = (value: string) =>
    value
      .normalize('NFKC')
      .replace(/[“”]/g, '"')
      .replace(/[ \t]+$/gm, '')
  return fold(text).replace(fold(old), replacement)
}

test('H37 the naive tolerant edit changes bytes that nobody asked for', () => {
  assert.equal(naive('“keep me”  \nlet x = "1"\n', 'let x = "1"', 'let x = 2'), '"keep me"\nlet x = 2\n')
})

test('H37 a folded match rewrites its own lines and nothing else', () => {
  const before = '“keep me”  \r\nlet x = “1” \r\ncaf\u00e9\r\n'
  const result = applyEdits(Buffer.from(before), [edit('let x = "1"', 'let x = 2')])
  assert.ok(result.ok)
  assert.equal(result.folded, true)
  assert.equal(text(result.bytes), '“keep me”  \r\nlet x = 2 \r\ncaf\u00e9\r\n')
})

test('H37 bytes outside the hunks are equal for any file, any hunk, exact or folded', () => {
  const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
  console.log(`seed ${seed}`)
  const random = generator(seed)
  const pick = (values: readonly string[]) => values[Math.floor(random() * values.length)] ?? ''
  let edited = 0
  for (let round = 0; round < ROUNDS; round++) {
    const parts: Uint8Array[] = random() < 0.2 ? [Buffer.from('\ufeff')] : []
    const count = 1 + Math.floor(random() * 12)
    for (let line = 0; line < count; line++) {
      parts.push(
        random() < 0.05
          ? Buffer.from([0x61, 0xff, 0xc3])
          : Buffer.from(pick(LINES) + (random() < 0.5 ? line : '')),
      )
      if (line < count - 1 || random() < 0.5) parts.push(Buffer.from(pick(ENDINGS)))
    }
    const original = Buffer.concat(parts)
    const shown = text(original).replace(/\r\n/g, '\n')
    const from = Math.floor(random() * shown.length)
    const to = from + 1 + Math.floor(random() * 30)
    const asSeen = shown.slice(from, to)
    const old =
      random() < 0.5
        ? asSeen
        : asSeen
            .replace(/[“”]/g, '"')
            .replace(/[–]/g, '-')
            .replace(/\u00a0/g, ' ')
    const result = applyEdits(original, [
      edit(old, pick(['', 'NEW', 'a\nb', '$&$1\n', old.toUpperCase()]), random() < 0.3),
    ])
    if (!result.ok) continue
    edited++
    let at = 0
    let newAt = 0
    for (const hunk of result.hunks) {
      assert.deepEqual(
        result.bytes.subarray(newAt, hunk.newStart),
        original.subarray(at, hunk.start),
        `seed ${seed} round ${round}`,
      )
      at = hunk.end
      newAt = hunk.newEnd
    }
    assert.deepEqual(result.bytes.subarray(newAt), original.subarray(at), `seed ${seed} round ${round}`)
    const [only] = result.hunks
    if (only && result.hunks.length === 1 && !result.folded) {
      const gone = text(original.subarray(only.start, only.end)).replace(/\r\n/g, '\n')
      assert.equal(gone, old.replace(/\r\n/g, '\n').toWellFormed(), `seed ${seed} round ${round}`)
    }
  }
  assert.ok(edited > ROUNDS / 4, `only ${edited} of ${ROUNDS} rounds edited anything`)
})

const edit = (oldText: string, newText: string, replaceAll = false) => ({ oldText, newText, replaceAll })
const text = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

/** mulberry32 */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
