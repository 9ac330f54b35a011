/** One way to run a command; every way runs the same one and is held to its output. */
export type Subject = {
  name: string
  /** Runs `/bin/echo ok` and resolves with its stdout. */
  call: (signal: AbortSignal) => Promise<string>
}

export const COMMAND = ['/bin/echo', 'ok'] as const
const EXPECTED = 'ok\n'

export async function callOnce(subject: Subject, signal: AbortSignal): Promise<void> {
  const stdout = await subject.call(signal)
  if (stdout !== EXPECTED) throw new Error(`${subject.name} answered ${JSON.stringify(stdout)}`)
}
