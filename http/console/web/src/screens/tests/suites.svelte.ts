import { answer, api, asApiError, asYaml, yamlBody, type ApiError, type Schema } from '../../lib/api/client.ts';
import { localized, t } from '../../lib/i18n.svelte.ts';
import { slugInText, withIdentity } from '../../lib/identity.ts';
import { showUndo } from '../../lib/toasts.svelte.ts';
import type { OpenWorkspace } from '../../lib/workspace.svelte.ts';

/** A suite without its cases, as the workspace lists it. */
export interface SuiteMeta {
  slug: string;
  name?: unknown;
  description?: unknown;
  /** Slug of the automation that it tests. */
  automation: string;
  labels?: string[];
  updatedAt?: string;
}
export type CaseReport = Schema<'TestCaseReport'>;
export type TestDifference = Schema<'TestDifference'>;
type Report = Schema<'TestReport'>;
type RunBody = NonNullable<Parameters<typeof runTests>[1]>;

/** The suites of a workspace read, by name. */
export function suitesOf(workspace: Schema<'Workspace'> | undefined): SuiteMeta[] {
  return Object.values((workspace?.tests ?? {}) as unknown as Record<string, SuiteMeta>).sort((a, b) => titleOf(a).localeCompare(titleOf(b)));
}

export function titleOf(suite: { name?: unknown; slug: string }): string {
  return localized(suite.name) || suite.slug;
}

/** Why nothing can be written now; undefined when it can. */
export function whyReadOnly(workspace: OpenWorkspace): string | undefined {
  return workspace.at !== undefined ? t.states.pastReason : workspace.readOnly ? t.states.lockedReason : undefined;
}

const route = '/v2/workspaces/{workspaceId}/tests/{slug}';

/* What can be done with a whole suite. Refusals are thrown. */

/** Makes a suite of its text, or of what recorded runs gave; returns its slug. */
export async function createSuite(workspaceId: string, made: string | Schema<'NewTest'>): Promise<string> {
  const params = { path: { workspaceId } };
  const { data, seq } = await answer(typeof made === 'string' ? api.POST('/v2/workspaces/{workspaceId}/tests', { params, ...yamlBody(made) }) : api.POST('/v2/workspaces/{workspaceId}/tests', { params, body: made }));
  showUndo(t.tests.created, workspaceId, seq);
  return typeof made === 'string' ? slugInText(String(data)) : (data as Schema<'Test'>).slug;
}

export async function deleteSuite(workspaceId: string, slug: string, after: () => void = () => {}): Promise<void> {
  const { seq } = await answer(api.DELETE(route, { params: { path: { workspaceId, slug } } }));
  showUndo(t.tests.deleted(slug), workspaceId, seq, after);
}

/** A second one with the same cases, under another slug and name. */
export async function duplicateSuite(workspaceId: string, slug: string, next: string, name: string): Promise<string> {
  const { data } = await answer(api.GET(route, { params: { path: { workspaceId, slug } }, ...asYaml }));
  return createSuite(workspaceId, withIdentity(String(data), next, name));
}

/** The text of a new suite: one case that only expects that the automation ends well. */
export function exampleSuite(automation: string, name: string): string {
  return `automation: ${automation}\ncases:\n  - name: ${name}\n    input: {}\n    expect:\n      status: succeeded\n`;
}

async function runTests(workspaceId: string, body: { suites?: string[]; automations?: string[]; cases?: string; documents?: Record<string, string> }, signal: AbortSignal): Promise<Report> {
  const { data } = await answer(api.POST('/v2/workspaces/{workspaceId}/tests/run', { params: { path: { workspaceId } }, body: body as never, signal }));
  return data;
}

/** Runs cases and keeps what became of each: the run of one replaces the result of this one only. */
export class TestRuns {
  /** Results of cases, by suite. */
  results = $state.raw<Record<string, CaseReport[]>>({});
  /** What runs now: a suite, a case of it (`suite: case`), or all (`*`). Empty: nothing does. */
  running = $state('');
  failure = $state.raw<ApiError | undefined>(undefined);
  private abort: AbortController | undefined;

  constructor(private readonly workspaceId: () => string) {}

  async run(what: string, body: RunBody): Promise<void> {
    if (this.running) return;
    this.running = what;
    this.failure = undefined;
    this.abort = new AbortController();
    try {
      const { suites } = await runTests(this.workspaceId(), body, this.abort.signal);
      const results = { ...this.results };
      for (const { slug, cases } of suites) results[slug] = body.cases ? merge(results[slug] ?? [], cases) : cases;
      this.results = results;
    } catch (error) {
      if (!this.abort.signal.aborted) this.failure = asApiError(error);
    } finally {
      this.running = '';
    }
  }

  /** How many cases of these suites passed and failed; undefined before they ran. */
  count(slugs: string[]): { passed: number; failed: number } | undefined {
    const ran = slugs.flatMap((slug) => this.results[slug] ?? []);
    if (!slugs.some((slug) => this.results[slug])) return undefined;
    const passed = ran.filter((one) => one.status === 'passed').length;
    return { passed, failed: ran.length - passed };
  }

  close(): void {
    this.abort?.abort();
  }
}

const merge = (before: CaseReport[], now: CaseReport[]): CaseReport[] => [...before.map((one) => now.find((other) => other.name === one.name) ?? one), ...now.filter((one) => !before.some((other) => other.name === one.name))];
