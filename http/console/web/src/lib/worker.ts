interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL: (url: string) => unknown };
}

let policy: ReturnType<TrustedTypes['createPolicy']> | undefined;

/** The address of a worker as the policy of the page wants it. A policy can be made only once, so all workers share it. */
export function workerAddress(url: string): string {
  policy ??= (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy('svc-worker', { createScriptURL: (own) => own });
  return (policy?.createScriptURL(url) ?? url) as string;
}
