/**
 * Which session a message belongs to: a template of the pipeline, filled with what is known of the message.
 */

export const DEFAULT_TEMPLATE = '{launcher_type}_{launcher_id}'

/** What a host knows of the message that is being answered. */
export interface BoxQuery {
  readonly query_id: string | number
  /** Names the directories of attachments where it is given. */
  readonly query_uuid?: string
  /** `person` or `group`. */
  readonly launcher_type?: string
  readonly launcher_id?: string | number
  readonly sender_id?: string | number
  readonly conversation_id?: string | number
  readonly variables?: Readonly<Record<string, string | number>>
  /** Of the pipeline; per chat without one. */
  readonly template?: string
}

/** A forced template wins over the pipeline's. Unknown variables become `unknown`; `{{` and `}}` are braces. */
export function sessionIdOf(query: BoxQuery, forcedTemplate = ''): string {
  const template = [forcedTemplate, query.template ?? ''].find((text) => text.trim() !== '') ?? DEFAULT_TEMPLATE
  const variables = variablesOf(query)
  return template.replaceAll(/\{\{|\}\}|\{(?<name>[^{}]*)\}/g, (whole, name: string | undefined) =>
    name === undefined ? whole.slice(1) : (variables.get(name) ?? 'unknown'),
  )
}

function variablesOf(query: BoxQuery): ReadonlyMap<string, string> {
  const { query_id: id, launcher_type: type, launcher_id: launcher, sender_id: sender, conversation_id: conversation } = query
  const known = {
    query_id: [id],
    launcher_type: [type, 'query'],
    launcher_id: [launcher, id],
    sender_id: [sender, launcher, id],
    conversation_id: [conversation],
  }
  const facts = Object.entries(known).map(([name, values]) => [name, values.find(isSaid) ?? 'unknown'] as const)
  const said = Object.entries(query.variables ?? {}).filter(([, value]) => isSaid(value))
  // Whoever could change the constant would leave a template that is forced on everybody.
  const all = [...facts, ...said, ['global', 'global'] as const]
  return new Map(all.map(([name, value]) => [name, String(value)]))
}

function isSaid(value: string | number | undefined): value is string | number {
  return value !== undefined && value !== ''
}
