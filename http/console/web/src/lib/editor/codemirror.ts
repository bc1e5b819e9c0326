import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap, snippet, startCompletion, type Completion, type CompletionSource } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, codeFolding, foldGutter, foldKeymap, HighlightStyle, indentService, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Annotation, Compartment, EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import {
  crosshairCursor, Decoration, drawSelection, dropCursor, EditorView, highlightActiveLine, highlightActiveLineGutter, highlightSpecialChars, hoverTooltip, keymap,
  lineNumbers, placeholder, rectangularSelection, tooltips, type DecorationSet,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { EditorHelp, HoverText, Proposal } from './help.ts';

/* The one place that knows CodeMirror; Editor.svelte and the comparison load it when they are shown. */

export type EditorLanguage = 'yaml' | 'json' | 'text';

/** A problem of the text, as the server tells it: lines and columns begin with 1. */
export interface Problem {
  line?: number;
  column?: number;
  message: string;
  field?: string;
  severity: 'error' | 'warning' | 'info';
}

/** Tokens of the console; the shadow root inherits them. */
const colours = HighlightStyle.define([
  { tag: [tags.definition(tags.propertyName), tags.propertyName], color: 'var(--accent)' },
  { tag: [tags.string, tags.content, tags.special(tags.string)], color: 'var(--text)' },
  { tag: tags.string, color: 'var(--ok)' },
  { tag: [tags.number], color: 'var(--info)' },
  { tag: [tags.bool, tags.null, tags.keyword, tags.labelName, tags.typeName], color: 'var(--warn)' },
  { tag: [tags.comment, tags.lineComment], color: 'var(--muted)', fontStyle: 'italic' },
  { tag: [tags.separator, tags.punctuation, tags.brace, tags.squareBracket, tags.meta], color: 'var(--muted)' },
  { tag: tags.invalid, color: 'var(--danger)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--surface)', color: 'var(--text)', fontSize: 'var(--size-table)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)', minHeight: '100%' },
  '.cm-line': { padding: '0 12px 0 4px' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 4px 0 12px', minWidth: '28px' },
  '.cm-activeLine': { backgroundColor: 'var(--bg)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--bg)', color: 'var(--text)' },
  '.cm-foldGutter .cm-gutterElement': { cursor: 'pointer', padding: '0 2px' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', border: 'none', color: 'var(--muted)', padding: '0 6px', margin: '0 4px' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selection)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--selection)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)', outline: '1px solid var(--control)' },
  '.cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--danger-tint)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-tint)', outline: '1px solid var(--warn)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--selection)' },
  '.cm-chosenLine': { backgroundColor: 'var(--selection)' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: 'var(--radius)', boxShadow: 'var(--shadow)', fontFamily: 'var(--font)', fontSize: 'var(--size-table)', zIndex: '20' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '16em' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', lineHeight: '1.5' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--selection)', color: 'var(--text)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal', fontFamily: 'var(--font)', marginLeft: '12px' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600', color: 'var(--accent)' },
  '.cm-completionIcon': { display: 'none' },
  '.cm-completionInfo': { padding: '8px 12px', maxWidth: '320px', whiteSpace: 'pre-wrap' },
  '.cm-hover': { padding: '8px 12px', maxWidth: '420px' },
  '.cm-hover strong': { fontFamily: 'var(--mono)' },
  '.cm-hover p': { margin: '4px 0 0', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic': { padding: '6px 12px', borderLeftWidth: '3px', whiteSpace: 'pre-wrap', maxWidth: '480px' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--danger)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--info)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--danger)', textDecorationSkipInk: 'none' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--warn)', textDecorationSkipInk: 'none' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--info)' },
  '.cm-lint-marker': { content: 'none', width: '10px', height: '10px', borderRadius: '5px', marginTop: '5px' },
  '.cm-lint-marker-error': { backgroundColor: 'var(--danger)' },
  '.cm-lint-marker-warning': { backgroundColor: 'var(--warn)', borderRadius: '2px' },
  '.cm-lint-marker-info': { backgroundColor: 'var(--info)' },
  '.cm-gutter-lint': { width: '16px' },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '8px 40px 8px 8px', fontFamily: 'var(--font)', display: 'flex', flexWrap: 'wrap', alignItems: 'center', gap: '4px' },
  '.cm-panel.cm-search br': { flexBasis: '100%' },
  '.cm-panel.cm-search label': { display: 'inline-flex', alignItems: 'center', gap: '4px', fontSize: 'var(--size-label)' },
  '.cm-textfield': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--control)', borderRadius: 'var(--radius)', padding: '3px 8px', fontSize: 'var(--size-table)', minWidth: '0', flex: '1 1 140px' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--control)', borderRadius: 'var(--radius)', padding: '2px 8px', minHeight: '24px', fontSize: 'var(--size-label)' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--muted)', fontSize: '18px', width: '24px', height: '24px', top: '10px', right: '8px' },
  '.cm-textfield:focus-visible, .cm-button:focus-visible, .cm-panel [name=close]:focus-visible': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-placeholder': { color: 'var(--muted)' },
  // Comparison.
  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk': { backgroundColor: 'var(--danger-tint)' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine, .cm-insertedLine': { backgroundColor: 'var(--ok-tint)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': { background: 'none', textDecoration: 'underline 1px var(--danger)', textUnderlineOffset: '3px' },
  '&.cm-merge-b .cm-changedText': { background: 'none', textDecoration: 'underline 1px var(--ok)', textUnderlineOffset: '3px' },
  '&.cm-merge-a .cm-changedLineGutter, .cm-deletedLineGutter': { backgroundColor: 'var(--danger)' },
  '&.cm-merge-b .cm-changedLineGutter': { backgroundColor: 'var(--ok)' },
  '.cm-collapsedLines': { backgroundImage: 'none', backgroundColor: 'var(--sunken)', color: 'var(--muted)', padding: '4px 12px', fontFamily: 'var(--font)', fontSize: 'var(--size-label)', cursor: 'pointer' },
});

