import { pathToFileURL } from 'node:url';
import type { Plugin } from 'vite';

const URL_OF_SIBLING = /new URL\('(\.\/[\w-]+\.js)', import\.meta\.url\)/g;

/**
 * Vitest runs the sources, but a worker thread is started by plain Node, which can't. So a source that starts a thread
 * beside itself (`new URL('./name.js', import.meta.url)`) gets the built file of that thread.
 */
export function builtThreads(root: string): Plugin {
  return {
    name: 'built-threads',
    enforce: 'pre',
    transform(code, id) {
      if (!id.startsWith(`${root}src/`)) return null;
      const builtUrl = pathToFileURL(`${root}dist/${id.slice(`${root}src/`.length)}`).href;
      return { code: code.replaceAll(URL_OF_SIBLING, (_, file: string) => `new URL('${file}', '${builtUrl}')`), map: null };
    },
  };
}
