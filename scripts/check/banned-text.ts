/** Fails on text that does not belong into a repository: unowned reminders, switched-off checks, one machine's paths. */
import type { Problem, Tree } from './tree.ts'

type Rule = { pattern: RegExp; says: string }

// Assembled from halves, so that this file does not hold what it looks for.
const RULES: readonly Rule[] = [
  {
    pattern: new RegExp(`\\b(${'TO'}DO|${'FIX'}ME|${'X'}XX)\\b(?!.*#\\d)`),
    says: 'a reminder names its issue (#n)',
  },
  { pattern: new RegExp(`@ts-${'ignore'}|@ts-${'nocheck'}`), says: 'a type error is mended, not hidden' },
  { pattern: new RegExp(`/${'work'}/(main|shared)\\b|/${'home'}/[a-z]+/`), says: 'a path of one machine' },
]

const READ = ['.ts', '.rs', '.sh', '.md', '.json', '.toml']

export function checkBannedText(tree: Tree): Problem[] {
  return [...tree.files]
    .filter(([path]) => READ.some(ending => path.endsWith(ending)))
    .flatMap(([path, text]) => textProblems(path, text))
}

function textProblems(path: string, text: string): Problem[] {
  const problems: Problem[] = []
  for (const [index, content] of text.split('\n').entries()) {
    for (const { pattern, says } of RULES) {
      if (pattern.test(content)) problems.push({ path, line: index + 1, says })
    }
  }
  return problems
}
