/** A way to carry frames and commands: one JSON text each, in order. */

export type ChannelEnd = {
  /** Close code of a WebSocket, `null` where there is none. */
  code: number | null
  reason: string
}

export type ChannelListener = {
  text(text: string): void
  /** Called once, also when it never opened. */
  end(end: ChannelEnd): void
}

export type Channel = {
  send(text: string): void
  /** Says good-bye; `end` of the listener follows. */
  close(): void
}

/** What is asked of a session when a channel is opened, besides its id. */
export type AttachAsk = { after?: number; since?: string; history?: 'tail' | 'all' | 'none' }

/** Opens channels to one session, again and again as they are lost. */
export type Dialer = {
  /** For messages to people. */
  address: string
  /** Whether a lost channel can be opened again and finds the same session. */
  canReopen: boolean
  dial(sessionId: string | undefined, ask: AttachAsk, listener: ChannelListener): Channel
}
