import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const web = join(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * Puts src/scheme.js before everything else in the page as a hashed file: it sets the colour
 * scheme before the first paint, and the policy allows no inline script.
 */
export function schemeScript(): Plugin {
  const source = readFileSync(join(web, 'src/scheme.js'), 'utf8');
  const name = `assets/scheme-${createHash('sha256').update(source).digest('base64url').slice(0, 8)}.js`;
  return {
    name: 'svc-scheme',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source });
    },
    transformIndexHtml: (html, context) => ({
      html,
      tags: [
        {
          tag: 'script',
          attrs: { src: context.server ? '/console/src/scheme.js' : `/console/${name}` },
          injectTo: 'head-prepend',
        },
      ],
    }),
  };
}

/** Writes .build/report.json: which chunks are loaded at the start and which are routes. scripts/check.mjs compares it with the budgets. */
export function buildReport(): Plugin {
  return {
    name: 'svc-report',
    apply: 'build',
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).flatMap((output) =>
        output.type === 'chunk'
          ? [
              {
                file: output.fileName,
                entry: output.isEntry,
                imports: output.imports,
                dynamicImports: output.dynamicImports,
                modules: output.moduleIds.map((id) => id.replace(`${web}/`, '')),
                source: output.facadeModuleId?.replace(`${web}/`, '') ?? null,
              },
            ]
          : [],
      );
      mkdirSync(join(web, '.build'), { recursive: true });
      writeFileSync(join(web, '.build/report.json'), JSON.stringify(chunks, null, 1));
    },
  };
}

/** Writes a .br and a .gz beside each asset. The same bytes come out each time: no time, no name, no system in the header. */
export function precompress(): Plugin {
  return {
    name: 'svc-precompress',
    apply: 'build',
    enforce: 'post',
    writeBundle(options) {
      const assets = join(options.dir ?? join(web, '../dist'), 'assets');
      for (const name of readdirSync(assets).sort()) {
        if (!/\.(js|css|svg|json|txt)$/.test(name)) continue;
        const bytes = readFileSync(join(assets, name));
        rmSync(join(assets, name)); // whoever takes neither form gets one of them unpacked
        const gz = gzipSync(bytes, { level: 9 });
        gz[9] = 255; // operating system: unknown
        writeFileSync(join(assets, `${name}.gz`), gz);
        writeFileSync(
          join(assets, `${name}.br`),
          brotliCompressSync(bytes, {
            params: {
              [constants.BROTLI_PARAM_QUALITY]: 11,
              [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
            },
          }),
        );
      }
    },
  };
}
