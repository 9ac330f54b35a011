/**
 * The same random calls on the same random trees: every place must give the same bytes, and those of the model. A seed that
 * fails is printed with its tree and its call; FUZZ_SEED and FUZZ_CASES=1 run it again.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { execdMissing } from '@beige/test-support'
import type { ToolResult } from '../src/tool.ts'
import { randomCall } from './differential/random-calls.ts'
import { createRandom, randomTree } from './differential/random-tree.ts'
import { openSubjects, type Subject } from './differential/subjects.ts'
import { buildTrees, readTree, removeTrees } from './differential/tree-on-disk.ts'
import { described } from './model/file-tree.ts'
import { type Answer, createModel, type ModelCall } from './model/tools.ts'

const CASES = Number(process.env.FUZZ_CASES ?? 200)
const SEED = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 30))
const CALLS_A_TREE = 4
const MAX_SHOWN_CHARS = 300 // of a file, in the story of a failure
const missing = execdMissing()

test('file tools say the same everywhere, and what the model says', {
  skip: missing && `absent: execd (${missing})`,
}, async context => {
  await using disposal = new AsyncDisposableStack()
  const { subjects, absent } = await openSubjects(disposal)
  context.diagnostic(
    `FUZZ_SEED=${SEED} FUZZ_CASES=${CASES} on ${subjects.map(subject => subject.name).join(', ')}`,
  )
  for (const reason of absent) context.diagnostic(reason)
  const counts = new Map<string, number>()
  for (let seed = SEED; seed < SEED + CASES; seed++) {
    for (const kind of await runCase(seed, subjects)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  context.diagnostic(
    [...counts]
      .map(([kind, count]) => `${kind} ${count}`)
      .sort()
      .join(', '),
  )
})

/** What was called, and how it ended. */
async function runCase(seed: number, subjects: readonly Subject[]): Promise<string[]> {
  const random = createRandom(seed)
  const root = randomTree(random)
  const before = described(root)
  buildTrees(root, subjects)
  const model = createModel(root)
  const sessions = subjects.map(subject => ({ subject, call: subject.session() }))
  const kinds: string[] = []
  try {
    for (let index = 0; index < CALLS_A_TREE; index++) {
      const call = randomCall(random, root)
      const expected = model.answer(call)
      const answers = await Promise.all(
        sessions.map(async ({ subject, call: run }) => ({
          subject,
          said: told(await run(call.tool, call.input), subject),
        })),
      )
      kinds.push(`${call.tool} ${expected.code ?? 'ok'}`)
      const problem = differenceOf(answers, expected)
      if (problem) assert.fail(story(seed, before, call, problem))
    }
    const after = described(root)
    for (const subject of subjects) {
      const now = described(readTree(subject.folder))
      const what = after.find((line, at) => line !== now[at]) ?? now.find((line, at) => line !== after[at])
      if (what)
        assert.fail(
          story(seed, before, null, `${subject.name} left another tree: ${what}\n${now.join('\n')}`),
        )
    }
  } finally {
    removeTrees(subjects.map(subject => subject.folder))
  }
  return kinds
}

type Said = { code: unknown; text: string }

function told(result: ToolResult, { inside }: Subject): Said {
  const text = result.content.map(block => (block.type === 'text' ? block.text : block.media_type)).join('\n')
  return {
    code: result.isError ? (result.details.code ?? null) : null,
    text: text.replaceAll(inside, '<root>'),
  }
}

function differenceOf(answers: readonly { subject: Subject; said: Said }[], expected: Answer): string | null {
  const [first] = answers
  if (!first) return 'nobody answered'
  const other = answers.find(({ said }) => said.text !== first.said.text || said.code !== first.said.code)
  if (other) return `${shown(first.subject.name, first.said)}\n${shown(other.subject.name, other.said)}`
  const { said } = first
  const isSame =
    (expected.code === 'any' ? said.code !== null : said.code === expected.code) &&
    (expected.text === undefined || said.text === expected.text) &&
    (expected.start === undefined || said.text.startsWith(expected.start))
  return isSame
    ? null
    : `${shown('all of them', said)}\n${shown('the model', { code: expected.code, text: expected.text ?? `${expected.start ?? ''}…` })}`
}

const shown = (who: string, { code, text }: Said) => `--- ${who} (${String(code)})\n${text}`

function story(seed: number, tree: readonly string[], call: ModelCall | null, problem: string): string {
  const what = call ? `${call.tool} ${JSON.stringify(call.input)}` : 'afterwards'
  return `FUZZ_SEED=${seed} FUZZ_CASES=1\n${tree.map(line => line.slice(0, MAX_SHOWN_CHARS)).join('\n')}\n${what}\n${problem}`
}
