/** What a client says that it has (design page "Serve protocol", Attach and resume). */
export type AttachAsk = {
  /** The highest number that it saw. */
  after?: number | undefined
  /** The newest tree id that it holds. */
  since?: string | undefined
  /** How much of the history a catch-up has. Default `tail`. */
  history?: 'tail' | 'all' | 'none' | undefined
}
