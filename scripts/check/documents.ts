/** Fails on a workspace without a README, and on a link in a document to a file that is not there. */
import { posix } from 'node:path'
import type { Problem, Tree } from './tree.ts'

const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g
const FENCED = /```[\s\S]*?```/g
const HAS_PROTOCOL = /^[a-z]+:/

export function checkDocuments(tree: Tree): Problem[] {
  const documents = [...tree.files].filter(([path]) => path.endsWith('.md'))
  return [...readmeProblems(tree), ...documents.flatMap(([path, text]) => linkProblems(tree, path, text))]
}

function readmeProblems(tree: Tree): Problem[] {
  return tree.manifests.flatMap(({ workspace }) => {
    const path = `${workspace}/README.md`
    const text = tree.files.get(path)
    if (text === undefined)
      return [{ path, says: 'missing: what it is for, three names, one runnable example' }]
    return text.includes('```') ? [] : [{ path, says: 'no example (a fenced block) in it' }]
  })
}

function linkProblems(tree: Tree, path: string, text: string): Problem[] {
  const prose = text.replace(FENCED, block => block.replace(/[^\n]/g, ' '))
  const problems: Problem[] = []
  for (const match of prose.matchAll(LINK)) {
    const target = (match[1] ?? '').replace(/#.*$/, '')
    if (target === '' || HAS_PROTOCOL.test(target)) continue
    if (exists(tree, posix.join(posix.dirname(path), target))) continue
    problems.push({ path, line: prose.slice(0, match.index).split('\n').length, says: `no file ${target}` })
  }
  return problems
}

function exists(tree: Tree, target: string): boolean {
  const folder = target.endsWith('/') ? target : `${target}/`
  return tree.files.has(target) || [...tree.files.keys()].some(path => path.startsWith(folder))
}
