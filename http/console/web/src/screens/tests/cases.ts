import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

/** A case of a suite with the line where it begins in the text. */
export interface CaseLine {
  name: string;
  line: number;
}

/** The cases of a suite's text, as far as it can be read; undefined while it is no YAML. */
export function casesIn(text: string): CaseLine[] | undefined {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter });
  if (document.errors.length > 0) return undefined;
  const cases = document.get('cases');
  if (!isSeq(cases)) return [];
  return cases.items.flatMap((item) => {
    const name = isMap(item) ? item.get('name', true) : undefined;
    return isScalar(name) && name.range ? [{ name: String(name.value), line: lineCounter.linePos(name.range[0]).line }] : [];
  });
}
