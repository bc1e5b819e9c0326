import { i18n } from './i18n.svelte.ts';
import { preferences } from './preferences.svelte.ts';

/* Times, numbers and sizes in the language and time zone of the person. All follow both when read in a template. */

const formats = new Map<string, Intl.DateTimeFormat>();

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const timeZone = preferences.timeZone === 'utc' ? 'UTC' : undefined;
  const key = i18n.language + timeZone + JSON.stringify(options);
  let format = formats.get(key);
  if (!format) formats.set(key, (format = new Intl.DateTimeFormat(i18n.language, { ...options, timeZone })));
  return format;
}

type When = string | number | Date;

/** 12 Nov 2026, 14:02:11 */
export function formatTime(when: When): string {
  return dateFormat({ dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(when));
}

/** 14:02:11, with milliseconds when asked. */
export function formatClock(when: When, milliseconds = false): string {
  return dateFormat({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', ...(milliseconds ? { fractionalSecondDigits: 3 as const } : {}) }).format(new Date(when));
}

/** 12 Nov */
export function formatDay(when: When): string {
  return dateFormat({ day: 'numeric', month: 'short' }).format(new Date(when));
}

/** 12 Nov 2026 */
export function formatDate(when: When): string {
  return dateFormat({ dateStyle: 'medium' }).format(new Date(when));
}

/** "3 minutes ago" below a day, else the date. */
export function formatRelative(when: When, now = Date.now()): string {
  const seconds = (new Date(when).getTime() - now) / 1000;
  const size = Math.abs(seconds);
  if (size >= 86_400) return formatDate(when);
  const relative = new Intl.RelativeTimeFormat(i18n.language, { numeric: 'auto', style: 'short' });
  if (size < 60) return relative.format(Math.round(seconds), 'second');
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  return relative.format(Math.round(seconds / 3600), 'hour');
}

export function formatNumber(value: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(i18n.language, options).format(value);
}

/** 12 ms, 1.24 s, 3 min 5 s */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${formatNumber(Math.round(ms))} ms`;
  if (ms < 60_000) return `${formatNumber(ms / 1000, { maximumFractionDigits: ms < 10_000 ? 2 : 1 })} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** 820 B, 4.2 kB, 9.8 MB */
export function formatBytes(bytes: number): string {
  const units = i18n.language === 'fr' ? ['o', 'ko', 'Mo', 'Go'] : ['B', 'kB', 'MB', 'GB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit++;
  }
  return `${formatNumber(size, { maximumFractionDigits: size < 10 && unit > 0 ? 1 : 0 })} ${units[unit]!}`;
}
