/** Which hosts of a URL are this machine itself. Pure. */

/** True for 127.0.0.0/8, ::1 and `localhost`, as a `URL` writes them. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  return name === 'localhost' || name === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name)
}
