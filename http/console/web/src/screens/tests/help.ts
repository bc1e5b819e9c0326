import type { EditorHelp } from '../../lib/editor/help.ts';
import { keyProposals, valueProposals, type JsonSchema } from '../../lib/editor/schemahelp.ts';
import { contextAt } from '../../lib/editor/yamloutline.ts';

/** Completion of a suite: fields by its schema, automations by what exists. */
export function suiteHelp(schema: () => JsonSchema | undefined, automations: () => string[]): EditorHelp {
  return {
    complete: (text, position, explicit) => {
      const context = contextAt(text, position);
      const root = schema();
      if (!context || !root) return undefined;
      const proposals = context.kind === 'key' ? keyProposals(root, context) : context.path.join() === 'automation' ? automations().map((label) => ({ label })) : valueProposals(root, context.path);
      if (proposals.length === 0 || (!explicit && context.kind === 'key' && context.typed === '' && !context.item)) return undefined;
      return { from: context.from, proposals, word: /^[\w$./ -]*$/ };
    },
  };
}
