import { loadMessages } from './lib/i18n.svelte.ts';
import type { Screen } from './lib/router.svelte.ts';
import type { IconName } from './lib/ui/icons.ts';
import type { CoreMessages } from './messages/en/index.ts';

/*
 * The one table of screens. A screen is a folder in src/screens named as its route. The
 * menu, the palette and the keys are made of this table. The first pattern that matches wins.
 */
export interface Route {
  name: RouteName;
  /** Below /console. `:name` is one segment, `*name` the whole rest (slugs hold slashes). */
  pattern: string;
  /** `bare`: no shell, no session needed. `top`: shell without a workspace. `workspace`: inside of one (`:id`). */
  area: 'bare' | 'top' | 'workspace';
  /** Of the core messages: the menu shows it before the screen's own are loaded. */
  title: (t: CoreMessages) => string;
  load: () => Promise<{ default: Screen }>;
  /** Namespace of its messages, where it is not its name. */
  messages?: string;
  /** The screen shows earlier moments (`at=`), or lets one be chosen; others say that they show the present. */
  past?: true | 'chosen';
  /** Place in the rail; absent for screens that are reached otherwise. `right` (of the workspace area) shows it. */
  menu?: {
    group: 'top' | 'build' | 'run' | 'ship' | 'govern';
    icon: IconName;
    right?: [action: string, subject: string];
    /** For super admins, and in the workspace `platform` for who has the right. */
    ofPlatform?: true;
  };
}

