/** What the outside of a session saw: its clients by their frames, its model by the requests, its sandbox by the effects. */

/** `atMs` is the time of whoever saw it; one clock for all of them. */
export type Told = { atMs: number } & (
  | { kind: 'sent'; key: string }
  /** The client may forget the prompt. */
  | { kind: 'acked'; key: string; runId: string }
  /** The final response. */
  | { kind: 'ended'; key: string; runId: string; outcome: string; text: string }
  /** A record that is said to be durable, under that number. `epoch` of the owner that said so. */
  | { kind: 'committed'; id: string; role: string; seq: number; epoch: number }
  | { kind: 'tool'; callId: string; name: string; outcome: string; isError: boolean; text: string }
  /** The prompts that a model was shown, by their keys, in order. */
  | { kind: 'asked'; keys: readonly string[] }
)

/** One effect of a tool; `number` counts up over the whole ledger. `job` is null where it was no job. */
export type LedgerLine = {
  number: number
  scope: string
  token: string
  job: string | null
  atMs: number
}

/** How a command's output names its effect. */
export const EFFECT_TOLD = /effect (\d+) of (\S+)/
/** How a call's input names the effect that it asks for. */
export const EFFECT_ASKED = /effect (\S+) \d+ \d+/

export const KEY_IN_PROMPT = /^task (\S+) /m
