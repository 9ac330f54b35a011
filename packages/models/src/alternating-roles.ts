/**
 * Bedrock refuses two messages of one role in a row, which a log has wherever a prompt follows results or a run that was
 * cut off. Pure.
 */
import { isObject } from './json.ts'

/** The command with neighbours of one role put into one message; null when it has none, or is not what we think it is. */
export function withAlternatingRoles(command: unknown): object | null {
  if (!isObject(command) || !Array.isArray(command.messages)) return null
  const messages: { role: unknown; content: unknown[] }[] = []
  for (const message of command.messages) {
    if (!isObject(message) || !Array.isArray(message.content)) return null
    const last = messages.at(-1)
    if (last !== undefined && last.role === message.role) last.content.push(...message.content)
    else messages.push({ role: message.role, content: [...message.content] })
  }
  return messages.length === command.messages.length ? null : { ...command, messages }
}
