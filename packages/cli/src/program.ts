/** Every verb, in the order in which help shows them. What a verb takes and does is in `commands/`. */
import type { Command } from 'commander'
import { bareProgram, teachWhereHelpIs } from './bare-program.ts'
import { addAttach } from './commands/attach.ts'
import { addAudit } from './commands/audit.ts'
import { addBackup } from './commands/backup.ts'
import { addClock } from './commands/clock.ts'
import { addBox } from './commands/box.ts'
import { addCompletion } from './commands/completion.ts'
import { addConfig } from './commands/config.ts'
import { addCopy } from './commands/cp.ts'
import { addCredentials } from './commands/credentials.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEvents } from './commands/events.ts'
import { addExec } from './commands/exec.ts'
import { addFiles } from './commands/files.ts'
import { addForward } from './commands/forward.ts'
import { addKeys } from './commands/keys.ts'
import { addKill } from './commands/kill.ts'
import { addLogs } from './commands/logs.ts'
import { addMcp } from './commands/mcp.ts'
import { addPreview } from './commands/preview.ts'
import { addPs } from './commands/ps.ts'
import { addSandboxes } from './commands/sandboxes.ts'
import { addPipelines } from './commands/pipelines.ts'
import { addProfiles } from './commands/profiles.ts'
import { addServerFacts } from './commands/server-facts.ts'
import { addSessions } from './commands/sessions.ts'
import { addShell } from './commands/shell.ts'
import { addSkills } from './commands/skills.ts'
import { addTenants } from './commands/tenants.ts'
import { addUp } from './commands/up.ts'
import { addVersion } from './commands/version.ts'
import { addWebhooks } from './commands/webhooks.ts'

export function createProgram(): Command {
  const program = bareProgram()
  program.commandsGroup('Server:')
  addUp(program)
  addBox(program)
  addDoctor(program)
  addConfig(program)
  addBackup(program)
  program.commandsGroup('Work:')
  addExec(program)
  addShell(program)
  addPs(program)
  addLogs(program)
  addAttach(program)
  addKill(program)
  addCopy(program)
  addFiles(program)
  addPreview(program)
  addForward(program)
  addMcp(program)
  program.commandsGroup('Sessions:')
  addSessions(program)
  addCredentials(program)
  addEvents(program)
  addSandboxes(program)
  addServerFacts(program)
  addProfiles(program)
  addPipelines(program)
  program.commandsGroup('Administration:')
  addKeys(program)
  addTenants(program)
  addWebhooks(program)
  addSkills(program)
  addAudit(program)
  addClock(program)
  program.commandsGroup('This program:')
  addCompletion(program)
  addVersion(program)
  teachWhereHelpIs(program, [])
  return program
}
