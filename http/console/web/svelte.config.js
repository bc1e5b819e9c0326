import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // Classes of a component are short and depend on its path only, so that a build is reproducible.
    cssHash: ({ hash, filename }) => `s${hash(filename.replace(/^.*\/src\//, 'src/')).slice(0, 5)}`,
  },
};
