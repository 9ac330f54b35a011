/** A glob that somebody writes to choose files: without `/` it is about names, else about paths below any directory. Pure. */
import { type ByteText, bytesOfText, joined, nameOf, partsOf, textOfBytes } from './byte-text.ts'
import { compileGlob, type Glob } from './glob.ts'

/** Null where it is no glob. A `/` at its start means: from the searched directory on. */
export function pathGlob(pattern: string, letters: 'smart case' | 'exact case'): Glob | null {
  const fold = letters === 'smart case' && pattern === pattern.toLowerCase() ? folded : same
  const text = pattern.replace(/^\.\//, '/')
  const isAnchored = text.startsWith('/')
  const isOfPath = text.includes('/')
  const glob = compileGlob(bytesOfText(isAnchored ? text.slice(1) : isOfPath ? `**/${text}` : text))
  return glob && (path => glob(fold(isOfPath ? path : nameOf(path))))
}

const same = (path: ByteText) => path

/** Part by part: one that is not UTF-8 has no case, and takes it from no other. */
function folded(path: ByteText): ByteText {
  return joined(...partsOf(path).map(foldedPart))
}

function foldedPart(part: ByteText): ByteText {
  const text = textOfBytes(part)
  return text === null ? part : bytesOfText(text.toLowerCase())
}
