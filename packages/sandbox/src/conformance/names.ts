/** Names that nobody else has: of scopes, jobs and files that the kit makes at an endpoint. */
import type { Random } from '@beige/protocol'

const NAME_BYTES = 8

export function newName(random: Random): string {
  return Buffer.from(random.bytes(NAME_BYTES)).toString('hex')
}
