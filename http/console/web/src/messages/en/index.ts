import axis from './axis.ts';
import changes from './changes.ts';
import common from './common.ts';
import diff from './diff.ts';
import editor from './editor.ts';
import errors from './errors.ts';
import form from './form.ts';
import graph from './graph.ts';
import imported from './imported.ts';
import keys from './keys.ts';
import shell from './shell.ts';
import signin from './signin.ts';
import states from './states.ts';

/** What every page needs; loaded before the first one. */
const en = {
  axis,
  changes,
  common,
  diff,
  editor,
  errors,
  form,
  graph,
  imported,
  keys,
  shell,
  signin,
  states,
};
export default en;

/** Messages of single screens, by the name of their route: loaded with the screen. */
interface ScreenMessages {
  activity: typeof import('./activity.ts').default;
  agents: typeof import('./agents.ts').default;
  apps: typeof import('./apps.ts').default;
  ask: typeof import('./ask.ts').default;
  automations: typeof import('./automations.ts').default;
  config: typeof import('./config.ts').default;
  conflicts: typeof import('./conflicts.ts').default;
  data: typeof import('./data.ts').default;
  files: typeof import('./files.ts').default;
  history: typeof import('./history.ts').default;
  home: typeof import('./home.ts').default;
  knowledge: typeof import('./knowledge.ts').default;
  map: typeof import('./map.ts').default;
  observability: typeof import('./observability.ts').default;
  pages: typeof import('./pages.ts').default;
  platform: typeof import('./platform.ts').default;
  profile: typeof import('./profile.ts').default;
  security: typeof import('./security.ts').default;
  sharing: typeof import('./sharing.ts').default;
  settings: typeof import('./settings.ts').default;
  sources: typeof import('./sources.ts').default;
  tests: typeof import('./tests.ts').default;
  versioning: typeof import('./versioning.ts').default;
  waits: typeof import('./waits.ts').default;
  webhooks: typeof import('./webhooks.ts').default;
  workspaces: typeof import('./workspaces.ts').default;
}

export type CoreMessages = typeof en;
/** What every language has. A key that is missing in another language fails the type check. */
export type Messages = CoreMessages & ScreenMessages;
