import { t } from '../../lib/i18n.svelte.ts';
import { fieldSentence } from '../../lib/ui/fieldsentence.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';
import { languageName, sortedLanguages } from './knowledge.ts';

/** Groups of words as they are typed: one group on each line, with commas between the words. */
export const synonymLines = (groups: unknown): string => (Array.isArray(groups) ? groups.map((group) => (Array.isArray(group) ? group.join(', ') : String(group))).join('\n') : '');

/** What such lines mean; undefined when there is nothing in them. */
export function synonymsOf(lines: string): string[][] | undefined {
  const groups = lines.split('\n').map((line) => line.split(',').map((word) => word.trim()).filter(Boolean)).filter((group) => group.length > 0);
  return groups.length > 0 ? groups : undefined;
}

/** A fault of a setting in the language of the person. */
export function settingFault(field: string, message: string): string {
  if (field === 'chunking.overlap' && message.includes('half')) return t.knowledge.faults.overlap;
  if (field === 'slug' && !message.includes('reserved')) return t.knowledge.faults.slug;
  if (field.startsWith('synonyms[')) return t.knowledge.faults.synonyms;
  return fieldSentence({ field, message });
}

/** The forms of the settings, by the part of the document that they show; `general` is what stands at the top of it. */
export function settingsForms(): Record<'general' | 'chunking' | 'search' | 'answer', TypedField> {
  const { fields, help, strategies, modes } = t.knowledge;
  const factor: TypedField = { type: 'number', minimum: 0 };
  const codes = ['auto', ...sortedLanguages()];
  return {
    general: {
      type: 'object',
      properties: {
        name: { type: 'localized:string', title: fields.name, required: true },
        slug: { type: 'string', title: fields.slug, description: help.slug, maxLength: 60, required: true },
        description: { type: 'localized:string', title: fields.description, 'ui:widget': 'textarea' },
        labels: { type: 'array', title: fields.labels, items: { type: 'string' } },
        language: { type: 'string', title: fields.language, description: help.language, enum: codes, enumNames: codes.map(languageName), default: 'auto' },
      },
    },
    chunking: {
      type: 'object',
      properties: {
        strategy: { type: 'string', title: fields.strategy, description: help.strategy, enum: ['structure', 'fixed'], enumNames: [strategies.structure, strategies.fixed], default: 'structure' },
        size: { type: 'integer', title: fields.size, description: help.size, minimum: 200, maximum: 8000 },
        overlap: { type: 'integer', title: fields.overlap, description: help.overlap, minimum: 0, maximum: 4000 },
      },
    },
    answer: {
      type: 'object',
      properties: {
        instructions: { type: 'string', title: fields.instructions, description: help.instructions, 'ui:widget': 'textarea', maxLength: 20_000 },
        noAnswer: { type: 'localized:string', title: fields.noAnswer, description: help.noAnswer },
        topK: { type: 'integer', title: fields.topK, description: help.topK, minimum: 1, maximum: 50 },
        temperature: { type: 'number', title: fields.temperature, description: help.temperature, minimum: 0, maximum: 2 },
        maxTokens: { type: 'integer', title: fields.maxTokens, description: help.maxTokens, minimum: 1, maximum: 100_000 },
      },
    },
    search: {
      type: 'object',
      properties: {
        mode: { type: 'string', title: fields.mode, description: help.mode, enum: ['auto', 'text', 'vector', 'hybrid'], enumNames: [modes.auto, modes.text, modes.vector, modes.hybrid], default: 'auto' },
        limit: { type: 'integer', title: fields.limit, description: help.limit, minimum: 1, maximum: 100 },
        minSimilarity: { type: 'number', title: fields.minSimilarity, description: help.minSimilarity, minimum: 0, maximum: 1 },
        boosts: { type: 'object', title: fields.boosts, description: help.boosts, properties: { title: { ...factor, title: fields.boostTitle }, headings: { ...factor, title: fields.boostHeadings } } },
        weights: { type: 'object', title: fields.weights, description: help.weights, properties: { text: { ...factor, title: fields.weightText }, vector: { ...factor, title: fields.weightVector } } },
      },
    },
  };
}