/** A new line in YAML: below a key that has no value yet it is deeper, below a key of an item it stands under that key. */
const yamlIndent = indentService.of((context, position) => {
  let line = context.lineAt(position, -1);
  if (line.from >= position && position > 0) line = context.lineAt(position - 1, -1);
  const [, spaces, dashes, rest] = /^( *)((?:- +)*)(.*)$/.exec(line.text)!;
  const column = spaces!.length + dashes!.length;
  if (rest!.trim() === '') return dashes!.trim() === '' ? spaces!.length : column;
  if (/(^|[^\\]):\s*(?:[|>][+-]?)?$/.test(rest!.trimEnd())) return column + 2;
  return /^[^\s'"{[][^'"{[]*:(\s|$)/.test(rest!) || dashes === '' ? column : spaces!.length;
});

const languageOf = (language: EditorLanguage): Extension => (language === 'yaml' ? yaml() : language === 'json' ? json() : []);

/** What a text has that is only read: of the comparison and of past states. */
export function readOnlySetup(language: EditorLanguage, phrases: Record<string, string>): Extension[] {
  return [
    lineNumbers(), highlightSpecialChars(), drawSelection(), codeFolding(), syntaxHighlighting(colours), look, languageOf(language),
    EditorState.readOnly.of(true), EditorState.phrases.of(phrases), EditorView.lineWrapping, keymap.of([...searchKeymap, ...defaultKeymap]), search({ top: true }),
  ];
}

const fromOutside = Annotation.define<boolean>();
const chooseLine = StateEffect.define<number | undefined>();
/** The line of what was chosen beside the editor: a node of the trace, a difference. */
const chosenLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    marks = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(chooseLine)) continue;
      const line = effect.value;
      marks = line === undefined ? Decoration.none : Decoration.set([Decoration.line({ class: 'cm-chosenLine' }).range(transaction.state.doc.line(Math.min(line, transaction.state.doc.lines)).from)]);
    }
    return marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export interface EditorOptions {
  root: ShadowRoot;
  parent: HTMLElement;
  text: string;
  language: EditorLanguage;
  label: string;
  /** Id-less description for screen readers: how to leave the editor with Tab. */
  description: string;
  readonly: boolean;
  wrap: boolean;
  placeholder?: string;
  phrases: Record<string, string>;
  help?: EditorHelp;
  onchange(text: string): void;
  /** The caret moved to this position. */
  onmove?(position: number): void;
}

