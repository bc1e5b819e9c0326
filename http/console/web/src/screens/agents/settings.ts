import { t } from '../../lib/i18n.svelte.ts';
import { fieldSentence } from '../../lib/ui/fieldsentence.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';

/** A fault of a setting in the language of the person. */
export function agentFault(field: string, message: string): string {
  if (field === 'slug' && !/used|exists/.test(message)) return t.agents.faults.slug;
  return fieldSentence({ field, message });
}

/** Choices with those that the document names, which may not exist. */
const choices = (known: string[], used: unknown[]): string[] => [...new Set([...known, ...used.filter((one): one is string => typeof one === 'string' && one !== '')])].sort();

/** Whether an entry of `tools` is the functions of an MCP server. */
export const isMcp = (tool: unknown): boolean => tool !== null && typeof tool === 'object' && 'mcp' in tool;

/** An entry of `tools` as its form shows it, where an approval is a box to tick, and back. */
export const toolInForm = (tool: Record<string, unknown>): Record<string, unknown> => ({ ...tool, approval: tool.approval === 'always' });
export const toolOfForm = ({ approval, ...tool }: Record<string, unknown>): Record<string, unknown> => (approval ? { ...tool, approval: 'always' } : tool);

type Items = Record<string, unknown>[];

/** The forms of an agent, by the part of the document that they show; `general` and `answer` are what stands at the top of it. */
export function agentForms(bases: string[], automations: string[], value: { knowledge?: unknown; tools?: unknown }): Record<'general' | 'answer' | 'memory' | 'limits' | 'knowledge' | 'automation' | 'mcp', TypedField> {
  const { fields, help, when, access } = t.agents;
  const used = (part: unknown, name: string): unknown[] => (Array.isArray(part) ? (part as Items).map((one) => one?.[name]) : []);
  const count = (title: string, description: string, minimum: number, maximum?: number): TypedField => ({ type: 'integer', title, description, minimum, maximum });
  const approval: TypedField = { type: 'boolean', title: fields.approval, description: help.approval };
  return {
    general: {
      type: 'object',
      properties: {
        name: { type: 'localized:string', title: fields.name, required: true },
        slug: { type: 'string', title: fields.slug, description: help.slug, maxLength: 60, required: true },
        description: { type: 'localized:string', title: fields.description, 'ui:widget': 'textarea' },
        labels: { type: 'array', title: fields.labels, items: { type: 'string' } },
        disabled: { type: 'boolean', title: fields.disabled, description: help.disabled },
      },
    },
    answer: {
      type: 'object',
      properties: {
        temperature: { type: 'number', title: fields.temperature, description: help.temperature, minimum: 0, maximum: 2 },
        maxTokens: count(fields.maxTokens, help.maxTokens, 1),
      },
    },
    memory: { type: 'object', properties: { messages: count(fields.messages, help.messages, 0, 200) } },
    limits: {
      type: 'object',
      properties: {
        steps: count(fields.steps, help.steps, 1, 1000),
        toolCalls: count(fields.toolCalls, help.toolCalls, 0, 1000),
        seconds: count(fields.seconds, help.seconds, 1, 86_400),
        tokens: count(fields.tokens, help.tokens, 1),
      },
    },
    knowledge: {
      type: 'object',
      properties: {
        base: { type: 'string', title: fields.base, enum: choices(bases, used(value.knowledge, 'base')), required: true },
        when: { type: 'string', title: fields.when, enum: ['tool', 'always'], enumNames: [when.tool, when.always], default: 'tool' },
        access: { type: 'string', title: fields.access, description: help.access, enum: ['caller', 'agent'], enumNames: [access.caller, access.agent], default: 'caller' },
        topK: count(fields.topK, help.topK, 1, 50),
        filters: { type: 'object', title: fields.filters, description: help.filters },
      },
    },
    automation: {
      type: 'object',
      properties: {
        automation: { type: 'string', title: fields.automation, enum: choices(automations, used(value.tools, 'automation')), required: true },
        approval,
        name: { type: 'string', title: fields.toolName, description: help.toolName, maxLength: 64 },
        description: { type: 'localized:string', title: fields.toolDescription, description: help.toolDescription },
        arguments: { type: 'object', title: fields.arguments, description: help.arguments },
      },
    },
    mcp: {
      type: 'object',
      properties: {
        mcp: {
          type: 'object',
          title: fields.mcp,
          properties: {
            url: { type: 'string', title: fields.url, required: true },
            headers: { type: 'object', title: fields.headers, description: help.headers },
            tools: { type: 'array', title: fields.mcpTools, description: help.mcpTools, items: { type: 'string' } },
          },
        },
        approval,
      },
    },
  };
}
