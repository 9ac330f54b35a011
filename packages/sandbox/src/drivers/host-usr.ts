/** This machine's programs as a sandbox's root: `/usr` read-only, what `/etc` it needs, and nothing else of the host. */
import { lstatSync, readlinkSync } from 'node:fs'

// On merged systems these are links into /usr, on others folders of their own.
const TOP = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']
// Where programs look for each other, for their libraries and for certificates; all of it is public.
const ETC = ['/etc/alternatives', '/etc/ssl', '/etc/ca-certificates', '/etc/pki', '/etc/ld.so.cache']

export type HostUsr = {
  folders: readonly string[]
  links: readonly { path: string; target: string }[]
}

export function hostUsr(): HostUsr {
  const present = TOP.filter(path => kindOf(path) !== null)
  return {
    folders: [
      '/usr',
      ...present.filter(path => kindOf(path) === 'folder'),
      ...ETC.filter(path => kindOf(path) !== null),
    ],
    links: present
      .filter(path => kindOf(path) === 'link')
      .map(path => ({ path, target: readlinkSync(path) })),
  }
}

function kindOf(path: string): 'link' | 'folder' | null {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat ? (stat.isSymbolicLink() ? 'link' : 'folder') : null
}
