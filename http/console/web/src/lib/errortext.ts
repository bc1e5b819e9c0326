import type { ApiError } from './api/errors.ts';
import { t } from './i18n.svelte.ts';

/** What happened, in the language of the person: by reason, else by code. The server's words stand in the details. */
export function errorSentence(error: ApiError): string {
  const byReason: Record<string, string> = t.errors.reasons;
  const byCode: Record<string, string> = t.errors.codes;
  return byReason[error.reason] ?? byCode[error.code] ?? t.errors.fallback;
}

/** A report to copy: no payload in it. */
export function errorReport(error: ApiError): string {
  return [`id ${error.requestId || '-'}`, `time ${new Date().toISOString()}`, `route ${error.route || '-'}`, `code ${error.code}${error.reason ? `/${error.reason}` : ''}`, `status ${error.status}`].join('\n');
}
