/**
 * What the scripted model does in `npm run demo`: the same task that a real model is given, step by step. What it says
 * depends on what the tools answered, so a broken sandbox is not talked over.
 */
import { type StepInput, type Turn, taskScript } from './model-script.ts'

export const DEMO_README_LINE = '* `coerce(version, options)`: Coerces a string to semver if possible'
const MENDED_LINE = '* `coerce(version, options)`: Coerces a string or a number to semver if possible'

const CHECK_ALL = `#!/bin/sh
# Stores coerce(1) to coerce(20) in kv, one call a number.
set -e
number=1
while [ "$number" -le 20 ]; do
  kv set "coerce-$number" "$(node -p "String(require('.').coerce($number))")"
  number=$((number + 1))
done
echo "$(kv list | wc -l) facts"
`

export const script = taskScript([
  {
    text: 'I will look at the code first.',
    calls: [
      { name: 'read', input: { path: 'README.md', offset: 530, limit: 60 } },
      { name: 'exec', input: { command: 'node -p "String(require(\'.\').coerce(42))"' } },
    ],
  },
  coercedOrGiveUp,
  { calls: [{ name: 'exec', input: { command: 'sh check-all.sh' } }] },
  ({ lastResult }) => {
    const count = /(\d+) facts/.exec(lastResult?.text ?? '')?.[1]
    if (lastResult?.isError || count === undefined)
      return { text: `That failed: ${lastResult?.text ?? 'no answer'}` }
    return { text: `Done: numbers work, the README now says so. ${count} facts are in kv.` }
  },
])

function coercedOrGiveUp({ lastResult }: StepInput): Turn {
  if (!lastResult?.text.includes('42.0.0'))
    return { text: `I could not run it: ${lastResult?.text ?? 'no answer'}` }
  return {
    calls: [
      { name: 'patch', input: { path: 'README.md', oldText: DEMO_README_LINE, newText: MENDED_LINE } },
      { name: 'write', input: { path: 'check-all.sh', content: CHECK_ALL } },
    ],
  }
}
