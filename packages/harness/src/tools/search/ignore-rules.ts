/**
 * What `.gitignore`, `.ignore` and `.rgignore` of a tree leave out, as ripgrep decides it: a rule of a deeper directory
 * beats one above, the last of a file beats those before, `.rgignore` beats `.ignore` beats `.gitignore`. Pure.
 */
import { type ByteText, bytesOfText, joined } from './byte-text.ts'
import { compileGlob, type Glob } from './glob.ts'

/** Strongest first. */
export const IGNORE_FILES = ['.rgignore', '.ignore', '.gitignore'] as const
export type IgnoreFile = (typeof IGNORE_FILES)[number]

type Rule = { glob: Glob; keeps: boolean; onlyDirectories: boolean }
export type IgnoreRules = Readonly<Partial<Record<IgnoreFile, readonly Rule[]>>>

/** One directory on the way from a path up to the root. */
export type IgnoreLevel = {
  rules: IgnoreRules
  /** A repository begins here: the `.gitignore` files above it are another's. */
  hasGit: boolean
  /** Name of the directory in the level above; null at the top. */
  above: { level: IgnoreLevel; name: ByteText } | null
}

/** `name` is in the directory of `level`. */
export function isIgnored(level: IgnoreLevel, name: ByteText, isDirectory: boolean): boolean {
  const verdicts: Partial<Record<IgnoreFile, Rule>> = {}
  let path = name
  let sawGit = false
  for (let at: IgnoreLevel | null = level; at; at = at.above?.level ?? null) {
    for (const file of IGNORE_FILES) {
      if (verdicts[file] || (file === '.gitignore' && sawGit)) continue
      const found = at.rules[file]?.findLast(
        rule => (isDirectory || !rule.onlyDirectories) && rule.glob(path),
      )
      if (found) verdicts[file] = found
    }
    sawGit ||= at.hasGit
    if (at.above) path = joined(at.above.name, path)
  }
  const strongest = IGNORE_FILES.map(file => verdicts[file]).find(rule => rule !== undefined)
  return strongest !== undefined && !strongest.keeps
}

export function parseIgnoreFile(bytes: Uint8Array): Rule[] {
  const rules: Rule[] = []
  const strict = new TextDecoder('utf-8', { fatal: true })
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let start = 0; start < buffer.length; ) {
    const found = buffer.indexOf(0x0a, start)
    const end = found < 0 ? buffer.length : found
    try {
      const rule = parseRule(strict.decode(buffer.subarray(start, end)).replace(/\r$/, ''))
      if (rule) rules.push(rule)
    } catch {
      break // ripgrep reads an ignore file up to its first line that is no text
    }
    start = end + 1
  }
  return rules
}

function parseRule(whole: string): Rule | null {
  if (whole.startsWith('#')) return null
  let line = whole.endsWith('\\ ') ? whole : whole.trimEnd()
  if (line === '') return null
  let isAnchored = false
  let keeps = false
  if (line.startsWith('\\!') || line.startsWith('\\#')) line = line.slice(1)
  else {
    keeps = line.startsWith('!')
    if (keeps) line = line.slice(1)
    isAnchored = line.startsWith('/')
    if (isAnchored) line = line.slice(1)
  }
  const onlyDirectories = line.endsWith('/')
  if (onlyDirectories) line = line.slice(0, -1)
  if (!isAnchored && !line.includes('/') && line !== '**') line = `**/${line}`
  // What is in the directory, not the directory itself.
  if (line.endsWith('/**')) line = `${line}/*`
  const glob = compileGlob(bytesOfText(line))
  return glob && { glob, keeps, onlyDirectories }
}
