/** Makes a `Tool` out of a schema and a function that gets the input as that schema's type. */
import { compile, type Schema, type Static } from '@earendil-works/pi-schema'
import type { Tool, ToolContext, ToolResult } from '../tool.ts'
import { errorResult } from '../tool-pipeline.ts'

export type ToolDefinition<S extends Schema> = Pick<
  Tool,
  'name' | 'description' | 'idempotent' | 'announces' | 'mode'
> & {
  schema: S
  /** Absent: `acts`. */
  effect?(input: Static<S>): 'reads' | 'writes' | 'acts'
  lock?(input: Static<S>): { path: string; mode: 'shared' | 'exclusive' }
  run(input: Static<S>, context: ToolContext): Promise<ToolResult>
}

export function defineTool<S extends Schema>(definition: ToolDefinition<S>): Tool {
  const { name, description, idempotent, announces = false, mode, schema } = definition
  const validator = compile(schema)
  return {
    name,
    description,
    inputSchema: schema,
    idempotent,
    announces,
    mode,
    effect: input => (validator.check(input) && definition.effect?.(input)) || 'acts',
    lock: input => (validator.check(input) && definition.lock?.(input)) || null,
    async run(input, context) {
      // The pipeline has checked it; a route that did not must not reach a tool with other input (H34).
      if (!validator.check(input)) return errorResult('invalid_input', `invalid input for ${name}`)
      context.signal.throwIfAborted()
      return await definition.run(input, context)
    },
  }
}

export function textResult(text: string, details: Readonly<Record<string, unknown>>): ToolResult {
  return { content: [{ type: 'text', text }], isError: false, outcome: 'done', details }
}
