/** Takes keys out of text that leaves the package: what a server answers may repeat the key it got. */

export type Redact = (text: string) => string

const MIN_SECRET_CHARS = 6 // shorter, it would cut ordinary words out of every message
const MARK = '[redacted]'
// What looks like a credential, also when it is not one of ours or is already cut.
const CREDENTIAL =
  /\b(?:sk|pk|rk|gsk|xai|nvapi|hf|key)[-_][A-Za-z0-9_*-]{12,}|\bAIza[A-Za-z0-9_-]{20,}|\bBearer\s+[A-Za-z0-9._~+/=-]{8,}/g

export type Redactor = {
  redact: Redact
  /** Of a key that came later, e.g. a login's new token. */
  add(secrets: readonly string[]): void
}

export function createRedactor(secrets: readonly string[]): Redactor {
  let known: string[] = []
  const add = (more: readonly string[]): void => {
    const forms = more
      .filter(secret => secret.length >= MIN_SECRET_CHARS)
      .flatMap(secret => [secret, encodeURIComponent(secret), btoa(unescapedBytes(secret))])
    known = [...new Set([...known, ...forms])].sort((a, b) => b.length - a.length)
  }
  add(secrets)
  return {
    add,
    redact(text) {
      let out = text
      for (const secret of known) out = out.replaceAll(secret, MARK)
      return out.replace(CREDENTIAL, MARK)
    },
  }
}

// `btoa` takes bytes as characters.
function unescapedBytes(text: string): string {
  return Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join('')
}
