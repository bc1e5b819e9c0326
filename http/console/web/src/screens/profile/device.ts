/** Browser and system out of a user agent; undefined for an empty one. */
export function deviceOf(agent: string): { browser: string; system: string } | undefined {
  if (!agent) return undefined;
  const browser =
    /Edg\//.test(agent) ? 'Edge' : /OPR\//.test(agent) ? 'Opera' : /Firefox\//.test(agent) ? 'Firefox' : /Chrome\//.test(agent) ? 'Chrome' : /Safari\//.test(agent) ? 'Safari' : /^[\w.-]+/.exec(agent)?.[0] ?? agent;
  const system = /iPhone|iPad/.test(agent) ? 'iOS' : /Android/.test(agent) ? 'Android' : /Windows/.test(agent) ? 'Windows' : /Mac OS X/.test(agent) ? 'macOS' : /Linux/.test(agent) ? 'Linux' : '';
  return { browser, system };
}
