/** `attach` on an open connection: as at its beginning; the response comes first. */
import { fail } from '../errors.ts'
import type { Handler } from './handler.ts'

export const attach: Handler<'attach'> = (command, context) => {
  const { live, viewer, names } = context
  const attachment = live.frames.attachmentOf(viewer)
  if (!attachment) throw fail('bad_request', { reason: 'this connection is no viewer' })
  const { since } = command
  if (since !== undefined && !live.session.state().entries.some(entry => entry.id === since)) {
    throw fail('unknown_id', { id: since })
  }
  context.answer({ type: 'response', ...names, success: true, data: { seq: live.frames.seq } })
  attachment.catchUp(command)
  return null
}