export const routes: Route[] = [
  { name: 'workspaces', pattern: '/workspaces', area: 'top', title: (t) => t.shell.workspaces, load: () => import('./screens/workspaces/Workspaces.svelte'), menu: { group: 'top', icon: 'workspaces' } },
  { name: 'profile', pattern: '/profile', area: 'top', title: (t) => t.shell.screens.profile, load: () => import('./screens/profile/Profile.svelte'), menu: { group: 'top', icon: 'user' } },
  { name: 'platform', pattern: '/platform/*section', area: 'top', title: (t) => t.shell.screens.platform, load: () => import('./screens/platform/Platform.svelte'), menu: { group: 'top', icon: 'device', right: ['update', 'workspaces'], ofPlatform: true } },
  { name: 'home', pattern: '/w/:id', area: 'workspace', title: (t) => t.shell.screens.home, load: () => import('./screens/home/Home.svelte'), past: true, menu: { group: 'top', icon: 'home', right: ['read', 'workspaces'] } },
  { name: 'sign-in', pattern: '/sign-in', area: 'bare', title: (t) => t.signin.title, load: () => import('./screens/sign-in/SignIn.svelte') },
  { name: 'sign-up', pattern: '/sign-up', area: 'bare', title: (t) => t.signin.signUp, load: () => import('./screens/sign-in/SignUp.svelte') },
  { name: 'second-step', pattern: '/second-step', area: 'bare', title: (t) => t.signin.secondStep, load: () => import('./screens/sign-in/SignIn.svelte') },
  { name: 'reset', pattern: '/reset', area: 'bare', title: (t) => t.signin.resetTitle, load: () => import('./screens/sign-in/Reset.svelte') },
  { name: 'confirm', pattern: '/confirm', area: 'bare', title: (t) => t.signin.confirmTitle, load: () => import('./screens/sign-in/Confirm.svelte') },
  { name: 'automations', pattern: '/w/:id/automations/*slug', area: 'workspace', title: (t) => t.shell.screens.automations, load: () => import('./screens/automations/Automations.svelte'), past: true, menu: { group: 'build', icon: 'automation', right: ['read', 'automations'] } },
  { name: 'pages', pattern: '/w/:id/pages/*slug', area: 'workspace', title: (t) => t.shell.screens.pages, load: () => import('./screens/pages/Pages.svelte'), past: true, menu: { group: 'build', icon: 'page', right: ['read', 'pages'] } },
  { name: 'blocks', pattern: '/w/:id/blocks/*slug', area: 'workspace', title: (t) => t.shell.screens.blocks, load: () => Promise.all([import('./screens/pages/Blocks.svelte'), loadMessages('pages')]).then(([chunk]) => chunk), past: true },
  { name: 'tests', pattern: '/w/:id/tests/*slug', area: 'workspace', title: (t) => t.shell.screens.tests, load: () => import('./screens/tests/Tests.svelte'), menu: { group: 'build', icon: 'ok', right: ['read', 'automations'] } },
  { name: 'apps', pattern: '/w/:id/apps/*slug', area: 'workspace', title: (t) => t.shell.screens.apps, load: () => import('./screens/apps/Apps.svelte'), past: true, menu: { group: 'build', icon: 'app', right: ['read', 'workspaces'] } },
  { name: 'files', pattern: '/w/:id/files', area: 'workspace', title: (t) => t.shell.screens.files, load: () => import('./screens/files/Files.svelte'), menu: { group: 'build', icon: 'file', right: ['read', 'files'] } },
  { name: 'knowledge', pattern: '/w/:id/knowledge/*slug', area: 'workspace', title: (t) => t.shell.screens.knowledge, load: () => Promise.all([import('./screens/knowledge/Knowledge.svelte'), loadMessages('files')]).then(([chunk]) => chunk), past: true, menu: { group: 'build', icon: 'knowledge', right: ['read', 'knowledgeBases'] } },
  { name: 'agents', pattern: '/w/:id/agents/*slug', area: 'workspace', title: (t) => t.shell.screens.agents, load: () => import('./screens/agents/Agents.svelte'), past: true, menu: { group: 'build', icon: 'agent', right: ['read', 'agents'] } },
  { name: 'map', pattern: '/w/:id/map', area: 'workspace', title: (t) => t.shell.screens.map, load: () => import('./screens/map/Map.svelte'), menu: { group: 'build', icon: 'graph', right: ['read', 'automations'] } },
  { name: 'config', pattern: '/w/:id/config', area: 'workspace', title: (t) => t.shell.screens.config, load: () => import('./screens/config/Config.svelte'), past: true, menu: { group: 'build', icon: 'config', right: ['read', 'workspaces'] } },
  { name: 'activity', pattern: '/w/:id/activity/*correlationId', area: 'workspace', title: (t) => t.shell.screens.activity, load: () => import('./screens/activity/Activity.svelte'), menu: { group: 'run', icon: 'activity', right: ['read', 'events'] } },
  { name: 'data', pattern: '/w/:id/data/*collection', area: 'workspace', title: (t) => t.shell.screens.data, load: () => import('./screens/data/Data.svelte'), menu: { group: 'run', icon: 'data', right: ['read', 'collections'] } },
  { name: 'waits', pattern: '/w/:id/waits', area: 'workspace', title: (t) => t.shell.screens.waits, load: () => import('./screens/waits/Waits.svelte'), menu: { group: 'run', icon: 'wait', right: ['read', 'events'] } },
  { name: 'observability', pattern: '/w/:id/observability', area: 'workspace', title: (t) => t.shell.screens.observability, load: () => import('./screens/observability/Observability.svelte'), menu: { group: 'run', icon: 'chart', right: ['aggregate_search', 'workspaces'] } },
  { name: 'versioning', pattern: '/w/:id/versioning', area: 'workspace', title: (t) => t.shell.screens.versioning, load: () => import('./screens/versioning/Versioning.svelte'), menu: { group: 'ship', icon: 'versioning', right: ['read', 'workspaces'] } },
  { name: 'operation', pattern: '/w/:id/operations/:opId', area: 'workspace', title: (t) => t.shell.screens.operation, load: () => import('./screens/versioning/Operation.svelte'), messages: 'versioning' },
  { name: 'conflicts', pattern: '/w/:id/conflicts', area: 'workspace', title: (t) => t.shell.screens.conflicts, load: () => import('./screens/conflicts/Conflicts.svelte') },
  { name: 'history', pattern: '/w/:id/history', area: 'workspace', title: (t) => t.shell.screens.history, load: () => import('./screens/history/History.svelte'), past: 'chosen', menu: { group: 'ship', icon: 'history', right: ['read', 'workspaces'] } },
  { name: 'webhooks', pattern: '/w/:id/webhooks/*subscriptionId', area: 'workspace', title: (t) => t.shell.screens.webhooks, load: () => import('./screens/webhooks/Webhooks.svelte'), menu: { group: 'run', icon: 'webhook', right: ['manage_security', 'workspaces'] } },
  { name: 'security', pattern: '/w/:id/security', area: 'workspace', title: (t) => t.shell.screens.security, load: () => import('./screens/security/Security.svelte'), menu: { group: 'govern', icon: 'security', right: ['read', 'workspaces'] } },
  { name: 'settings', pattern: '/w/:id/settings', area: 'workspace', title: (t) => t.shell.screens.settings, load: () => import('./screens/settings/Settings.svelte'), past: true, menu: { group: 'govern', icon: 'settings', right: ['update', 'workspaces'] } },
];

/** Every screen of the contract (2.1); each has a route. */
export type RouteName =
  | 'sign-in' | 'sign-up' | 'second-step' | 'reset' | 'confirm' | 'workspaces' | 'profile'
  | 'home' | 'map' | 'automations' | 'pages' | 'blocks' | 'apps' | 'files' | 'knowledge' | 'agents' | 'config' | 'security' | 'activity' | 'webhooks'
  | 'versioning' | 'conflicts' | 'operation' | 'history' | 'observability' | 'settings' | 'data' | 'waits' | 'platform' | 'tests';
