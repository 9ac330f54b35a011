/** The network of a real process; tests and the simulator hand in their own. */

export type Fetch = typeof globalThis.fetch

export const systemFetch: Fetch = (input, init) => fetch(input, init)
