/** What must hold for the table as a whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROVIDERS, rowByPrefix, rowByUrl } from './provider-table.ts'

function doubles(values: readonly string[]): string[] {
  return values.filter((value, i) => values.indexOf(value) !== i)
}

test('names, variables and hosts are unique', () => {
  assert.deepEqual(doubles(PROVIDERS.map(row => row.id)), [])
  assert.deepEqual(doubles(PROVIDERS.flatMap(row => row.variable ?? [])), [])
  assert.deepEqual(doubles(PROVIDERS.flatMap(row => row.hosts)), [])
})

test('prefixes are disjoint', () => {
  const all = PROVIDERS.flatMap(row => row.prefixes.map(prefix => ({ prefix, id: row.id })))
  for (const one of all)
    for (const other of all)
      assert.ok(one === other || !other.prefix.startsWith(one.prefix), `${one.prefix} and ${other.prefix}`)
})

test('a row has both a base URL and a variable, or neither', () => {
  for (const row of PROVIDERS) assert.equal(row.baseUrl === null, row.variable === null, row.id)
})

test("the catalogue's URLs are on the row's hosts", async () => {
  for (const row of PROVIDERS)
    for (const model of (await row.catalogue?.()) ?? [])
      assert.equal(rowByUrl(new URL(model.baseUrl))?.id, row.id, `${row.id}: ${model.id} at ${model.baseUrl}`)
})

test('the longest path of a host wins', () => {
  const row = (url: string) => rowByUrl(new URL(url))?.id
  assert.equal(row('https://opencode.ai/zen/go/v1'), 'opencode-go')
  assert.equal(row('https://opencode.ai/zen/v1'), 'opencode-zen')
  assert.equal(row('https://opencode.ai/zengo'), undefined)
  assert.equal(row('https://api.openai.com.evil.example/v1'), undefined)
})

test('ids are known by how they begin', () => {
  assert.equal(rowByPrefix('Claude-Opus-4-8')?.id, 'anthropic')
  assert.equal(rowByPrefix('o3-mini')?.id, 'openai')
  assert.equal(rowByPrefix('us.anthropic.claude')?.id, 'bedrock')
  assert.equal(rowByPrefix('llama-3'), undefined)
})
