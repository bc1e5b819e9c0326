/** One entry of `details.errors`. */
export interface FieldFault {
  field: string;
  message: string;
  line?: number;
  column?: number;
}

/**
 * A request that was refused or did not get through. `code` is that of the API, or one of
 * the browser: `offline` (no connection), `not_known` (a write without an answer: it may have
 * happened), `aborted`.
 */
export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Record<string, unknown> = {},
    /** Correlation id: opens the trace of the request. */
    readonly requestId = '',
    /** Seconds until the server wants to be asked again; 0 when it did not say. */
    readonly retryAfter = 0,
    /** Method and path, for reports. */
    readonly route = '',
  ) {
    super(message);
  }

  get reason(): string {
    return typeof this.details.reason === 'string' ? this.details.reason : '';
  }

  /** Faults of single fields, for the form or the editor. */
  get faults(): FieldFault[] {
    return Array.isArray(this.details.errors) ? (this.details.errors as FieldFault[]) : [];
  }

  is(code: string, reason?: string): boolean {
    return this.code === code && (reason === undefined || this.reason === reason);
  }
}

/** The error as an ApiError: what was thrown by our own code becomes a fault of the console. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DOMException && error.name === 'AbortError') return new ApiError(0, 'aborted', error.message);
  return new ApiError(0, 'console_fault', error instanceof Error ? error.message : String(error));
}

/** Reads a refusal of the API. */
export async function refusalOf(response: Response, route: string): Promise<ApiError> {
  const requestId = response.headers.get('x-correlation-id') ?? '';
  const retryAfter = Number(response.headers.get('retry-after')) || 0;
  let body: { error?: unknown; message?: unknown; details?: unknown; requestId?: unknown } = {};
  try {
    body = (await response.json()) as typeof body;
  } catch {
    // Not JSON: a proxy answered. The status has to do.
  }
  const code = typeof body.error === 'string' ? body.error : codeOfStatus(response.status);
  return new ApiError(
    response.status,
    code,
    typeof body.message === 'string' ? body.message : response.statusText,
    body.details && typeof body.details === 'object' ? (body.details as Record<string, unknown>) : {},
    typeof body.requestId === 'string' ? body.requestId : requestId,
    retryAfter,
    route,
  );
}

function codeOfStatus(status: number): string {
  if (status === 401) return 'invalid_token';
  if (status === 403) return 'permission_denied';
  if (status === 404) return 'resource_not_found';
  if (status === 429) return 'rate_limit_exceeded';
  if (status === 502 || status === 503) return 'service_unavailable';
  if (status === 504) return 'gateway_timeout';
  return 'internal_error';
}
