/** What a benchmark is: rows of flat numbers that were measured in one run, and the words to say of what is absent. */

/** Numbers carry their unit in the name (`p50_ms`, `rss_mb`); `name` names the row. */
export type Row = { name: string; [measure: string]: string | number }

/** `say` tells people what happens or why a row is left out; it never reaches the table or the JSON. */
export type BenchContext = {
  root: string
  rounds: number | undefined
  say: (text: string) => void
  signal: AbortSignal
}

export type Bench = {
  name: string
  about: string
  run: (context: BenchContext) => Promise<Row[]>
}
