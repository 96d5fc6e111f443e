/**
 * One line for the model after a change: what survived and what did not.
 *
 * ingress → access → policy → [sessions] → sandboxes → guest → result
 */
import type { HomeKind, SuspendReason, WorkspaceVerdict } from '@holdfast/protocol'

const REASONS: Readonly<Record<SuspendReason, string>> = {
  idle: 'the previous one was removed after a time without work',
  caller: 'the previous one was suspended on request',
  sandbox_lost: 'the previous one stopped unexpectedly',
  server_stopped: 'the server was restarted',
  capacity: 'the previous one was idle and was suspended because all places of this server were taken (sessions.max)',
  home_reset: 'the previous one ended because the home directory was reset and is empty',
  tcp_limit: 'the previous one was killed because its TCP sockets held more than their limit, a quarter of limits.memory, allows',
}

const FILES: Readonly<Record<WorkspaceVerdict | 'intact-with-home', string>> = {
  'intact-with-home': 'Files in the workspace are intact, and so is the home directory; processes and files elsewhere are gone.',
  intact: 'Files in the workspace are intact; processes and files elsewhere are gone.',
  restored: 'Files in the workspace come from a copy; processes and files elsewhere are gone.',
  lost: 'The workspace could not be kept and is empty; processes and files elsewhere are gone too.',
}

/** Of a command that was stopped; how much there is comes with the next result. */
export const FULL_NOTICE =
  'This command was stopped: the workspace holds more than its bound allows. Its files are kept; remove some before you go on.'

export function noticeOf(reason: SuspendReason, workspace: WorkspaceVerdict, home: HomeKind): string {
  const isHomeKept = workspace === 'intact' && home === 'persistent' && reason !== 'home_reset'
  return `This is a new sandbox: ${REASONS[reason]}. ${FILES[isHomeKept ? 'intact-with-home' : workspace]}`
}
