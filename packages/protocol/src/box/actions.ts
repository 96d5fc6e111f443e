/**
 * The actions of the Box protocol: their exact names, and which of them speak for the host instead of for one workspace.
 */

export const BOX_ACTIONS = [
  '__ping',
  '__file_chunk',
  '__cancel_action',
  'box_init',
  'box_health',
  'box_get_backend_info',
  'box_status',
  'box_get_storage_analysis',
  'box_shutdown',
  'box_verify_shared_workspace',
  'box_exec',
  'box_create_session',
  'box_get_session',
  'box_get_sessions',
  'box_delete_session',
  'box_start_managed_process',
  'box_get_managed_process',
  'box_stop_managed_process',
  'box_list_skills',
  'box_get_skill',
  'box_create_skill',
  'box_update_skill',
  'box_delete_skill',
  'box_scan_skill_directory',
  'box_list_skill_files',
  'box_read_skill_file',
  'box_write_skill_file',
  'box_preview_skill_zip',
  'box_install_skill_zip',
  'box_upsert_sandbox_admission_grant',
  'box_revoke_sandbox_admission_grant',
] as const
export type BoxAction = (typeof BOX_ACTIONS)[number]

/** A context is optional with these, and needed with all others. */
export const HOST_ACTIONS: ReadonlySet<BoxAction> = new Set([
  '__ping',
  '__file_chunk',
  'box_health',
  'box_get_backend_info',
  'box_init',
  'box_upsert_sandbox_admission_grant',
  'box_revoke_sandbox_admission_grant',
  'box_verify_shared_workspace',
  'box_shutdown',
])

export function isBoxAction(name: string): name is BoxAction {
  const names: readonly string[] = BOX_ACTIONS
  return names.includes(name)
}

/** How long a client waits for an answer; others wait for `DEFAULT_CALL_SECONDS`. */
export const DEFAULT_CALL_SECONDS = 15
export const CALL_SECONDS: Readonly<Partial<Record<BoxAction, number>>> = {
  box_exec: 300,
  box_create_session: 60,
  box_get_storage_analysis: 60,
  box_delete_session: 30,
  box_start_managed_process: 30,
  box_stop_managed_process: 30,
  box_revoke_sandbox_admission_grant: 30,
  box_preview_skill_zip: 60,
  box_install_skill_zip: 120,
}
