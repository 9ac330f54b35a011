/**
 * A model of the file tools in memory, written from the page "Harness" and not from their code. It is the referee of the
 * differential test: where it has the whole text the tools must say that text, else its code.
 */
import { type DirectoryNode, type FileNode, latin1, mayChange, mayRead, resolve } from './file-tree.ts'
import { fitting, linesOf, pictures, withoutReturn } from './lines.ts'
import { failureOf, find, type GrepInput, grep, ls } from './search.ts'

/** `code` null: no error. `'any'`: an error of which only the tools' agreement is asked. */
export type Answer = { code: string | null; text?: string; start?: string }

export type ModelCall =
  | { tool: 'read'; input: { path: string; offset?: number; limit?: number } }
  | { tool: 'write'; input: { path: string; content: string } }
  | { tool: 'edit'; input: { path: string; old_string: string; new_string: string; replace_all?: boolean } }
  | { tool: 'ls'; input: { path?: string; all?: boolean; limit?: number } }
  | { tool: 'find'; input: { path?: string; pattern: string; limit?: number } }
  | { tool: 'grep'; input: GrepInput; test: RegExp }
  /** `appends`: what the command adds to a file. */
  | { tool: 'bash'; input: { command: string }; says: Answer; appends?: { path: string; bytes: Buffer } }

export type Model = { root: DirectoryNode; answer(call: ModelCall): Answer }

const ROOT = '<root>'

