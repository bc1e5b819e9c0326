/** The conditions of a wait or a rule in words: `payload.order = 2`, `payload.n > 3`. What is not plain stays JSON. */
export function conditionsOf(filters: unknown): string[] {
  if (!filters || typeof filters !== 'object') return [];
  const signs: Record<string, string> = { $eq: '=', $ne: '≠', $gt: '>', $gte: '≥', $lt: '<', $lte: '≤', $in: '∈', $nin: '∉', $regex: '~' };
  const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(filters as Record<string, unknown>).flatMap(([path, wanted]) => {
    if (path.startsWith('$') || wanted === null || typeof wanted !== 'object' || Array.isArray(wanted)) return [path.startsWith('$') ? `${path} ${plain(wanted)}` : `${path} = ${plain(wanted)}`];
    return Object.entries(wanted as Record<string, unknown>).map(([operator, value]) => (operator in signs ? `${path} ${signs[operator]} ${plain(value)}` : `${path} ${plain({ [operator]: value })}`));
  });
}
