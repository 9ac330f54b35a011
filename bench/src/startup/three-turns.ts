/**
 * The task that every program of the startup benchmark does, as a script for test-support's model server: run a shell
 * command, write a file, answer. It says on stdout when a request arrives, so that the benchmark can time the first.
 */

/** What this file reads of a request; the server hands in more. */
type Request = { messages: readonly { role: 'user' | 'assistant' }[] }

type Turn = { text: string; calls: { name: string; input: Record<string, string> }[] }

export const TASK = 'Say hello with the shell, write the answer into answer.txt and tell me when it is done.'
export const ANSWER = 'forty-two\n'
export const LAST_WORDS = 'It is done.'

const TURNS: readonly Turn[] = [
  { text: 'First the shell.', calls: [{ name: 'bash', input: { command: 'echo hello' } }] },
  { text: 'Now the file.', calls: [{ name: 'write', input: { path: 'answer.txt', content: ANSWER } }] },
  { text: LAST_WORDS, calls: [] },
]

export function script(request: Request): Turn {
  const turn = request.messages.filter(({ role }) => role === 'assistant').length
  process.stdout.write(
    `${JSON.stringify({ turn, at_epoch_ms: performance.timeOrigin + performance.now() })}\n`,
  )
  return TURNS[turn] ?? { text: 'There is nothing left to do.', calls: [] }
}
