/** What torture and a replica say to each other, a JSON object a line. */
import type { SessionId } from '@beige/protocol'

export type ReplicaSetup = {
  name: string
  store: { kind: 'files'; root: string } | { kind: 'postgres'; url: string }
  execSocket: string
  ledger: string
  seed: number
}

/** To a replica. `viewer` names who is answered. */
export type ToReplica =
  | { do: 'take'; viewer: string; session: SessionId; command: { type: string; id: string } }
  /** Opens the session, if nobody else has it. */
  | { do: 'open'; session: SessionId }

/** From a replica. */
export type FromReplica =
  | { says: 'up' }
  | { says: 'frame'; viewer: string; session: SessionId; frame: unknown }
  | { says: 'opened'; session: SessionId; epoch: number }
  | { says: 'refused'; session: SessionId; code: string }
  | { says: 'asked'; session: string; keys: readonly string[] }
  /** It is given up in this moment. */
  | { says: 'releasing'; session: SessionId }

/** A shell command that is `token`'s effect: one line of the ledger, whose number it prints. */
export function ledgerCommand(ledger: string): (token: string, afterMs: number, lastsMs: number) => string {
  return (token, afterMs, lastsMs) =>
    [
      `: effect ${token} ${afterMs} ${lastsMs}`,
      `sleep ${afterMs / 1000}`,
      'n=$(date +%s%6N)',
      `echo "$n ${token}" >> ${ledger}`,
      `echo "effect $n of ${token}"`,
      `sleep ${Math.max(0, lastsMs - afterMs) / 1000}`,
    ].join('; ')
}
