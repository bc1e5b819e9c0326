import { goToNextChunk, goToPreviousChunk, MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { readOnlySetup, type EditorLanguage } from './codemirror.ts';

/** What a comparison needs. Without `onchange` the right side is only read. */
export interface CompareOptions {
  root: ShadowRoot;
  parent: HTMLElement;
  left: string;
  right: string;
  language: EditorLanguage;
  labels: [left: string, right: string];
  /** One below the other, for narrow windows. */
  unified: boolean;
  phrases: Record<string, string>;
  /** Words of the button that takes a part of the left side over; with it the right side can be edited. */
  take?: string;
  onchange?(text: string): void;
}

/** An open comparison of two texts. */
export class OpenComparison {
  private readonly merge: MergeView | undefined;
  private readonly view: EditorView;

  constructor(options: CompareOptions) {
    const common = readOnlySetup(options.language, options.phrases);
    const named = (label: string): ReturnType<typeof EditorView.contentAttributes.of> => EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' });
    const editable = options.onchange !== undefined && !options.unified;
    const collapse = { margin: 3, minSize: 6 };
    const changed = EditorView.updateListener.of((update) => update.docChanged && options.onchange?.(update.state.doc.toString()));
    if (options.unified) {
      this.view = new EditorView({
        parent: options.parent,
        root: options.root,
        state: EditorState.create({ doc: options.right, extensions: [...common, named(options.labels[1]), unifiedMergeView({ original: options.left, mergeControls: false, highlightChanges: options.left !== '' && options.right !== '', collapseUnchanged: collapse, gutter: true })] }),
      });
      return;
    }
    const writable = editable ? common.map((extension, i) => (i === readOnlyIndex(common) ? [] : extension)) : common;
    this.merge = new MergeView({
      parent: options.parent,
      root: options.root,
      a: { doc: options.left, extensions: [...common, named(options.labels[0])] },
      b: { doc: options.right, extensions: [...writable, named(options.labels[1]), changed] },
      collapseUnchanged: collapse,
      gutter: true,
      ...(editable && options.take ? { revertControls: 'a-to-b' as const, renderRevertControl: () => takeButton(options.take!) } : {}),
    });
    this.view = this.merge.b;
  }

  next(): void {
    goToNextChunk(this.view);
    this.view.focus();
  }

  previous(): void {
    goToPreviousChunk(this.view);
    this.view.focus();
  }

  destroy(): void {
    if (this.merge) this.merge.destroy();
    else this.view.destroy();
  }
}

/** Where the extension stands that makes a text read only. */
const readOnlyIndex = (extensions: readonly unknown[]): number => extensions.findIndex((extension) => (extension as { facet?: unknown }).facet === EditorState.readOnly);

function takeButton(label: string): HTMLElement {
  const button = document.createElement('button');
  button.className = 'cm-take';
  button.textContent = '→';
  button.title = label;
  button.setAttribute('aria-label', label);
  return button;
}
