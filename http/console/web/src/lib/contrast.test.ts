import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const css = readFileSync(new URL('../styles/tokens.css', import.meta.url), 'utf8');

function tokensOf(block: string): Record<string, string> {
  return Object.fromEntries([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map((m) => [m[1]!, m[2]!]));
}
const light = tokensOf(css.slice(css.indexOf(':root {'), css.indexOf('}')));
const darkByChoice = tokensOf(css.slice(css.indexOf(":root[data-scheme='dark']"), css.indexOf('@media (prefers-color-scheme')));
const media = css.slice(css.indexOf('@media (prefers-color-scheme'));
const darkBySystem = tokensOf(media.slice(0, media.indexOf('}')));

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}
function ratio(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

test('both ways to the dark scheme have the same colours', () => {
  expect(darkByChoice).toEqual(darkBySystem);
  expect(Object.keys(darkByChoice).sort()).toEqual(Object.keys(light).sort());
});

test.each([
  ['light', light],
  ['dark', darkByChoice],
])('contrasts of the %s scheme', (_, c) => {
  for (const ground of ['bg', 'surface', 'sunken']) {
    for (const text of ['text', 'muted', 'accent', 'ok', 'warn', 'danger', 'info']) {
      expect(ratio(c[text]!, c[ground]!), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(ratio(c.control!, c[ground]!), `control on ${ground}`).toBeGreaterThanOrEqual(3);
  }
  for (const name of ['ok', 'warn', 'danger', 'info']) {
    expect(ratio(c[name]!, c[`${name}-tint`]!), `${name} on its tint`).toBeGreaterThanOrEqual(4.5);
    expect(ratio(c.text!, c[`${name}-tint`]!), `text on the tint of ${name}`).toBeGreaterThanOrEqual(4.5);
  }
  expect(ratio(c.accent!, c.selection!), 'accent on selection').toBeGreaterThanOrEqual(4.5);
  expect(ratio(c.text!, c.selection!), 'text on selection').toBeGreaterThanOrEqual(4.5);
  expect(ratio(c['on-accent']!, c.accent!), 'on accent').toBeGreaterThanOrEqual(4.5);
});
