/**
 * Which headers are about one connection, and so are never passed on: those of RFC 9110, and those that `Connection` names.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */
const ALWAYS = [
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]
/** What frames a message stays, whatever the other end says of it. */
const NEVER = new Set(['content-length', 'host'])

export function hopByHop(connection: readonly string[] | undefined): (name: string) => boolean {
  const named = (connection ?? []).flatMap((list) => list.split(',')).map((word) => word.trim().toLowerCase())
  const dropped = new Set([...ALWAYS, ...named.filter((name) => !NEVER.has(name))])
  return (name) => dropped.has(name)
}
