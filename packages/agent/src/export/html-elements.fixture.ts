/**
 * Reads a page strictly: every element closed in order, every attribute quoted, no stray `<`, `&` or quote. A browser would
 * mend what this refuses.
 */
import assert from 'node:assert/strict'

export type HtmlElement = {
  name: string
  attributes: Readonly<Record<string, string>>
  /** The elements that it is in, outermost first. */
  within: readonly HtmlElement[]
}

const VOID: ReadonlySet<string> = new Set(['meta', 'img', 'br'])
const IN_TEXT = /&(?!(amp|lt|gt|quot|#39);)|[<>]/

export function elementsOf(html: string): HtmlElement[] {
  assert.ok(html.startsWith('<!DOCTYPE html>\n'))
  const elements: HtmlElement[] = []
  const open: HtmlElement[] = []
  let at = '<!DOCTYPE html>'.length
  while (at < html.length) {
    const next = html.indexOf('<', at)
    const text = html.slice(at, next < 0 ? undefined : next)
    if (open.at(-1)?.name !== 'style') assert.doesNotMatch(text, IN_TEXT)
    if (next < 0) break
    const tag = /^<(\/?)([a-z][a-z0-9]*)((?: [a-z-]+="[^"<>]*")*)>/.exec(html.slice(next, next + 100_000))
    assert.ok(tag, `no tag: ${html.slice(next, next + 60)}`)
    const [whole, slash, name = '', attributes = ''] = tag
    at = next + whole.length
    if (slash === '/') {
      assert.equal(open.pop()?.name, name, `at ${html.slice(next - 40, next + 20)}`)
      continue
    }
    const element = { name, attributes: attributesOf(attributes), within: [...open] }
    elements.push(element)
    if (!VOID.has(name)) open.push(element)
  }
  assert.deepEqual(open, [])
  return elements
}

function attributesOf(text: string): Record<string, string> {
  const found = [...text.matchAll(/ ([a-z-]+)="([^"]*)"/g)].map(([, key = '', value = '']) => {
    assert.doesNotMatch(value, IN_TEXT)
    return [key, value] as const
  })
  assert.equal(new Set(found.map(([key]) => key)).size, found.length)
  return Object.fromEntries(found)
}
