/** What an editor sends as a prompt, as the text and images of ours. Pure. */
import { fileURLToPath } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'

export type PromptParts = { message: string; images: { media_type: string; data: string }[] }

/**
 * Links become names the model can read in its workspace, texts that came along stand below their name. Audio is left out
 * and said so: `initialize` does not offer it. A prompt of images alone gets a line of text.
 */
export function promptParts(blocks: readonly ContentBlock[], workspace: Workspace): PromptParts {
  const texts: string[] = []
  const images: PromptParts['images'] = []
  for (const block of blocks) {
    switch (block.type) {
      case 'text':
        texts.push(block.text)
        break
      case 'image':
        images.push({ media_type: block.mimeType, data: block.data })
        break
      case 'resource_link':
        texts.push(workspace.inside(block.uri))
        break
      case 'resource':
        texts.push(
          'text' in block.resource
            ? `\n${workspace.inside(block.resource.uri)}:\n\`\`\`\n${block.resource.text}\n\`\`\`\n`
            : `(${workspace.inside(block.resource.uri)}: binary, not attached)`,
        )
        break
      case 'audio':
        texts.push('(audio, not attached)')
        break
      default:
        block satisfies never
    }
  }
  const message = texts.join('').trim()
  return { message: message === '' ? 'See the attached images.' : message, images }
}

/** The folder of a session as the editor sees it and as the sandbox does. */
export type Workspace = {
  /** A path or `file:` URL of the editor as a path in the sandbox; what lies elsewhere as it is. */
  inside(place: string): string
  /** A path that a tool was given as an absolute path of the editor. */
  outside(path: string): string
}

export function workspaceOf(cwd: string, inSandbox: string): Workspace {
  const moved = (path: string, from: string, to: string): string | undefined => {
    if (path === from) return to
    return path.startsWith(`${from}/`) ? `${to}${path.slice(from.length)}` : undefined
  }
  return {
    inside: place => {
      const path = place.startsWith('file://') && URL.canParse(place) ? fileURLToPath(place) : place
      return moved(path, cwd, inSandbox) ?? path
    },
    outside: path => {
      if (!path.startsWith('/')) return `${cwd}/${path.replace(/^\.\//, '')}`
      return moved(path, inSandbox, cwd) ?? path
    },
  }
}
