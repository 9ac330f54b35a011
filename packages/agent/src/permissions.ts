/** What the agent's own tools may do: the sandbox is the boundary, so what is offered is allowed. */
import type { Audit, Policy, Tool } from '@beige/harness'

export function offeredTools(tools: readonly Tool[]): Policy {
  const names = new Set(tools.map(tool => tool.name))
  return {
    decide: call =>
      names.has(call.name)
        ? { effect: 'allow', rule: 'offered' }
        : {
            effect: 'deny',
            by: 'policy',
            rule: 'not offered',
            reason: `${call.name} is not offered in this session`,
          },
  }
}

/** Outside a gateway the session's log is the record of what was called: `tool_started` and `tool_finished`. */
export const logIsTheAudit: Audit = { start: async () => {}, end: async () => {} }
