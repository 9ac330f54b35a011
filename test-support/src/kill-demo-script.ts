/** What the scripted model does in `npm run demo -- kill`: one slow command that writes a ledger, then a look at what it said. */
import { taskScript } from './model-script.ts'

export const LEDGER_LINES = 10
const COMMAND = `n=1; while [ $n -le ${LEDGER_LINES} ]; do echo "line $n" >> ledger.txt; echo "wrote line $n"; sleep 1; n=$((n + 1)); done`

export const script = taskScript([
  { text: 'I write the ledger.', calls: [{ name: 'bash', input: { command: COMMAND } }] },
  ({ lastResult }) => {
    const written = lastResult?.text.match(/^wrote line \d+$/gm)?.length ?? 0
    if (lastResult?.isError || written !== LEDGER_LINES)
      return { text: `I do not know what was written: ${lastResult?.text ?? 'no answer'}` }
    return { text: `The command said of each of its ${written} lines that it wrote it.` }
  },
])
