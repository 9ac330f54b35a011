/** Tells whoever asked that a job has ended, until it is taken. */
import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { Has } from './defects.ts'
import type { WantedJob } from './wire.ts'

const FIRST_WAIT_MS = 1000
const LAST_WAIT_MS = 60_000
const DEFECTIVE_TIMES = 3

export async function tellEnd(
  to: NonNullable<WantedJob['notify']>,
  state: () => object,
  has: Has,
  signal: AbortSignal,
): Promise<void> {
  let waitMs = FIRST_WAIT_MS
  for (let times = 1; !signal.aborted; times++) {
    const status = await post(to, JSON.stringify(state()), has, signal)
    const isDone = (status >= 200 && status < 300) || status === 410 || has('notifies_once')
    if (has('notifies_thrice') ? times >= DEFECTIVE_TIMES : isDone) return
    await wait(waitMs, undefined, { signal }).catch(() => undefined)
    waitMs = Math.min(2 * waitMs, LAST_WAIT_MS)
  }
}

/** 0 when nobody answers. */
function post(
  { url, token }: NonNullable<WantedJob['notify']>,
  body: string,
  has: Has,
  signal: AbortSignal,
): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    ...(has('notifies_without_token') ? {} : { authorization: `Bearer ${token}` }),
  }
  return new Promise(resolve => {
    const sent = request(url, { method: 'POST', headers, agent: false, signal }, response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', () => resolve(0))
    sent.end(body)
  })
}
