/** Who may call what: deny by default; an entry of an agent's `tools` allows, and the four core tools are its model's. */
import type { Policy } from '@beige/harness'
import { CORE_TOOLS } from '@beige/protocol'

export function createAgentPolicy(agent: { name: string; tools: readonly string[] }): Policy {
  const listed = new Set(agent.tools)
  const core = new Set<string>(CORE_TOOLS)
  return {
    decide({ name, origin }) {
      // A script that wants a file or a program has them beside it; only a model needs them as tools.
      if (core.has(name) && origin !== 'launcher') return { effect: 'allow', rule: 'core' }
      if (listed.has(name)) return { effect: 'allow', rule: `tools:${name}` }
      return {
        effect: 'deny',
        by: 'policy',
        rule: 'default',
        reason: `Permission denied: tool '${shown(name)}' not allowed for agent '${agent.name}'`,
      }
    },
  }
}

/** A name that somebody sent, as text that drives no terminal. */
function shown(name: string): string {
  return name.replace(/[^ -~]/gu, char => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}
