import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

/** Whose class a name is. */
const classes = new Map();

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // Classes of a component are short and depend on its path only, so that a build is reproducible.
    cssHash: ({ hash, filename }) => {
      const path = filename.replace(/^.*\/src\//, 'src/');
      const name = `s${hash(path).slice(0, 4)}`;
      if ((classes.get(name) ?? path) !== path) throw new Error(`${path} and ${classes.get(name)} have the same class ${name}: rename one`);
      classes.set(name, path);
      return name;
    },
  },
};
