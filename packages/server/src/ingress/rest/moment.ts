/**
 * Times on the wire: epoch milliseconds → ISO 8601 in UTC.
 *
 * [ingress] → access → policy → sessions → sandboxes → guest → result
 */

export function moment(at: number): string {
  return new Date(at).toISOString()
}

export function momentOrNull(at: number | null): string | null {
  return at === null ? null : moment(at)
}
