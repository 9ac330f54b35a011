/** Read from the package itself; the bundler puts the text in. */
import manifest from '../package.json' with { type: 'json' }

export const VERSION: string = manifest.version
