// Builds the script and the style sheet of pages into http/pages/dist: one file each, without a hash, which the server
// adds. There is no framework in it.
import { copyFileSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { defineConfig } from 'vite'

const sources = resolve(import.meta.dirname, '../../pages/web')
const out = process.env.PAGES_OUT ?? resolve(import.meta.dirname, '../../pages/dist')

export default defineConfig({
  logLevel: 'warn',
  publicDir: false,
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    minify: true,
    lib: { entry: resolve(sources, 'pages.ts'), formats: ['iife'], name: 'svcPages', fileName: () => 'pages.js' },
  },
  plugins: [{
    name: 'pages-css',
    closeBundle() {
      mkdirSync(out, { recursive: true })
      copyFileSync(resolve(sources, 'pages.css'), resolve(out, 'pages.css'))
    },
  }],
})
