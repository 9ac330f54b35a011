/** Disk and ticks as they are handed in, so that a simulator can own them; clock and random are the protocol's. */
import type { Clock, Random } from '@beige/protocol'

export interface Disk {
  /** One level, mode 0700; its parent must be there. False when it was there already. */
  makeDirectory(path: string): Promise<boolean>
  /** Names in it, in no order; null when there is no such directory. */
  list(path: string): Promise<readonly string[] | null>
  /** A new empty file, mode 0600, made with `O_EXCL`; null when the name is taken. */
  create(path: string): Promise<WritableFile | null>
  /** The whole file; null when there is none. */
  read(path: string): Promise<Uint8Array | null>
  readHead(path: string, maxBytes: number): Promise<Uint8Array | null>
  readTail(path: string, maxBytes: number): Promise<Uint8Array | null>
  /** What is there from `offset` to the end; empty when the file is not that long. */
  readFrom(path: string, offset: number): Promise<Uint8Array | null>
  /** `fdatasync` of what is in it now, whoever wrote that; nothing where there is no such file. */
  syncFile(path: string): Promise<void>
  /** Opens it anew: on NFS that is what makes the client ask the server. Null when there is no such directory. */
  openDirectory(path: string): Promise<OpenDirectory | null>
  /** Makes its entries durable. */
  syncDirectory(path: string): Promise<void>
  /** Temp file beside it, sync, rename, sync of the directory: at every instant the old or the new bytes. */
  replace(path: string, bytes: Uint8Array): Promise<void>
  /** False when it was not there. */
  remove(path: string): Promise<boolean>
  /** Of a directory, on one file system; false when `from` was not there. `to` must not be there. */
  rename(from: string, to: string): Promise<boolean>
  /** An empty directory only. */
  removeDirectory(path: string): Promise<boolean>
  /** A directory with all that is in it; links in it are not followed. */
  removeTree(path: string): Promise<void>
}

export interface OpenDirectory {
  /** What tells an entry from another one of the same name (device and inode); null when it was not there at opening. */
  identityOf(name: string): Promise<string | null>
  close(): Promise<void>
}

export interface WritableFile {
  readonly identity: string
  /** All of `bytes`, or a rejection after which any prefix of them may be there. */
  write(bytes: Uint8Array, offset: number): Promise<void>
  /** `fdatasync`. */
  sync(): Promise<void>
  close(): Promise<void>
}

export interface Ticker {
  /** Calls `beat` each `intervalMs`, never two at once, without keeping the process alive. The answer stops it. */
  every(intervalMs: number, beat: () => Promise<void>): () => void
}

export type SessionWorld = { clock: Clock; random: Random; disk: Disk; ticker: Ticker }
