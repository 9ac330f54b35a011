/**
 * A provider's signature of its thinking is good for the model that made it alone. A client that goes through the
 * gateway may be answered by one model now and by another next time, and its wire has no field for that: so the
 * signature that it gets and sends back says in itself whose it is. Opaque to clients, as signatures are.
 */

export type Origin = { provider: string; api: string; model: string }
export type Signed = { origin: Origin; signature: string; redacted: boolean }

const PREFIX = 'bsg1.'

export function sealSignature(origin: Origin, signature: string, redacted = false): string {
  const { provider, api, model } = origin
  return (
    PREFIX + Buffer.from(JSON.stringify([provider, api, model, signature, redacted])).toString('base64url')
  )
}

/** Null for what is not ours. */
export function openSignature(sealed: string): Signed | null {
  if (!sealed.startsWith(PREFIX)) return null
  let found: unknown
  try {
    found = JSON.parse(Buffer.from(sealed.slice(PREFIX.length), 'base64url').toString('utf8'))
  } catch {
    return null
  }
  if (!Array.isArray(found)) return null
  const [provider, api, model, signature, redacted]: unknown[] = found
  if (typeof provider !== 'string' || typeof api !== 'string' || typeof model !== 'string') return null
  if (typeof signature !== 'string') return null
  return { origin: { provider, api, model }, signature, redacted: redacted === true }
}
