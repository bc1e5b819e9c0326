/** How this person wants the console to look and behave. Kept in the account (`meta.console`) and mirrored here for the first paint. */
export interface Preferences {
  scheme: 'system' | 'light' | 'dark';
  density: 'comfortable' | 'compact';
  timeZone: 'local' | 'utc';
  /** Keys without a modifier (2.3). */
  singleKeys: boolean;
  railFolded: boolean;
  /** Workspaces whose first steps were put away. */
  stepsAway: string[];
}

export const defaults: Preferences = { scheme: 'system', density: 'comfortable', timeZone: 'local', singleKeys: true, railFolded: false, stepsAway: [] };

export const preferences: Preferences = $state({ ...defaults });

/** Takes over what an account or this browser knows; unknown and wrong values are ignored. */
export function applyPreferences(values: unknown): void {
  if (values && typeof values === 'object') {
    const given = values as Partial<Record<keyof Preferences, unknown>>;
    if (given.scheme === 'system' || given.scheme === 'light' || given.scheme === 'dark') preferences.scheme = given.scheme;
    if (given.density === 'comfortable' || given.density === 'compact') preferences.density = given.density;
    if (given.timeZone === 'local' || given.timeZone === 'utc') preferences.timeZone = given.timeZone;
    if (typeof given.singleKeys === 'boolean') preferences.singleKeys = given.singleKeys;
    if (typeof given.railFolded === 'boolean') preferences.railFolded = given.railFolded;
    if (Array.isArray(given.stepsAway)) preferences.stepsAway = given.stepsAway.filter((id) => typeof id === 'string').slice(-100);
  }
  showLook();
}

/** Shows scheme and density, and stores them for scheme.js. */
export function showLook(language?: string): void {
  const root = document.documentElement;
  if (preferences.scheme === 'system') delete root.dataset.scheme;
  else root.dataset.scheme = preferences.scheme;
  if (preferences.density === 'compact') root.dataset.density = 'compact';
  else delete root.dataset.density;
  try {
    localStorage.setItem('svc-look', JSON.stringify({ ...preferences, language: language ?? storedLook().language }));
  } catch {
    // No storage: the look holds for this page.
  }
}

/** What this browser used last. */
export function storedLook(): Partial<Preferences> & { language?: string } {
  try {
    return JSON.parse(localStorage.getItem('svc-look') ?? '{}') as Partial<Preferences> & { language?: string };
  } catch {
    return {};
  }
}
