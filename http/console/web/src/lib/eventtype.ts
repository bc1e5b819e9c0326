/** Whether an event type matches a pattern such as `workspaces.*`. */
export function matchesType(type: string, pattern: string): boolean {
  if (!pattern.includes('*')) return type === pattern;
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(type);
}