/** An open editor. */
export class OpenEditor {
  private readonly readonly = new Compartment();
  private readonly wrap = new Compartment();
  private readonly named = new Compartment();
  private readonly view: EditorView;

  constructor(options: EditorOptions) {
    const help = options.help ?? {};
    this.view = new EditorView({
      parent: options.parent,
      root: options.root,
      state: EditorState.create({
        doc: options.text,
        extensions: [
          lineNumbers(), highlightActiveLineGutter(), highlightSpecialChars(), history(), foldGutter(), drawSelection(), dropCursor(), EditorState.allowMultipleSelections.of(true),
          indentUnit.of('  '), options.language === 'yaml' ? yamlIndent : [], syntaxHighlighting(colours), bracketMatching(), closeBrackets(), rectangularSelection(), crosshairCursor(), highlightActiveLine(),
          highlightSelectionMatches(), search({ top: true }), lintGutter(), chosenLine, look, languageOf(options.language), tooltips({ position: 'fixed' }),
          autocompletion({ override: help.complete ? [completionsOf(help.complete)] : [], icons: false, maxRenderedOptions: 80 }),
          // In YAML a bracket after `{` belongs to a template; quotes close themselves.
          EditorState.phrases.of(options.phrases),
          this.readonly.of(readonlyOf(options.readonly)),
          this.wrap.of(options.wrap ? EditorView.lineWrapping : []),
          this.named.of(attributesOf(options.label, options.description)),
          options.placeholder ? placeholder(options.placeholder) : [],
          help.hover ? hoverTooltip((view, position) => hoverOf(help.hover!(view.state.doc.toString(), position)), { hoverTime: 400 }) : [],
          replaceSelected,
          // Mod-Enter saves and runs: the console's key, not the editor's.
          keymap.of([...closeBracketsKeymap, ...defaultKeymap.filter((binding) => binding.key !== 'Mod-Enter'), ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !update.transactions.some((transaction) => transaction.annotation(fromOutside))) options.onchange(update.state.doc.toString());
            if (update.selectionSet || update.docChanged) options.onmove?.(update.state.selection.main.head);
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Puts another text in place of this one. The caret stays where it can, and Ctrl Z brings the old text back. */
  setText(text: string): void {
    const old = this.text;
    if (old === text) return;
    let start = 0;
    while (start < old.length && start < text.length && old[start] === text[start]) start++;
    let end = 0;
    while (end < old.length - start && end < text.length - start && old[old.length - 1 - end] === text[text.length - 1 - end]) end++;
    this.view.dispatch({ changes: { from: start, to: old.length - end, insert: text.slice(start, text.length - end) }, annotations: fromOutside.of(true) });
  }

  setReadonly(readonly: boolean): void {
    this.view.dispatch({ effects: this.readonly.reconfigure(readonlyOf(readonly)) });
  }

  setLabel(label: string, description: string): void {
    this.view.dispatch({ effects: this.named.reconfigure(attributesOf(label, description)) });
  }

  setWrap(wrap: boolean): void {
    this.view.dispatch({ effects: this.wrap.reconfigure(wrap ? EditorView.lineWrapping : []) });
  }

  setProblems(problems: Problem[]): void {
    const { doc } = this.view.state;
    const diagnostics = problems.flatMap((problem): Diagnostic[] => {
      const line = doc.line(Math.max(1, Math.min(problem.line ?? 1, doc.lines)));
      const text = line.text;
      const first = problem.line === undefined ? 0 : Math.min(Math.max(0, (problem.column ?? 1) - 1), text.length);
      const rest = /^(?:"[^"]*"|'[^']*'|[^\s:,{}[\]]+|\S+)/.exec(text.slice(first))?.[0].length ?? 0;
      const from = line.from + (rest > 0 ? first : (/\S/.exec(text)?.index ?? 0));
      const to = rest > 0 ? from + rest : line.to;
      return [{ from, to: Math.max(from, to), severity: problem.severity, message: problem.message }];
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Chooses a line: it is marked and scrolled to; with `focus` the caret goes there. */
  goToLine(line: number, options: { column?: number; focus?: boolean } = {}): void {
    const { doc } = this.view.state;
    const target = doc.line(Math.max(1, Math.min(line, doc.lines)));
    const at = target.from + Math.min(Math.max(0, (options.column ?? (/\S/.exec(target.text)?.index ?? 0) + 1) - 1), target.length);
    this.view.dispatch({ selection: { anchor: at }, effects: [chooseLine.of(line), EditorView.scrollIntoView(at, { y: 'center' })] });
    if (options.focus) this.view.focus();
  }

  clearChosenLine(): void {
    this.view.dispatch({ effects: chooseLine.of(undefined) });
  }

  /** Line of the caret, beginning with 1. */
  get line(): number {
    return this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
  }

  get state(): EditorState {
    return this.view.state;
  }

  complete(): void {
    this.view.focus();
    startCompletion(this.view);
  }

  focus(): void {
    this.view.focus();
  }

  destroy(): void {
    closeCompletion(this.view);
    this.view.destroy();
  }
}

/**
 * Text that takes the place of a selection is put in here and not by the browser: where lines join,
 * the browser writes style attributes into them, which the policy refuses.
 */
const replaceSelected = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data } = event;
    const { main } = view.state.selection;
    if (event.inputType !== 'insertText' || !data || view.composing || view.state.readOnly || (main.empty && !data.includes('\n'))) return false;
    const insert = (): ReturnType<typeof view.state.update> => view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handler) => handler(view, main.from, main.to, data, insert))) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

/** Proposals of a document as completions. Lines of an inserted text are indented from the caret's column, not from that of its line: it may stand after dashes. */
function completionsOf(complete: NonNullable<EditorHelp['complete']>): CompletionSource {
  return ({ state, pos, explicit }) => {
    const found = complete(state.doc.toString(), pos, explicit);
    if (!found || found.proposals.length === 0) return null;
    const line = state.doc.lineAt(found.from);
    const deeper = ' '.repeat(Math.max(0, found.from - line.from - /^\s*/.exec(line.text)![0].length));
    const asCompletion = (proposal: Proposal): Completion => ({
      label: proposal.label,
      detail: proposal.detail,
      info: proposal.info,
      boost: proposal.boost,
      apply: proposal.insert === undefined ? undefined : snippet(proposal.insert.replaceAll('\n', `\n${deeper}`)),
    });
    return { from: found.from, options: found.proposals.map(asCompletion), validFor: found.word ?? /^[\w$.-]*$/ };
  };
}

const attributesOf = (label: string, description: string): Extension => EditorView.contentAttributes.of({ 'aria-label': label, 'aria-description': description, tabindex: '0', spellcheck: 'false', autocapitalize: 'off', autocorrect: 'off' });

const readonlyOf = (readonly: boolean): Extension => (readonly ? [EditorState.readOnly.of(true)] : []);

function hoverOf(text: HoverText | undefined) {
  if (!text) return null;
  return {
    pos: text.from,
    end: text.to,
    above: true,
    create: () => {
      const dom = document.createElement('div');
      dom.className = 'cm-hover';
      const title = document.createElement('strong');
      title.textContent = text.title;
      dom.append(title);
      for (const part of [text.text, text.more ?? '']) {
        if (!part) continue;
        const line = document.createElement('p');
        line.textContent = part;
        dom.append(line);
      }
      return { dom };
    },
  };
}
