/** A part of a text that is highlighted, or not. */
export interface Marked {
  text: string;
  isMatch: boolean;
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#34': '"', '#39': "'", apos: "'" };
const plain = (escaped: string): string => escaped.replace(/&(amp|lt|gt|quot|apos|#34|#39);/g, (_, name: string) => entities[name]!);

/** The parts of an escaped text with `<mark>` around its matches. They are shown as text, so that nothing else can become markup. */
export function marksOf(html: string): Marked[] {
  return html.split(/<mark>(.*?)<\/mark>/s).map((part, at) => ({ text: plain(part), isMatch: at % 2 === 1 })).filter((part) => part.text !== '');
}
