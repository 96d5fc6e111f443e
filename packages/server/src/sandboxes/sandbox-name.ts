/**
 * What a sandbox is called: `sbx_` and sixteen of 0-9a-z.
 *
 * ingress → access → policy → sessions → [sandboxes] → guest → result
 *
 * The name becomes part of paths that are removed recursively and of names on an engine, so nothing else is ever let through.
 */
import { HoldfastError } from '@holdfast/protocol'

const SANDBOX_NAME = /^sbx_[0-9a-z]{16}$/

export function isSandboxName(name: string): boolean {
  return SANDBOX_NAME.test(name)
}

export function assertSandboxName(name: string): void {
  if (!isSandboxName(name))
    throw new HoldfastError('invalid_request', `the sandbox name ${JSON.stringify(name.slice(0, 64))} is not sbx_ and 16 of 0-9a-z`)
}
