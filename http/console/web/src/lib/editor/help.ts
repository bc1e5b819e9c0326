/* What an editor knows about a sort of document. Free of CodeMirror, so that a screen can make one before the editor is loaded. */

/** One thing that can be put at the caret. */
export interface Proposal {
  label: string;
  /** A few words beside it. */
  detail?: string;
  /** What it does, beside the list. */
  info?: string;
  /** What is inserted, with `${name}` where the caret goes on with Tab; the label without it. */
  insert?: string;
  /** From -99 to 99: higher stands higher. */
  boost?: number;
}

/** What is said about the place under the pointer: a name, its text, and further lines. */
export interface HoverText {
  from: number;
  to: number;
  title: string;
  text: string;
  more?: string;
}

/** Completion and hover of one sort of document. */
export interface EditorHelp {
  /** Proposals for what begins at `from`; `explicit`: asked for by a key. */
  complete?: (text: string, position: number, explicit: boolean) => { from: number; proposals: Proposal[]; word?: RegExp } | undefined;
  hover?: (text: string, position: number) => HoverText | undefined;
}
