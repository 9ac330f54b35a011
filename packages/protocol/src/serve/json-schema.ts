/** `serve/2` as one JSON Schema document, made from the schemas that the types come from. Pure. */
import { commandSchemas } from './commands.ts'
import { frameSchemas } from './frames.ts'
import { SERVE_PROTOCOL } from './limits.ts'

/**
 * `$defs.Command` and `$defs.Frame` are the unions; each command and frame also has a definition of its own
 * (`command.prompt`, `frame.ready`).
 */
export function serveJsonSchema(): Record<string, unknown> {
  const of = (kind: string, schemas: object) =>
    Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [`${kind}.${name}`, schema]))
  const any = (kind: string, schemas: object) => ({
    anyOf: Object.keys(schemas).map(name => ({ $ref: `#/$defs/${kind}.${name}` })),
  })
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: SERVE_PROTOCOL,
    $defs: {
      Command: any('command', commandSchemas),
      Frame: any('frame', frameSchemas),
      ...of('command', commandSchemas),
      ...of('frame', frameSchemas),
    },
    anyOf: [{ $ref: '#/$defs/Command' }, { $ref: '#/$defs/Frame' }],
  }
}
