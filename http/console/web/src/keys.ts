/*
 * The one table of keys. `mod` is Ctrl, on a Mac ⌘. Two keys with a space between them are
 * typed one after the other. A screen binds a function to an id with useKeys; the shortcuts
 * dialog and the palette read the table. Labels are t.keys[id].
 */
export const keys = {
  // Everywhere.
  palette: 'mod+k',
  shortcuts: '?',
  filter: '/',
  new: 'n',
  close: 'Escape',
  save: 'mod+s',
  confirm: 'mod+Enter',
  nextProblem: 'F8',
  previousProblem: 'shift+F8',
  // Lists.
  down: 'j',
  up: 'k',
  open: 'Enter',
  select: 'x',
  // Workspaces.
  unpushedOnly: 'u',
  // Activity.
  hold: 'p',
  expand: 'e',
  trace: 'c',
  // History.
  mark: 'm',
  compare: 'd',
  undo: 'z',
  // Versioning.
  push: 'shift+p',
  pull: 'shift+l',
  // Conflicts.
  ours: '1',
  theirs: '2',
  editResult: '3',
  // Data.
  edit: 'e',
} as const;

export type KeyId = keyof typeof keys;

/** Groups of the shortcuts dialog, in its order. Keys of screens are shown while their screen is open. */
export const keyGroups: { id: 'everywhere' | 'lists' | 'screen'; keys: KeyId[] }[] = [
  { id: 'everywhere', keys: ['palette', 'shortcuts', 'filter', 'new', 'save', 'confirm', 'nextProblem', 'previousProblem', 'close'] },
  { id: 'lists', keys: ['down', 'up', 'open', 'select'] },
  { id: 'screen', keys: ['unpushedOnly', 'hold', 'expand', 'trace', 'edit', 'mark', 'compare', 'undo', 'push', 'pull', 'ours', 'theirs', 'editResult'] },
];

/** Second key after `g`, by route name (2.3). Only routes that exist are bound. */
export const goKeys: Record<string, string> = {
  home: 'h',
  automations: 'a',
  pages: 'p',
  apps: 'i',
  files: 'f',
  knowledge: 'k',
  agents: 'n',
  map: 'm',
  config: 'c',
  activity: 'e',
  observability: 'o',
  webhooks: 'w',
  versioning: 'v',
  history: 't',
  security: 's',
};
