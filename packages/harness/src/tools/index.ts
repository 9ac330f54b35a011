/**
 * The tools that every agent has. `coding` are the harness's names, `core` the gateway's four; both are the same
 * implementations (H40).
 *
 * @example
 * const pipeline = createPipeline({ tools: toolset('coding'), policy, audit, clock, locks })
 */
import type { Tool } from '../tool.ts'
import { bashJobTool, bashTool, editTool } from './coding-tools.ts'
import { execTool, patchTool } from './core-tools.ts'
import { findTool } from './find.ts'
import { grepTool } from './grep.ts'
import { lsTool } from './ls.ts'
import { readTool } from './read.ts'
import { createSandboxFacts } from './sandbox-facts.ts'
import { writeTool } from './write.ts'

export type ToolsetName = 'coding' | 'core'

/** Sorted by name; names, schemas and descriptions are the same bytes each time and for every sandbox. */
export function toolset(name: ToolsetName): Tool[] {
  const facts = createSandboxFacts()
  const own =
    name === 'coding'
      ? [editTool(facts), bashTool(facts), bashJobTool(), lsTool(facts), grepTool(facts), findTool(facts)]
      : [patchTool(facts), execTool(facts)]
  return [...own, readTool(facts), writeTool(facts)].sort((a, b) => (a.name < b.name ? -1 : 1))
}
