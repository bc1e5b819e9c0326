/** The lines of a text that say something; undefined when there is none. */
export function linesOf(text: string): string[] | undefined {
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
  return lines.length > 0 ? lines : undefined;
}