export function createModel(root: DirectoryNode): Model {
  const seen = new Map<string, number>()
  let version = 1

  function read(path: string, { offset = 1, limit = 2000 }: { offset?: number; limit?: number }): Answer {
    const opened = readable(path)
    if ('code' in opened) return opened
    const { file } = opened
    const { bytes } = file
    const shown = `${ROOT}/${path}`
    seen.set(path, file.version)
    const utf16 = utf16Of(bytes)
    if (!utf16 && bytes.subarray(0, 8192).includes(0))
      return { code: 'binary', start: `${shown} is not text` }
    if (bytes.length === 0) return { code: null, text: '[empty file]' }
    const decoded = utf16 ?? bytes
    const hasMark = decoded[0] === 0xef && decoded[1] === 0xbb && decoded[2] === 0xbf
    const lines = linesOf(hasMark ? decoded.subarray(3) : decoded)
    if (offset > Math.max(lines.length, 0))
      return { code: 'invalid_input', start: `offset ${offset} is behind` }
    let bad = 0
    let controls = 0
    const wanted = lines.slice(offset - 1, offset - 1 + limit)
    const texts = wanted.map((line, index) => numbered(line, offset + index))
    const fit = fitting(texts.map(line => line.text))
    for (const line of texts.slice(0, fit.length)) {
      bad += line.bad
      controls += line.controls
    }
    const notes: string[] = []
    if (utf16) notes.push('[decoded from UTF-16LE]')
    if (bad > 0) notes.push(`[not UTF-8 and shown as U+FFFD: ${bad} byte${bad === 1 ? '' : 's'}]`)
    if (controls > 0) {
      notes.push(`[shown as pictures, e.g. ␛: ${controls} control character${controls === 1 ? '' : 's'}]`)
    }
    const last = offset + fit.length - 1
    if (last < lines.length) {
      notes.push(`[lines ${offset}-${last} of ${lines.length}; continue with offset=${last + 1}]`)
    }
    return { code: null, text: [...fit, ...notes].join('\n') }
  }

  function numbered(line: Buffer, number: number) {
    const whole = withoutReturn(line)
    let end = Math.min(whole.length, 4000)
    while (end < whole.length && ((whole[end] ?? 0) & 0xc0) === 0x80) end--
    const shown = whole.subarray(0, end).toString()
    const cut = whole.length > 4000 ? `… [line cut, ${whole.length} bytes]` : ''
    const visible = pictures(shown)
    return {
      text: `${String(number).padStart(6)}\t${visible}${cut}`,
      bad: badBytes(whole.subarray(0, end)),
      controls: Array.from(shown).filter((char, at) => Array.from(visible)[at] !== char).length,
    }
  }

  /** The file that `read` and `edit` would open. */
  function readable(path: string): { file: FileNode; parent: DirectoryNode | null } | Answer {
    const found = resolve(root, latin1(path))
    const shown = `${ROOT}/${path}`
    if (!found.ok) {
      const isMissing = found.failure === 'ENOENT' || found.failure === 'ENOTDIR'
      return { ...failureOf(found), ...(isMissing ? { start: `no such file: ${shown}` } : {}) }
    }
    const { node, parent } = found
    if (node.kind === 'directory') {
      const where = path === '' ? ROOT : shown
      return { code: 'wrong_kind', text: `${where} is a directory, not a file: list it with the command ls` }
    }
    if (node.kind !== 'file') {
      return { code: 'wrong_kind', text: `${shown} is a fifo, not a regular file: it was not opened` }
    }
    if (!mayRead(node)) {
      const mode = node.mode.toString(8).padStart(4, '0')
      return { code: 'permission', text: `${shown}: Permission denied (mode ${mode})` }
    }
    return { file: node, parent }
  }

  function readOnly(path: string, { mode }: FileNode): Answer | null {
    if ((mode & 0o222) !== 0) return null
    const shown = mode.toString(8).padStart(4, '0')
    return { code: 'permission', start: `${ROOT}/${path} is read-only (mode ${shown}): nothing was written` }
  }

  function write(path: string, content: string): Answer {
    const found = resolve(root, latin1(path))
    const bytes = Buffer.from(content)
    const shown = `${ROOT}/${path}`
    const lines = linesOf(bytes).length
    const size = `${bytes.length} byte${bytes.length === 1 ? '' : 's'}, ${lines} line${lines === 1 ? '' : 's'}`
    if (!found.ok) {
      if (!found.missing)
        return { code: found.failure === 'ENOTDIR' ? 'any' : (failureOf(found).code ?? 'any') }
      const { parent, name, rest } = found.missing
      if (rest.includes('..')) return { code: 'any' }
      // A link that leads nowhere stands in the way of a directory, and is followed when it is the file itself.
      if (leadsNowhere(path)) return { code: 'any' }
      if (!mayChange(parent)) return { code: 'permission' }
      const names = [name, ...rest]
      let at = parent
      for (const next of names.slice(0, -1)) {
        const made: DirectoryNode = { kind: 'directory', entries: new Map(), mode: 0o755 }
        at.entries.set(next, made)
        at = made
      }
      at.entries.set(names.at(-1) ?? '', { kind: 'file', bytes, mode: 0o644, version: ++version })
      seen.set(path, version)
      return { code: null, text: `wrote ${shown} (${size}, created)` }
    }
    const { node, parent } = found
    if (node.kind !== 'file') return { code: 'wrong_kind' }
    const refused = readOnly(path, node)
    if (refused) return refused
    const known = seen.get(path)
    if (known !== undefined && known !== node.version) {
      return { code: 'stale', start: `${shown} has changed since this session read it: nothing was written` }
    }
    if (!parent || !mayChange(parent)) return { code: 'permission' }
    const old = node.bytes.length
    const note =
      known === undefined
        ? `\n[this session had not read the old content (${sizeText(old)}) that is now replaced]`
        : ''
    node.bytes = bytes
    node.version = ++version
    seen.set(path, version)
    return { code: null, text: `wrote ${shown} (${size}, replaced)${note}` }
  }

  /** Whether a directory on the way is a link to nothing. */
  function leadsNowhere(path: string): boolean {
    const parts = latin1(path).split('/')
    for (let length = 1; length < parts.length; length++) {
      const before = resolve(root, parts.slice(0, length - 1).join('/'))
      const name = parts[length - 1] ?? ''
      if (!before.ok || before.node.kind !== 'directory') return false
      const isLink = before.node.entries.get(name)?.kind === 'symlink'
      if (isLink && !resolve(root, parts.slice(0, length).join('/')).ok) return true
    }
    return false
  }

  function edit(
    path: string,
    input: { old_string: string; new_string: string; replace_all?: boolean },
  ): Answer {
    const { old_string: old, new_string: wanted, replace_all: all = false } = input
    const opened = readable(path)
    if ('code' in opened) return opened
    const { file, parent } = opened
    const shown = `${ROOT}/${path}`
    const refused = readOnly(path, file)
    if (refused) return refused
    if (file.bytes.subarray(0, 8192).includes(0) || (file.bytes[0] === 0xff && file.bytes[1] === 0xfe)) {
      return { code: 'binary' }
    }
    if (old === '')
      return {
        code: 'invalid_input',
        text: 'old_string is empty: to create or replace a whole file use write',
      }
    if (old === wanted)
      return { code: 'no_change', text: `old_string and new_string are the same: ${shown} stays as it is` }
    const content = file.bytes.toString('latin1')
    const places: number[] = []
    for (let at = content.indexOf(latin1(old)); at >= 0; at = content.indexOf(latin1(old), at + 1))
      places.push(at)
    if (places.length === 0) return { code: 'no_match' }
    if (places.length > 1 && !all) {
      const lines = places.slice(0, 10).map(at => content.slice(0, at).split('\n').length)
      const more = places.length > 10 ? ' …' : ''
      return {
        code: 'not_unique',
        text: `old_string is at ${places.length.toLocaleString('en-US')} places in ${shown}: lines ${lines.join(', ')}${more}. Add lines around it until it is at one, or set replace_all`,
      }
    }
    const pieces = content.split(latin1(old))
    const made = Buffer.from(pieces.join(latin1(wanted)), 'latin1')
    if (!parent || !mayChange(parent)) return { code: 'permission' }
    file.bytes = made
    file.version = ++version
    seen.set(path, version)
    const count = pieces.length - 1
    return {
      code: null,
      start: `edited ${shown} (${count.toLocaleString('en-US')} replacement${count === 1 ? '' : 's'})\n`,
    }
  }

  return {
    root,
    answer(call) {
      switch (call.tool) {
        case 'read':
          return read(plain(call.input.path), call.input)
        case 'write':
          return write(plain(call.input.path), call.input.content)
        case 'edit':
          return edit(plain(call.input.path), call.input)
        case 'ls':
          return ls(root, latin1(plain(call.input.path)), call.input)
        case 'find':
          return find(root, latin1(plain(call.input.path)), call.input)
        case 'grep':
          return grep(root, latin1(plain(call.input.path)), call.input, call.test)
        case 'bash': {
          const file = call.appends && resolve(root, latin1(call.appends.path))
          if (file?.ok && file.node.kind === 'file' && call.appends) {
            file.node.bytes = Buffer.concat([file.node.bytes, call.appends.bytes])
            file.node.version = ++version
          }
          return call.says
        }
      }
    },
  }
}

/** `@` in front, `.`, `..` and empty parts: what is done to a path before any sandbox sees it. */
function plain(path = '.'): string {
  const parts: string[] = []
  for (const part of path.replace(/^@/, '').split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return parts.join('/')
}

function sizeText(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}KB`
}

/** A file may begin like one and be none. */
function utf16Of(bytes: Buffer): Buffer | null {
  if (bytes[0] !== 0xff || bytes[1] !== 0xfe) return null
  try {
    return Buffer.from(new TextDecoder('utf-16le', { fatal: true }).decode(bytes))
  } catch {
    return null
  }
}

/** Bytes that belong to no character. */
function badBytes(line: Buffer): number {
  let bad = 0
  for (let at = 0; at < line.length; ) {
    const size = [1, 2, 3, 4].find(length => {
      const part = line.subarray(at, at + length)
      return (
        part.length === length &&
        Buffer.from(part.toString()).equals(part) &&
        Array.from(part.toString()).length === 1
      )
    })
    if (size === undefined) bad++
    at += size ?? 1
  }
  return bad
}
