import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';
import { buildReport, precompress, schemeScript } from './scripts/plugins.ts';

export default defineConfig({
  base: '/console/',
  plugins: [svelte(), schemeScript(), buildReport(), precompress()],
  build: {
    outDir: process.env.OUT_DIR ?? '../dist',
    emptyOutDir: true,
    target: ['chrome120', 'firefox121', 'safari17'],
    assetsInlineLimit: 0,
    // One style sheet: small, cached for ever, and no screen flashes while its own arrives.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 200,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/[name]-[hash].js',
        chunkFileNames: 'assets/[name]-[hash].js',
        assetFileNames: 'assets/[name]-[hash][extname]',
        // What every page needs is one file instead of a dozen.
        codeSplitting: { groups: [{ name: 'base', test: /src\/App\.svelte$/ }] },
      },
    },
  },
  worker: {
    format: 'es',
    rolldownOptions: { output: { entryFileNames: 'assets/[name]-[hash].js' } },
  },
  server: {
    // `npm run dev` next to `svc serve`: the API is asked there, with its cookie.
    proxy: Object.fromEntries(['/v2', '/docs', '/console/sample.zip'].map((path) => [path, process.env.SVC_URL ?? 'http://localhost:3001'])),
  },
  test: { include: ['src/**/*.test.ts'], environment: 'node' },
});
