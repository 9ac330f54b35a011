/** The disk as it is handed in, so that a simulator can own it; clock and random are the protocol's. */

export interface StateDisk {
  /** The whole file; null when there is none. */
  read(path: string): Promise<Uint8Array | null>
  /** From the beginning, in pieces; nothing when there is none. */
  readPieces(path: string): AsyncIterable<Uint8Array>
  /** Temp file beside it, sync, rename, sync of the directory: at every instant the old or the new bytes. */
  replace(path: string, bytes: Uint8Array): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Opens it for appending, mode 0600, and makes it, with its directory, when there is none. */
  append(path: string): Promise<AppendFile>
}

export interface AppendFile {
  /** True when it is empty too. */
  readonly endsWithNewline: boolean
  /** All of `bytes` behind what is there, or a rejection after which any prefix of them may be. */
  write(bytes: Uint8Array): Promise<void>
  /** `fdatasync`. */
  sync(): Promise<void>
  close(): Promise<void>
}
