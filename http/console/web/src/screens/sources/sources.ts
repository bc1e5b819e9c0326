import type { Schema } from '../../lib/api/client.ts';
import { ApiError } from '../../lib/api/errors.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.svelte.ts';
import { fieldSentence } from '../../lib/ui/fieldsentence.ts';
import type { TypedField } from '../../lib/ui/typedfield.ts';
import { languageName, sortedLanguages } from '../knowledge/knowledge.ts';

export type Source = Schema<'KnowledgeSource'>;
export type Crawl = Schema<'KnowledgeCrawl'>;
export type CrawlPage = Schema<'KnowledgeCrawlPage'>;

export const outcomes = ['created', 'updated', 'unchanged', 'duplicate', 'skipped', 'failed', 'deleted'] as const;
export const outcomeKinds = { created: 'ok', updated: 'ok', unchanged: 'plain', duplicate: 'plain', skipped: 'warn', failed: 'danger', deleted: 'info' } as const;
export const types = ['html', 'pdf', 'docx', 'xlsx', 'csv', 'markdown', 'text'] as const;

/** When a source is read: what most choose. */
export const schedules = { hourly: '0 * * * *', daily: '0 3 * * *', weekly: '0 3 * * 1' } as const;

export const crawlLooks = {
  running: { kind: 'info', icon: 'refresh' }, succeeded: { kind: 'ok', icon: 'check' }, failed: { kind: 'danger', icon: 'error' }, cancelled: { kind: 'plain', icon: 'stop' },
} as const;

/** The name that a source gets from its address: docs.example.com is docs-example-com. */
export function idOfAddress(address: string, taken: string[]): string {
  let host = address.replace(/^[a-z]+:\/\//i, '').split(/[/?#]/)[0]!;
  host = host.toLowerCase().replace(/^www\./, '').replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 36).replace(/-+$/, '') || 'site';
  for (let n = 1; ; n++) {
    const id = n === 1 ? host : `${host}-${n}`;
    if (!taken.includes(id)) return id;
  }
}

/** An address as people type it: without a scheme it is https. */
export const withScheme = (address: string): string => (address.trim() === '' || /^[a-z][a-z0-9+.-]*:\/\//i.test(address.trim()) ? address.trim() : `https://${address.trim()}`);

/** How many pages of a crawl were visited. */
export function visited({ counts }: Crawl): number {
  return outcomes.reduce((sum, one) => sum + counts[one === 'duplicate' ? 'duplicates' : one], 0);
}

/** What a crawl found, in words: "12 pages: 3 new, 1 changed". */
export function summaryOf(crawl: Crawl): string {
  const { counts } = crawl;
  const parts = outcomes.flatMap((one) => {
    const n = counts[one === 'duplicate' ? 'duplicates' : one];
    return n > 0 ? [t.sources.counted[one](formatNumber(n), n)] : [];
  });
  const pages = t.sources.pagesOf(formatNumber(visited(crawl)), visited(crawl));
  return parts.length > 0 ? t.sources.summary(pages, parts.join(', ')) : pages;
}

/** Why a page became what it is. */
export function reasonOf({ reason, status, outcome }: CrawlPage): string {
  if (!reason) return '';
  if (reason === 'status') return t.sources.answered(status ?? 0);
  const known: Record<string, string> = t.sources.reasons;
  if (reason === 'not_found' && outcome === 'deleted') return t.sources.goneFromSite;
  return known[reason] ?? reason;
}

/** Why a crawl failed, as the call would have refused it. */
export const errorOf = ({ error }: Crawl): ApiError | undefined => (error ? new ApiError(0, error.code ?? '', error.message ?? '', (error.details ?? {}) as Record<string, unknown>) : undefined);

/** The path inside of a source that a fault of its base is about; undefined: it is about something else. */
export function withinSource(field: string, id: string): string | undefined {
  const begin = [`sources.${id}`, `sources[${JSON.stringify(id)}]`].find((one) => field === one || field.startsWith(`${one}.`) || field.startsWith(`${one}[`));
  return begin === undefined ? undefined : field.slice(begin.length).replace(/^\./, '');
}

/** A header that carries a credential: its value is a secret, and only by reference. */
export const isCredential = (name: string): boolean => /^(authorization|cookie)$|key|token|secret/i.test(name);
export const secretOf = (value: string): string => /^\{\{\s*secret\.([A-Za-z0-9_.-]{1,100})\s*\}\}$/.exec(value)?.[1] ?? '';

/** A fault of a source in the language of the person; `field` is the path inside of it. */
export function sourceFault(field: string, message: string): string {
  const { faults } = t.sources;
  const root = field.split(/[.[]/)[0];
  const item = /\[(\d+)\]$/.exec(field)?.[1];
  const at = (text: string): string => (item === undefined ? text : t.sources.lineFault(Number(item) + 1, text));
  const most = /at most (\d+)/.exec(message)?.[1];
  switch (root) {
    case 'urls':
      return message.includes('http') ? at(faults.address) : message.includes('1 to') ? faults.urls : fieldSentence({ field, message });
    case 'hosts':
      return item === undefined ? fieldSentence({ field, message }) : at(faults.host);
    case 'include':
    case 'exclude':
      return item === undefined ? fieldSentence({ field, message }) : at(faults.pattern);
    case 'schedule': {
      const period = /more often than every (\S+)/.exec(message)?.[1];
      return period ? faults.tooOften(period.replace(/(?<=[hm])0[ms]/g, '')) : faults.schedule;
    }
    case 'selector':
      return field === 'selector' ? faults.oneSelector : field === 'selector.xpath' ? faults.xpath : at(faults.css);
    case 'headers':
      return message.includes('secret') ? faults.secret : field === 'headers' ? fieldSentence({ field, message }) : faults.header;
    case 'maxPages':
      return most ? t.form.max(Number(most)) : fieldSentence({ field, message });
    case 'robots':
      return faults.robots;
    default:
      return fieldSentence({ field, message });
  }
}

/** The parts of the form of a source that are single fields; lists and headers have fields of their own. */
export function sourceForms(): Record<'reach' | 'requests' | 'pages', TypedField> {
  const { fields, help, sitemaps } = t.sources;
  const codes = ['auto', ...sortedLanguages()];
  return {
    reach: {
      type: 'object',
      properties: {
        depth: { type: 'integer', title: fields.depth, description: help.depth, minimum: 0, maximum: 20 },
        maxPages: { type: 'integer', title: fields.maxPages, description: help.maxPages, minimum: 1 },
        sitemap: { type: 'string', title: fields.sitemap, description: help.sitemap, enum: ['auto', 'only', 'off'], enumNames: [sitemaps.auto, sitemaps.only, sitemaps.off], default: 'auto' },
      },
    },
    requests: {
      type: 'object',
      properties: {
        delay: { type: 'number', title: fields.delay, description: help.delay, minimum: 0, maximum: 3600 },
        robots: { type: 'boolean', title: fields.robots, description: help.robots, default: true },
      },
    },
    pages: {
      type: 'object',
      properties: {
        language: { type: 'string', title: fields.language, description: help.language, enum: codes, enumNames: codes.map(languageName), default: 'auto' },
        metadata: { type: 'object', title: fields.metadata, description: help.metadata },
        keepVanished: { type: 'boolean', title: fields.keepVanished, description: help.keepVanished, default: false },
      },
    },
  };
}
