/** What provider libraries take from the process environment on their own, and how a program stops that. */

/**
 * Read by the SDKs and by pi-ai, whatever they are handed. A program copies its environment for the router, then takes
 * these out of its own, before the first request.
 */
const LIBRARY_VARIABLES =
  /^(?:OPENAI|ANTHROPIC|GOOGLE|GEMINI|AWS|AZURE_OPENAI|MISTRAL)_[A-Z0-9_]+$|^PI_CACHE_RETENTION$|^[A-Z0-9_]*_API_KEY$|^HF_TOKEN$|^AI_AGENT_KEY$/

/**
 * @example
 * const env = takeProviderVariables(process.env)
 * const router = await createModelRouter({ providers, env, clock })
 */
export function takeProviderVariables(
  environment: Record<string, string | undefined>,
): Record<string, string | undefined> {
  const copy = { ...environment }
  for (const name of Object.keys(environment)) if (LIBRARY_VARIABLES.test(name)) delete environment[name]
  return copy
}
