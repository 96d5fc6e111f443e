/**
 * Tools as a model's host hands them over: a name, a description, and a JSON schema.
 *
 * ingress → [tools] → access → policy → sessions → sandboxes → guest → result
 */
import { TOOL_SHAPES } from '@holdfast/protocol'
import type { OpenAiTool, ToolDefinition, ToolName } from '@holdfast/protocol'
import { z } from 'zod'

export function definitionOf({ name, description }: { readonly name: ToolName; readonly description: string }): ToolDefinition {
  return { name, description, input_schema: inputSchema(name) }
}

export function openAiTool({ name, description, input_schema: parameters }: ToolDefinition): OpenAiTool {
  return { type: 'function', function: { name, description, parameters } }
}

function inputSchema(name: ToolName): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(TOOL_SHAPES[name].input, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Where JavaScript's own numbers end is no rule of the tool.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}
